use super::super::{CALLBACK, Nfs, handle};
use super::{field, hex};
use crate::rpc::program::Program;
use model::{Field, Outcome, Protocol};

const STATEID: &str = "00000001 a1a2a3a4a5a6a7a8a9aaabac";
const SESSION: &str = "50515253545556575859 5a5b5c5d5e5f";

/// PUTFH, a handle of 5 bytes and its padding.
const PUTFH: &str = "00000016 00000005 0102030405 000000";

fn putfh_hash() -> u64 {
    handle::hash(&[1, 2, 3, 4, 5])
}

#[test]
fn v40_putfh_and_read() {
    let call = hex(&format!(
        "00000000             # tag
         00000000             # minor version
         00000003             # operations
         {PUTFH}
         00000019             # READ
           {STATEID}
           0000000000004000   # offset
           00001000           # count
         00000009             # GETATTR
           00000002 00000018 00300000"
    ));
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs40, "READ"));
    assert_eq!(a.operations.as_slice(), [22, 25, 9]);
    assert_eq!(Nfs.operations_text(&a.operations), "PUTFH,READ,GETATTR");
    assert_eq!(field(&a, Field::File), Some(putfh_hash()));
    assert_eq!(field(&a, Field::Offset), Some(16384));
    assert_eq!(field(&a, Field::Count), Some(4096));

    let reply = hex("00000000           # status
         00000000           # tag
         00000003           # results
         00000016 00000000  # PUTFH
         00000019 00000000  # READ
           00000001         # eof
           00000c00         # data, cut");
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(3072));
    assert_eq!(field(&a, Field::Eof), Some(1));
}

/// A WRITE of 6 bytes in the middle of a compound.
fn v41_write() -> Vec<u8> {
    hex(&format!(
        "00000004 74616730    # tag: tag0
         00000001             # minor version
         00000004             # operations
         00000035             # SEQUENCE
           {SESSION}
           00000007           # sequence
           00000003           # slot
           0000001f           # highest slot
           00000000           # cache
         {PUTFH}
         00000026             # WRITE
           {STATEID}
           0000000100000000   # offset
           00000000           # UNSTABLE4
           00000006 6162 6364 6566 0000
         00000009             # GETATTR
           00000001 00000018"
    ))
}

#[test]
fn v41_sequence_putfh_write_getattr() {
    let call = v41_write();
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs41, "WRITE"));
    assert_eq!(a.operations.as_slice(), [53, 22, 38, 9]);
    assert_eq!(a.tail_at, None);
    let expected = [
        (Field::Slot, 3),
        (Field::HighestSlot, 31),
        (Field::File, putfh_hash()),
        (Field::Offset, 1 << 32),
        (Field::Count, 6),
        (Field::Stable, 0),
    ];
    assert_eq!(a.detail.iter().collect::<Vec<_>>(), expected);

    let reply = hex(&format!(
        "00000000             # status
         00000004 74616730    # tag
         00000004             # results
         00000035 00000000    # SEQUENCE
           {SESSION}
           00000007 00000003 0000001f 0000001f 00000000
         00000016 00000000    # PUTFH
         00000026 00000000    # WRITE
           00000005           # count: not all of it
           00000002           # FILE_SYNC4
           0011223344556677   # writeverf"
    ));
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(5));
}

#[test]
fn operations_after_bulk_data_are_in_the_tail() {
    let call = v41_write();
    // The GETATTR takes the last 12 bytes; the data begins 8 bytes earlier.
    let data_end = call.len() - 12;
    for cut in data_end - 8..data_end {
        let mut a = Nfs.arguments(4, 1, &call[..cut]);
        assert_eq!(a.op.as_str(), "WRITE", "cut at {cut}");
        assert_eq!(field(&a, Field::Count), Some(6));
        assert_eq!(a.operations.as_slice(), [53, 22, 38]);
        assert_eq!(a.tail_at, Some(data_end as u64));
        Nfs.arguments_tail(&mut a, &call[data_end..]);
        assert_eq!(a.operations.as_slice(), [53, 22, 38, 9]);
        assert_eq!(a.tail_at, None);
        assert_eq!(a.op.as_str(), "WRITE");
    }
}

#[test]
fn a_tail_may_end_in_bulk_data_again() {
    let write = |length: &str| format!("00000026 {STATEID} 0000000000000000 00000000 {length}");
    let head = hex(&format!("00000000 00000000 00000003 {}", write("00000401")));
    let mut a = Nfs.arguments(4, 1, &head);
    let data_end = head.len() as u64 + 0x404;
    assert_eq!(a.tail_at, Some(data_end));
    let tail = hex(&write("00000003 6162"));
    Nfs.arguments_tail(&mut a, &tail);
    assert_eq!(a.tail_at, Some(data_end + tail.len() as u64 + 2));
    Nfs.arguments_tail(&mut a, &hex("0000000a"));
    assert_eq!(Nfs.operations_text(&a.operations), "WRITE,WRITE,GETFH");
    assert_eq!((a.tail_at, field(&a, Field::Count)), (None, Some(0x401)));
}

