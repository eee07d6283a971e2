//! Each operation's arguments and results, written out after the XDR of the RFCs, must end exactly
//! where the next operation begins.

use super::super::Nfs;
use super::{field, hex};
use crate::rpc::program::Program;
use model::{Field, Outcome};

/// Abbreviations in the tables below.
fn spell(text: &str) -> String {
    text.replace("STATEID", "00000001 a1a2a3a4a5a6a7a8a9aaabac")
        .replace("ID16", "000102030405060708090a0b0c0d0e0f")
        .replace("U64", "0000000000000123")
        .replace("U32", "00000007")
        .replace("TIME", "0000000000000001 00000002")
        .replace("OPAQUE", "00000005 6162636465 000000")
        .replace("BITMAP", "00000002 00000010 00000002")
        .replace("ATTRS", "00000001 00000010 00000008 0000000000000400")
        .replace("CHANGE", "00000001 0000000000000001 0000000000000002")
        .replace("NONE", "00000000")
        .replace("ONE", "00000001")
        .replace("TWO", "00000002")
        .replace("THREE", "00000003")
}

const ARGUMENTS: &[(u32, &str, &str)] = &[
    (3, "ACCESS", "U32"),
    (4, "CLOSE", "U32 STATEID"),
    (5, "COMMIT", "U64 U32"),
    (6, "CREATE", "TWO OPAQUE ATTRS"),
    (6, "CREATE", "THREE U32 U32 OPAQUE ATTRS"),
    (6, "CREATE", "00000005 OPAQUE OPAQUE ATTRS"),
    (7, "DELEGPURGE", "U64"),
    (8, "DELEGRETURN", "STATEID"),
    (9, "GETATTR", "BITMAP"),
    (10, "GETFH", ""),
    (11, "LINK", "OPAQUE"),
    (
        12,
        "LOCK",
        "U32 NONE U64 U64 ONE U32 STATEID U32 U64 OPAQUE",
    ),
    (12, "LOCK", "U32 NONE U64 U64 NONE STATEID U32"),
    (13, "LOCKT", "U32 U64 U64 U64 OPAQUE"),
    (14, "LOCKU", "U32 U32 STATEID U64 U64"),
    (15, "LOOKUP", "OPAQUE"),
    (16, "LOOKUPP", ""),
    (17, "NVERIFY", "ATTRS"),
    (18, "OPEN", "U32 U32 U32 U64 OPAQUE NONE NONE OPAQUE"),
    (
        18,
        "OPEN",
        "U32 U32 U32 U64 OPAQUE ONE NONE ATTRS NONE OPAQUE",
    ),
    (18, "OPEN", "U32 U32 U32 U64 OPAQUE ONE TWO U64 ONE U32"),
    (
        18,
        "OPEN",
        "U32 U32 U32 U64 OPAQUE ONE THREE U64 ATTRS 00000004",
    ),
    (18, "OPEN", "U32 U32 U32 U64 OPAQUE NONE TWO STATEID OPAQUE"),
    (18, "OPEN", "U32 U32 U32 U64 OPAQUE NONE 00000005 STATEID"),
    (19, "OPENATTR", "ONE"),
    (20, "OPEN_CONFIRM", "STATEID U32"),
    (21, "OPEN_DOWNGRADE", "STATEID U32 U32 U32"),
    (22, "PUTFH", "OPAQUE"),
    (23, "PUTPUBFH", ""),
    (24, "PUTROOTFH", ""),
    (25, "READ", "STATEID U64 U32"),
    (26, "READDIR", "U64 U64 U32 U32 BITMAP"),
    (27, "READLINK", ""),
    (28, "REMOVE", "OPAQUE"),
    (29, "RENAME", "OPAQUE OPAQUE"),
    (30, "RENEW", "U64"),
    (31, "RESTOREFH", ""),
    (32, "SAVEFH", ""),
    (33, "SECINFO", "OPAQUE"),
    (34, "SETATTR", "STATEID ATTRS"),
    (35, "SETCLIENTID", "U64 OPAQUE U32 OPAQUE OPAQUE U32"),
    (36, "SETCLIENTID_CONFIRM", "U64 U64"),
    (37, "VERIFY", "ATTRS"),
    (38, "WRITE", "STATEID U64 U32 OPAQUE"),
    (39, "RELEASE_LOCKOWNER", "U64 OPAQUE"),
    (
        40,
        "BACKCHANNEL_CTL",
        "U32 TWO NONE ONE U32 OPAQUE U32 U32 ONE U32",
    ),
    (41, "BIND_CONN_TO_SESSION", "ID16 U32 NONE"),
    (
        42,
        "EXCHANGE_ID",
        "U64 OPAQUE U32 NONE ONE OPAQUE OPAQUE TIME",
    ),
    (42, "EXCHANGE_ID", "U64 OPAQUE U32 ONE BITMAP BITMAP NONE"),
    (
        42,
        "EXCHANGE_ID",
        "U64 OPAQUE U32 TWO BITMAP BITMAP TWO OPAQUE OPAQUE ONE OPAQUE U32 U32 NONE",
    ),
    (
        43,
        "CREATE_SESSION",
        "U64 U32 U32  U32 U32 U32 U32 U32 U32 NONE  U32 U32 U32 U32 U32 U32 ONE U32
         U32 THREE NONE ONE U32 OPAQUE U32 U32 TWO U32 U32 00000006 U32 OPAQUE OPAQUE",
    ),
    (44, "DESTROY_SESSION", "ID16"),
    (45, "FREE_STATEID", "STATEID"),
    (
        46,
        "GET_DIR_DELEGATION",
        "ONE BITMAP TIME TIME BITMAP BITMAP",
    ),
    (47, "GETDEVICEINFO", "ID16 U32 U32 BITMAP"),
    (48, "GETDEVICELIST", "U32 U32 U64 U64"),
    (
        49,
        "LAYOUTCOMMIT",
        "U64 U64 NONE STATEID ONE U64 ONE TIME U32 OPAQUE",
    ),
    (
        49,
        "LAYOUTCOMMIT",
        "U64 U64 NONE STATEID NONE NONE U32 OPAQUE",
    ),
    (50, "LAYOUTGET", "NONE U32 U32 U64 U64 U64 STATEID U32"),
    (
        51,
        "LAYOUTRETURN",
        "NONE U32 U32 ONE U64 U64 STATEID OPAQUE",
    ),
    (51, "LAYOUTRETURN", "NONE U32 U32 THREE"),
    (52, "SECINFO_NO_NAME", "ONE"),
    (53, "SEQUENCE", "ID16 U32 U32 U32 NONE"),
    (54, "SET_SSV", "OPAQUE OPAQUE"),
    (55, "TEST_STATEID", "TWO STATEID STATEID"),
    (56, "WANT_DELEGATION", "U32 ONE U32"),
    (56, "WANT_DELEGATION", "U32 00000004"),
    (57, "DESTROY_CLIENTID", "U64"),
    (58, "RECLAIM_COMPLETE", "NONE"),
    (59, "ALLOCATE", "STATEID U64 U64"),
    (
        60,
        "COPY",
        "STATEID STATEID U64 U64 U64 ONE ONE THREE ONE OPAQUE TWO OPAQUE THREE OPAQUE OPAQUE",
    ),
    (61, "COPY_NOTIFY", "STATEID THREE OPAQUE OPAQUE"),
    (62, "DEALLOCATE", "STATEID U64 U64"),
    (63, "IO_ADVISE", "STATEID U64 U64 BITMAP"),
    (
        64,
        "LAYOUTERROR",
        "U64 U64 STATEID TWO ID16 U32 U32 ID16 U32 U32",
    ),
    (
        65,
        "LAYOUTSTATS",
        "U64 U64 STATEID U64 U64 U64 U64 ID16 U32 OPAQUE",
    ),
    (66, "OFFLOAD_CANCEL", "STATEID"),
    (67, "OFFLOAD_STATUS", "STATEID"),
    (68, "READ_PLUS", "STATEID U64 U32"),
    (69, "SEEK", "STATEID U64 ONE"),
    (
        70,
        "WRITE_SAME",
        "STATEID U32 U64 U64 U64 U64 U32 U64 OPAQUE",
    ),
    (71, "CLONE", "STATEID STATEID U64 U64 U64"),
    (72, "GETXATTR", "OPAQUE"),
    (73, "SETXATTR", "ONE OPAQUE OPAQUE"),
    (74, "LISTXATTRS", "U64 U32"),
    (75, "REMOVEXATTR", "OPAQUE"),
    (10044, "ILLEGAL", ""),
];

