use super::super::{Acl, Nfs, handle};
use super::{field, hex};
use crate::rpc::program::Program;
use model::{Field, Outcome, Protocol};

/// A handle of 8 bytes, as `nfs_fh3`.
const HANDLE: &str = "00000008 0102030405060708";

fn attributes(bytes: usize) -> String {
    "5a".repeat(bytes)
}

#[test]
fn v3_read() {
    let call = hex(&format!(
        "{HANDLE}           # file
         00000001 00000000  # offset: 4 GiB
         00008000           # count"
    ));
    let mut a = Nfs.arguments(3, 6, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs3, "READ"));
    let file = handle::hash(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(field(&a, Field::File), Some(file));
    assert_eq!(field(&a, Field::Offset), Some(1 << 32));
    assert_eq!(field(&a, Field::Count), Some(32768));

    let reply = hex(&format!(
        "00000000      # NFS3_OK
         00000001 {}   # attributes follow
         00001000      # count
         00000001      # eof
         00001000      # data, of which nothing was captured",
        attributes(84)
    ));
    assert_eq!(Nfs.results(3, 6, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(4096));
    assert_eq!(field(&a, Field::Eof), Some(1));
}

#[test]
fn v3_read_without_attributes_and_with_an_error() {
    let mut a = Nfs.arguments(3, 6, &[]);
    let reply = hex("00000000 00000000 00000200 00000000 00000200");
    assert_eq!(Nfs.results(3, 6, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(512));
    assert_eq!(field(&a, Field::Eof), Some(0));

    let mut a = Nfs.arguments(3, 6, &[]);
    // NFS3ERR_JUKEBOX, no attributes
    let reply = hex("00002718 00000000");
    assert_eq!(
        Nfs.results(3, 6, &mut a, &reply),
        Outcome::Error("NFS3ERR_JUKEBOX")
    );
    assert_eq!(field(&a, Field::Returned), None);
}

#[test]
fn v3_write() {
    let call = hex(&format!(
        "{HANDLE}           # file
         00000000 00002000  # offset
         00010000           # count
         00000002           # stable: FILE_SYNC
         00010000 61626364  # data, cut"
    ));
    let mut a = Nfs.arguments(3, 7, &call);
    assert_eq!(a.op.as_str(), "WRITE");
    assert_eq!(field(&a, Field::Offset), Some(8192));
    assert_eq!(field(&a, Field::Count), Some(65536));
    assert_eq!(field(&a, Field::Stable), Some(2));
    assert_eq!(a.tail_at, None);

    let reply = hex(&format!(
        "00000000          # NFS3_OK
         00000001 {}       # attributes before
         00000001 {}       # attributes after
         00010000          # count
         00000002          # committed
         0011223344556677  # verf",
        attributes(24),
        attributes(84)
    ));
    assert_eq!(Nfs.results(3, 7, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(65536));
    assert_eq!(field(&a, Field::Eof), None);
}

#[test]
fn a_stable_how_that_does_not_exist_is_not_told() {
    let call = hex(&format!("{HANDLE} 0000000000000000 00000001 00000007"));
    let a = Nfs.arguments(3, 7, &call);
    assert_eq!(field(&a, Field::Count), Some(1));
    assert_eq!(field(&a, Field::Stable), None);
}

#[test]
fn v3_getattr() {
    let mut a = Nfs.arguments(3, 1, &hex(HANDLE));
    assert_eq!(a.op.as_str(), "GETATTR");
    assert!(field(&a, Field::File).is_some());
    assert_eq!(field(&a, Field::Offset), None);
    let ok = hex(&format!("00000000 {}", attributes(84)));
    assert_eq!(Nfs.results(3, 1, &mut a, &ok), Outcome::Ok);
    let stale = hex("00000046");
    assert_eq!(
        Nfs.results(3, 1, &mut a, &stale),
        Outcome::Error("NFS3ERR_STALE")
    );
    assert_eq!(field(&a, Field::Status), None);
    let unknown = hex("0000303a");
    assert_eq!(Nfs.results(3, 1, &mut a, &unknown), Outcome::Error("error"));
    assert_eq!(field(&a, Field::Status), Some(12346));
}

#[test]
fn v3_commit_and_directories_tell_their_count() {
    let commit = hex(&format!("{HANDLE} 0000000000000400 00000300"));
    let a = Nfs.arguments(3, 21, &commit);
    assert_eq!(a.op.as_str(), "COMMIT");
    assert_eq!(field(&a, Field::Offset), Some(1024));
    assert_eq!(field(&a, Field::Count), Some(768));

    let plus = hex(&format!(
        "{HANDLE}
         0000000000000000   # cookie
         0000000000000000   # cookieverf
         00000200           # dircount
         00001000           # maxcount"
    ));
    let a = Nfs.arguments(3, 17, &plus);
    assert_eq!(a.op.as_str(), "READDIRPLUS");
    assert_eq!(field(&a, Field::Count), Some(4096));
    assert_eq!(field(&a, Field::Offset), None);
}

#[test]
fn v2_read() {
    let handle = "07".repeat(32);
    let call = hex(&format!(
        "{handle}   # file, of fixed length
         00002000   # offset
         00001000   # count
         00000000   # totalcount"
    ));
    let mut a = Nfs.arguments(2, 6, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs2, "READ"));
    assert_eq!(field(&a, Field::File), Some(handle::hash(&[7; 32])));
    assert_eq!(field(&a, Field::Offset), Some(8192));
    assert_eq!(field(&a, Field::Count), Some(4096));
    let reply = hex(&format!(
        "00000000           # NFS_OK
         {}                 # attributes
         00000003 61626300  # data",
        attributes(68)
    ));
    assert_eq!(Nfs.results(2, 6, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(3));
    assert_eq!(field(&a, Field::Eof), None);
}

#[test]
fn v2_write_counts_its_data() {
    let handle = "07".repeat(32);
    let call = hex(&format!(
        "{handle}
         ffffffff           # beginoffset, ignored
         00000400           # offset
         ffffffff           # totalcount, ignored
         00000003 61626300  # data"
    ));
    let mut a = Nfs.arguments(2, 8, &call);
    assert_eq!(a.op.as_str(), "WRITE");
    assert_eq!(field(&a, Field::Offset), Some(1024));
    assert_eq!(field(&a, Field::Count), Some(3));
    assert_eq!(
        Nfs.results(2, 8, &mut a, &hex("0000001c")),
        Outcome::Error("NFSERR_NOSPC")
    );
}

#[test]
fn null_and_unknown_procedures() {
    for version in 2..=4 {
        let mut a = Nfs.arguments(version, 0, &[]);
        assert_eq!(a.op.as_str(), "NULL");
        assert_eq!(Nfs.results(version, 0, &mut a, &[]), Outcome::Ok);
        let mut a = Nfs.arguments(version, 99, &[0; 64]);
        assert_eq!(a.op.as_str(), "99");
        assert!(a.detail.is_empty());
        // What an unknown procedure answers is not a status.
        assert_eq!(Nfs.results(version, 99, &mut a, &[1; 8]), Outcome::Ok);
        assert!(!Nfs.believes(version, 99));
    }
    let a = Nfs.arguments(5, 1, &[]);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Rpc, "1"));
    assert!(!Nfs.believes(5, 0));
}

#[test]
fn access_control_lists() {
    let mut a = Acl.arguments(3, 1, &hex(&format!("{HANDLE} 0000000f")));
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::NfsAcl, "GETACL"));
    assert!(field(&a, Field::File).is_some());
    assert_eq!(
        Acl.results(3, 1, &mut a, &hex("00002714")),
        Outcome::Error("NFS3ERR_NOTSUPP")
    );
    let a = Acl.arguments(2, 4, &[7; 36]);
    assert_eq!(a.op.as_str(), "ACCESS");
    assert_eq!(field(&a, Field::File), Some(handle::hash(&[7; 32])));
}