#[test]
fn a_write_at_the_end_has_no_tail() {
    let call = hex(&format!(
        "00000000 00000000 00000001
         00000026 {STATEID} 0000000000000000 00000002 00100000"
    ));
    let a = Nfs.arguments(4, 1, &call);
    assert_eq!(field(&a, Field::Count), Some(1 << 20));
    assert_eq!(field(&a, Field::Stable), Some(2));
    assert_eq!(a.tail_at, None);
}

#[test]
fn open_with_creation() {
    let call = hex(&format!(
        "00000000             # tag
         00000000             # minor version
         00000007             # operations
         {PUTFH}
         00000020             # SAVEFH
         00000012             # OPEN
           00000001           # seqid
           00000003           # share_access
           00000000           # share_deny
           0000000000000009   # owner: clientid
           00000003 6f776e 00 # owner
           00000001           # OPEN4_CREATE
           00000001           # GUARDED4
             00000002 00000010 00000002       # attributes: size, mode
             0000000c 0000000000000000 000001a4
           00000000           # CLAIM_NULL
           00000004 66696c65  # file
         0000000a             # GETFH
         00000009             # GETATTR
           00000001 00000018
         0000001f             # RESTOREFH
         00000003             # ACCESS
           0000003f"
    ));
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs40, "OPEN"));
    assert_eq!(
        Nfs.operations_text(&a.operations),
        "PUTFH,SAVEFH,OPEN,GETFH,GETATTR,RESTOREFH,ACCESS"
    );
    // The directory.
    assert_eq!(field(&a, Field::File), Some(putfh_hash()));
    // NFS4ERR_EXIST, after PUTFH and SAVEFH
    let reply = hex("00000011 00000000 00000003
         00000016 00000000 00000020 00000000 00000012 00000011");
    assert_eq!(
        Nfs.results(4, 1, &mut a, &reply),
        Outcome::Error("NFS4ERR_EXIST")
    );
}

#[test]
fn results_of_operations_before_the_main_one_are_passed() {
    // PUTFH, OPEN, READ: of the file that OPEN finds, whose handle the call does not hold.
    let call = hex(&format!(
        "00000000 00000000 00000003
         {PUTFH}
         00000012 00000001 00000001 00000000
           0000000000000009 00000000
           00000000           # OPEN4_NOCREATE
           00000000 00000001 66 000000
         00000019 {STATEID} 0000000000000000 00000100"
    ));
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!(a.op.as_str(), "READ");
    assert_eq!(field(&a, Field::File), None);
    let reply = hex(&format!(
        "00000000 00000000 00000003
         00000016 00000000
         00000012 00000000
           {STATEID}
           00000001 0000000000000001 0000000000000002   # change info
           00000004                                     # rflags
           00000001 00000000                            # attrset
           00000002                                     # OPEN_DELEGATE_WRITE
             {STATEID} 00000000
             00000001 0000000000001000                  # space limit
             00000000 00000000 00000000 00000003 776f72 00
         00000019 00000000 00000000 00000080"
    ));
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(128));
    assert_eq!(field(&a, Field::Eof), Some(0));
}

#[test]
fn errors_are_those_of_the_compound() {
    let mut a = Nfs.arguments(4, 1, &v41_write());
    // NFS4ERR_DELAY of the first operation
    let reply = hex("00002718 00000000 00000001 00000035 00002718");
    assert_eq!(
        Nfs.results(4, 1, &mut a, &reply),
        Outcome::Error("NFS4ERR_DELAY")
    );
    assert_eq!(field(&a, Field::Returned), None);
    assert_eq!(
        Nfs.results(4, 1, &mut a, &hex("00004e20")),
        Outcome::Error("error")
    );
    assert_eq!(field(&a, Field::Status), Some(20000));
    assert_eq!(Nfs.results(4, 1, &mut a, &hex("0000")), Outcome::Ok);
}

#[test]
fn a_reply_to_another_call_tells_no_fields() {
    let mut a = Nfs.arguments(4, 1, &v41_write());
    let reply = hex(&format!(
        "00000000 00000000 00000003
         00000016 00000000
         00000016 00000000
         00000019 00000000 00000001 00000010   # READ where the call has WRITE
         {STATEID}"
    ));
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), None);
}