const RESULTS: &[(u32, &str)] = &[
    (3, "U32 U32"),
    (4, "STATEID"),
    (5, "U64"),
    (6, "CHANGE BITMAP"),
    (7, ""),
    (8, ""),
    (9, "ATTRS"),
    (10, "OPAQUE"),
    (11, "CHANGE"),
    (12, "STATEID"),
    (13, ""),
    (14, "STATEID"),
    (15, ""),
    (16, ""),
    (17, ""),
    (18, "STATEID CHANGE U32 BITMAP NONE"),
    (
        18,
        "STATEID CHANGE U32 BITMAP ONE STATEID NONE U32 U32 U32 OPAQUE",
    ),
    (
        18,
        "STATEID CHANGE U32 BITMAP TWO STATEID NONE ONE U64 U32 U32 U32 OPAQUE",
    ),
    (
        18,
        "STATEID CHANGE U32 BITMAP TWO STATEID NONE TWO U32 U32 U32 U32 U32 OPAQUE",
    ),
    (18, "STATEID CHANGE U32 BITMAP THREE NONE"),
    (18, "STATEID CHANGE U32 BITMAP THREE TWO ONE"),
    (19, ""),
    (20, "STATEID"),
    (21, "STATEID"),
    (22, ""),
    (23, ""),
    (24, ""),
    (25, "ONE OPAQUE"),
    (26, "U64 ONE U64 OPAQUE ATTRS ONE U64 OPAQUE ATTRS NONE ONE"),
    (27, "OPAQUE"),
    (28, "CHANGE"),
    (29, "CHANGE CHANGE"),
    (30, ""),
    (31, ""),
    (32, ""),
    (33, "TWO ONE 00000006 OPAQUE U32 U32"),
    (34, "BITMAP"),
    (35, "U64 U64"),
    (36, ""),
    (37, ""),
    (38, "U32 U32 U64"),
    (39, ""),
    (40, ""),
    (41, "ID16 U32 NONE"),
    (
        42,
        "U64 U32 U32 NONE U64 OPAQUE OPAQUE ONE OPAQUE OPAQUE TIME",
    ),
    (42, "U64 U32 U32 ONE BITMAP BITMAP U64 OPAQUE OPAQUE NONE"),
    (
        42,
        "U64 U32 U32 TWO BITMAP BITMAP U32 U32 U32 U32 TWO OPAQUE OPAQUE U64 OPAQUE OPAQUE NONE",
    ),
    (
        43,
        "ID16 U32 U32 U32 U32 U32 U32 U32 U32 NONE U32 U32 U32 U32 U32 U32 NONE",
    ),
    (44, ""),
    (45, ""),
    (46, "NONE U64 STATEID BITMAP BITMAP BITMAP"),
    (46, "ONE NONE"),
    (47, "U32 OPAQUE BITMAP"),
    (48, "U64 U64 TWO ID16 ID16 ONE"),
    (49, "ONE U64"),
    (49, "NONE"),
    (
        50,
        "NONE STATEID TWO U64 U64 U32 U32 OPAQUE U64 U64 U32 U32 OPAQUE",
    ),
    (51, "ONE STATEID"),
    (51, "NONE"),
    (52, "ONE ONE"),
    (53, "ID16 U32 U32 U32 U32 U32"),
    (54, "OPAQUE"),
    (55, "TWO U32 U32"),
    (56, "NONE"),
    (57, ""),
    (58, ""),
    (59, ""),
    (60, "ONE STATEID U64 U32 U64 ONE ONE"),
    (61, "TIME STATEID ONE THREE OPAQUE OPAQUE"),
    (62, ""),
    (63, "BITMAP"),
    (64, ""),
    (65, ""),
    (66, ""),
    (67, "U64 ONE NONE"),
    (68, "NONE TWO NONE U64 OPAQUE ONE U64 U64"),
    (69, "NONE U64"),
    (70, "NONE U64 U32 U64"),
    (71, ""),
    (72, "OPAQUE"),
    (73, "CHANGE"),
    (74, "U64 TWO OPAQUE OPAQUE ONE"),
    (75, "CHANGE"),
];

