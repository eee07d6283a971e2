//! Names among arguments, for who asks for them.

use super::hex;
use crate::nfs::Nfs;
use crate::rpc::program::Program;

#[test]
fn a_lookup_names_a_file_in_its_directory() {
    // RFC 1813 section 3.3.3: diropargs3.
    let body = hex("
        00000004 deadbeef                 # directory
        00000003 6c6962 00                # lib
    ");
    assert_eq!(Nfs.name(3, 3, &body).as_deref(), Some("lib"));
    assert_eq!(Nfs.name(3, 1, &body), None, "GETATTR has none");
    for cut in 0..15 {
        assert_eq!(Nfs.name(3, 3, &body[..cut]), None);
    }
    // RFC 1094 section 2.2.5: a handle of 32 bytes.
    let mut old = vec![7; 32];
    old.extend_from_slice(&body[8..]);
    assert_eq!(Nfs.name(2, 4, &old).as_deref(), Some("lib"));
}

#[test]
fn lookups_of_a_compound_are_a_path() {
    // RFC 7530 section 16.2: tag, minor version, four operations.
    let body = hex("
        00000000 00000000 00000004
        00000018                          # PUTROOTFH
        0000000f 00000004 68 6f 6d 65     # LOOKUP home
        0000000f 00000002 6d 65 0000      # LOOKUP me
        0000000a                          # GETFH
    ");
    assert_eq!(Nfs.name(4, 1, &body).as_deref(), Some("home/me"));
    // Cut within the last name: what stands before it is there.
    assert_eq!(Nfs.name(4, 1, &body[..34]).as_deref(), Some("home"));
    let without = hex("00000000 00000000 00000001 00000018");
    assert_eq!(Nfs.name(4, 1, &without), None);
}

#[test]
fn an_open_names_what_it_opens() {
    let body = hex("
        00000000 00000001 00000001
        00000012                          # OPEN
        00000000 00000001 00000000        # seqid, share_access, share_deny
        0000000000000001 00000001 61 000000 # owner
        00000000                          # OPEN4_NOCREATE
        00000000                          # CLAIM_NULL
        00000005 61 2e 64 62 66 000000    # a.dbf
    ");
    assert_eq!(Nfs.name(4, 1, &body).as_deref(), Some("a.dbf"));
}