#[test]
fn only_preparation() {
    let name = |ops: &str| {
        Nfs.arguments(4, 1, &hex(&format!("00000000 00000001 {ops}")))
            .op
    };
    let sequence = format!("00000035 {SESSION} 00000001 00000000 00000000 00000000");
    assert_eq!(name("00000000").as_str(), "COMPOUND");
    assert_eq!(name(&format!("00000001 {sequence}")).as_str(), "SEQUENCE");
    assert_eq!(
        name(&format!("00000002 {sequence} {PUTFH}")).as_str(),
        "PUTFH"
    );
    assert_eq!(
        name(&format!("00000003 {sequence} {PUTFH} 0000000a")).as_str(),
        "GETFH"
    );
    // The list was cut: what it was for is not known.
    assert_eq!(name(&format!("00000003 {sequence}")).as_str(), "COMPOUND");
    // An operation that does not exist, whose arguments cannot be passed.
    assert_eq!(
        name(&format!("00000003 {sequence} 000000c8 0000000a")).as_str(),
        "200"
    );
}

#[test]
fn a_reply_names_a_compound_whose_list_was_cut() {
    let call = v41_write();
    let reply = hex(&format!(
        "00000000 00000000 00000004
         00000035 00000000 {SESSION} 0000000700000003 0000001f 0000001f 00000000
         00000016 00000000
         00000026 00000000 00000006 00000002 0011223344556677
         00000009 00000000 00000001 00000018 00000004 00000000"
    ));
    // Nothing captured at all, a piece of SEQUENCE, a piece of PUTFH.
    for cut in [0, 40, 64] {
        let mut a = Nfs.arguments(4, 1, &call[..cut]);
        assert_eq!(a.op.as_str(), "COMPOUND", "cut at {cut}");
        assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs41, "WRITE"));
        assert_eq!(field(&a, Field::Returned), Some(6));
        assert_eq!(a.operations.as_slice(), [53, 22, 38, 9]);
    }
    // A reply that fails early tells no more.
    let mut a = Nfs.arguments(4, 1, &call[..40]);
    let early = hex("00002744 00000000 00000001 00000035 00002744");
    assert_eq!(
        Nfs.results(4, 1, &mut a, &early),
        Outcome::Error("NFS4ERR_BADSESSION")
    );
    assert_eq!(a.op.as_str(), "COMPOUND");
}

#[test]
fn the_saved_handle_comes_back() {
    let other = "00000016 00000001 ff 000000";
    let call = hex(&format!(
        "00000000 00000002 00000007
         {PUTFH}
         00000020             # SAVEFH
         {other}
         00000010             # LOOKUPP
         0000001f             # RESTOREFH
         00000045             # SEEK
           {STATEID} 0000000000000123 00000001
         0000000a             # GETFH"
    ));
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nfs42, "SEEK"));
    assert_eq!(field(&a, Field::File), Some(putfh_hash()));
    assert_eq!(field(&a, Field::Offset), Some(0x123));
    let reply = hex("00000000 00000000 00000007
         00000016 00000000 00000020 00000000 00000016 00000000 00000010 00000000 0000001f 00000000
         00000045 00000000 00000001 0000000000001000");
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Eof), Some(1));
}

#[test]
fn read_plus_returns_data_and_holes() {
    let call = hex(&format!(
        "00000000 00000002 00000002 {PUTFH}
         00000044 {STATEID} 0000000000000000 00003000"
    ));
    let mut a = Nfs.arguments(4, 1, &call);
    assert_eq!(a.op.as_str(), "READ_PLUS");
    assert_eq!(field(&a, Field::Count), Some(0x3000));
    let reply = hex("00000000 00000000 00000002
         00000016 00000000
         00000044 00000000
           00000000                             # eof
           00000002                             # contents
           00000001 0000000000000000 0000000000001000
           00000000 0000000000001000 00002000   # data, cut");
    assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
    assert_eq!(field(&a, Field::Returned), Some(0x3000));
}

#[test]
fn what_is_left_of_a_cut_tag_are_no_operations() {
    // A tag of 8 bytes, minor version, callback_ident for callbacks, one operation.
    let call = hex("00000008 00000001 00000019 00000001 00000000 00000001 00000019");
    for cut in 0..16 {
        let a = Nfs.arguments(4, 1, &call[..cut]);
        assert_eq!((a.op.as_str(), a.operations.len()), ("COMPOUND", 0));
    }
    for cut in 0..20 {
        let a = CALLBACK.arguments(1, 1, &call[..cut]);
        assert_eq!((a.op.as_str(), a.operations.len()), ("CB_COMPOUND", 0));
    }
}