#[test]
fn every_operation_has_its_name_and_its_arguments_their_end() {
    for &(op, name, arguments) in ARGUMENTS {
        let call = hex(&spell(&format!(
            "NONE TWO TWO {op:08x} {arguments} 00000003 U32"
        )));
        let a = Nfs.arguments(4, 1, &call);
        assert_eq!(
            Nfs.operations_text(&a.operations),
            format!("{name},ACCESS"),
            "{op}: {arguments}"
        );
    }
}

#[test]
fn every_operations_results_have_their_end() {
    // A READ after each of them is found at its place, if it is the main operation of the call,
    // which it is where the operation before it is of another rank. So the call here holds a
    // GETATTR, and the reply the operation in question.
    for &(op, results) in RESULTS {
        let call = hex(&spell(
            "NONE TWO TWO 00000009 BITMAP 00000019 STATEID U64 U32",
        ));
        let mut a = Nfs.arguments(4, 1, &call);
        let reply = hex(&spell(&format!(
            "NONE NONE TWO {op:08x} NONE {results} 00000019 NONE ONE 00000055"
        )));
        assert_eq!(Nfs.results(4, 1, &mut a, &reply), Outcome::Ok);
        assert_eq!(field(&a, Field::Returned), Some(0x55), "{op}: {results}");
    }
}

