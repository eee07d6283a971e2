use super::super::{CALLBACK, handle, is_cb_compound};
use super::{field, hex};
use model::{Field, Outcome, Protocol};

#[test]
fn cb_recall() {
    let call = hex("00000000             # tag
         00000001             # minor version
         00000001             # callback_ident
         00000002             # operations
         0000000b             # CB_SEQUENCE
           000102030405060708090a0b0c0d0e0f
           00000005           # sequence
           00000000           # slot
           00000002           # highest slot
           00000000           # cachethis
           00000001           # referring calls
             000102030405060708090a0b0c0d0e0f 00000001 00000009 00000004
         00000004             # CB_RECALL
           00000001 a1a2a3a4a5a6a7a8a9aaabac
           00000000           # truncate
           00000003 112233 00 # fh");
    assert!(is_cb_compound(&call));
    let mut a = CALLBACK.arguments(1, 1, &call);
    assert_eq!(
        (a.protocol, a.op.as_str()),
        (Protocol::NfsCallback, "CB_RECALL")
    );
    assert_eq!(
        CALLBACK.operations_text(&a.operations),
        "CB_SEQUENCE,CB_RECALL"
    );
    assert_eq!(field(&a, Field::Slot), Some(0));
    assert_eq!(field(&a, Field::HighestSlot), Some(2));
    assert_eq!(
        field(&a, Field::File),
        Some(handle::hash(&[0x11, 0x22, 0x33]))
    );
    // NFS4ERR_BADHANDLE
    let reply = hex("00002711 00000000 00000000");
    assert_eq!(
        CALLBACK.results(1, 1, &mut a, &reply),
        Outcome::Error("NFS4ERR_BADHANDLE")
    );
}

#[test]
fn every_operation_ends_where_the_next_begins() {
    let stateid = "00000001 a1a2a3a4a5a6a7a8a9aaabac";
    let fh = "00000003 112233 00";
    let map = "00000001 00000018";
    let changes = "00000001 00000001 00000010 00000004 01020304";
    for (op, arguments) in [
        (3, format!("{fh} {map}")),
        (4, format!("{stateid} 00000001 {fh}")),
        (
            5,
            format!(
                "00000001 00000002 00000000
                 00000001 {fh} 0000000000000000 ffffffffffffffff {stateid}"
            ),
        ),
        (
            5,
            format!("00000001 00000002 00000000 00000002 {}", "07".repeat(16)),
        ),
        (5, "00000001 00000002 00000000 00000003".to_owned()),
        (6, format!("{stateid} {fh} {changes}")),
        (7, format!("{fh} 00000003 00000001 00000001")),
        (8, format!("00000000 {map}")),
        (9, format!("00000000 {map}")),
        (10, "00000004".to_owned()),
        (12, "00000001 00000000".to_owned()),
        (13, format!("{fh} 0000000000000009 00000002 6f6f 0000")),
        (14, changes.to_owned()),
        (
            15,
            format!(
                "{fh} {stateid} 00000000 00000000 0000000000001000 00000002 {}",
                "07".repeat(8)
            ),
        ),
        (15, format!("{fh} {stateid} 00000005 0000000000001000")),
        (10044, String::new()),
    ] {
        let call = hex(&format!(
            "00000000 00000002 00000001 00000002 {op:08x} {arguments} 0000000a 00000001"
        ));
        let a = CALLBACK.arguments(1, 1, &call);
        assert_eq!(a.operations.len(), 2, "operation {op}");
        assert_eq!(a.operations.last(), Some(&10), "operation {op}");
    }
}

#[test]
fn what_does_not_look_like_a_callback_is_refused() {
    for body in [
        "",
        "00000000 00000003 00000001 00000001 0000000b", // minor version 3
        "00000000 00000001 00000001 00000000 0000000b", // no operations
        "00000000 00000001 00000001 00000001 00000019", // no such operation
        "00000000 00000001 00000001 00000001",          // cut
    ] {
        assert!(!is_cb_compound(&hex(body)), "{body}");
    }
    assert_eq!(CALLBACK.arguments(1, 0, &[]).op.as_str(), "CB_NULL");
    assert_eq!(CALLBACK.arguments(1, 1, &[]).op.as_str(), "CB_COMPOUND");
}