#[test]
fn data_operations_tell_offset_and_count() {
    for (op, offset, count) in [
        (5, Some(0x123), Some(7)),
        (25, Some(0x123), Some(7)),
        (26, None, Some(7)),
        (38, Some(0x123), Some(5)),
        (59, Some(0x123), Some(0x123)),
        (60, Some(0x123), Some(0x123)),
        (62, Some(0x123), Some(0x123)),
        (68, Some(0x123), Some(7)),
        (69, Some(0x123), None),
        (70, Some(0x123), Some(0x123 * 0x123)),
        (71, Some(0x123), Some(0x123)),
    ] {
        let (_, name, arguments) = ARGUMENTS.iter().find(|row| row.0 == op).unwrap();
        let call = hex(&spell(&format!("NONE TWO ONE {op:08x} {arguments}")));
        let a = Nfs.arguments(4, 1, &call);
        assert_eq!(a.op.as_str(), *name);
        assert_eq!(field(&a, Field::Offset), offset, "{name}");
        assert_eq!(field(&a, Field::Count), count, "{name}");
    }
}

#[test]
fn a_compound_is_called_by_what_it_is_for() {
    for (operations, name) in [
        (&[53, 22, 9][..], "GETATTR"),
        (&[53, 22, 3, 9], "ACCESS"),
        (&[53, 22, 15, 10, 9], "LOOKUP"),
        (&[53, 22, 18, 10, 3, 9, 50], "OPEN"),
        (&[53, 22, 51, 4], "CLOSE"),
        (&[53, 22, 51, 9, 8], "DELEGRETURN"),
        (&[53, 22, 32, 22, 60, 5], "COPY"),
        (&[22, 5], "COMMIT"),
        (&[53, 22, 37, 34], "SETATTR"),
        (&[53, 24, 10, 9], "GETATTR"),
        (&[22, 17], "NVERIFY"),
        (&[22, 32, 22, 29, 9], "RENAME"),
    ] {
        let mut text = format!("NONE ONE {:08x}", operations.len());
        for &op in operations {
            let (_, _, arguments) = ARGUMENTS.iter().find(|row| row.0 == op).unwrap();
            text.push_str(&format!(" {op:08x} {arguments}"));
        }
        let a = Nfs.arguments(4, 1, &hex(&spell(&text)));
        assert_eq!(a.op.as_str(), name, "{operations:?}");
    }
}
