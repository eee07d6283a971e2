//! Calls that are signed or encrypted: RPCSEC_GSS (RFC 2203) and TLS (RFC 9289).

use super::*;
use model::{Field, Outcome, Protocol};

/// An NFSv3 READ with an RPCSEC_GSS credential: version 1, DATA, sequence number 9, service, handle.
fn gss_call(xid: u32, service: u32, arguments: &[u32]) -> Vec<u8> {
    let header = [
        xid, 0, 2, NFS, 3, READ, 6, 24, 1, 0, 9, service, 4, 0xabcd, 6, 4, 0x5151,
    ];
    words(&[&header, arguments].concat())
}

/// A reply with a GSS verifier of 4 bytes.
fn gss_reply(xid: u32, results: &[u32]) -> Vec<u8> {
    words(&[&[xid, 1, 0, 6, 4, 0x6161, 0], results].concat())
}

#[test]
fn krb5i_is_read_through_its_wrapper() {
    let mut w = Wire::tcp();
    // Length and sequence number, then the arguments; then a checksum.
    let arguments = [24, 9, 4, 0xfeed, 0, 4096, 8192, 4, 0x7777];
    let results = [28, 9, 0, 0, 8, 1, 8, 0xdddd, 0xdddd, 4, 0x7777];
    w.send(UP, 1, &record(&gss_call(7, 2, &arguments)));
    w.send(DOWN, 2, &record(&gss_reply(7, &results)));
    let calls = w.end(3);
    let c = &calls[0];
    assert_eq!((c.protocol, c.op.as_str()), (Protocol::Nfs3, "READ"));
    assert_eq!(c.detail.get(Field::Offset), Some(4096));
    assert_eq!(c.detail.get(Field::Returned), Some(8));
    assert_eq!(c.detail.get(Field::Security), Some(4));
}

#[test]
fn krb5p_leaves_the_name_and_the_times() {
    let mut w = Wire::tcp();
    w.send(
        UP,
        1,
        &record(&gss_call(7, 3, &[8, 0xc1c1_c1c1, 0xc2c2_c2c2])),
    );
    w.send(
        DOWN,
        2,
        &record(&gss_reply(7, &[8, 0xc3c3_c3c3, 0xc4c4_c4c4])),
    );
    assert_eq!(w.problem("krb5p-encrypted"), 1);
    assert!(!w.problems.any_damage());
    let calls = w.end(3);
    let c = &calls[0];
    assert_eq!((c.op.as_str(), c.outcome), ("READ", Outcome::Ok));
    assert_eq!(c.detail.get(Field::Offset), None);
    assert_eq!(c.detail.get(Field::Security), Some(5));
    assert_eq!(times(c), [Some(1), Some(1), Some(2), Some(2)]);
}

/// A TLS record of this content type and length.
fn tls(kind: u8, length: u16) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    let mut record = vec![kind, 3, 3, high, low];
    record.resize(5 + usize::from(length), 0x99);
    record
}

/// A connection that has switched to TLS 1.3 and is through with its handshake.
fn tls_connection() -> Wire {
    let mut w = Wire::tcp();
    // NULL with the credential AUTH_TLS; the answer's verifier says STARTTLS.
    w.send(UP, 1, &record(&words(&[7, 0, 2, NFS, 3, 0, 7, 0, 0, 0])));
    let starttls = [7, 1, 0, 0, 8, 0x5354_4152, 0x5454_4c53, 0];
    w.send(DOWN, 2, &record(&words(&starttls)));
    w.send(UP, 3, &tls(22, 200));
    w.send(DOWN, 4, &[tls(22, 120), tls(20, 1), tls(23, 900)].concat());
    w.send(UP, 5, &[tls(20, 1), tls(23, 70)].concat());
    w.send(DOWN, 6, &tls(23, 200));
    assert_eq!(w.problem("rpc-with-tls"), 1);
    w
}

#[test]
fn turns_behind_tls_are_timed() {
    let mut w = tls_connection();
    w.send(UP, 10, &tls(23, 150));
    w.send(DOWN, 20, &tls(23, 16_401));
    w.send(DOWN, 21, &tls(23, 4_000));
    w.send(UP, 30, &tls(23, 150));
    w.send(DOWN, 40, &tls(23, 90));
    let calls = w.end(50);
    let turns: Vec<_> = calls.iter().filter(|c| c.op.as_str() == "TLS").collect();
    assert_eq!(turns.len(), 2);
    assert_eq!(times(turns[0]), [Some(10), Some(10), Some(20), Some(21)]);
    assert_eq!(times(turns[1]), [Some(30), Some(30), Some(40), Some(40)]);
    assert_eq!(turns[0].detail.get(Field::Security), Some(6));
    assert_eq!(turns[0].response_bytes, 5 + 16_401 + 5 + 4_000);
}

#[test]
fn pipelined_requests_behind_tls_are_not_timed() {
    let mut w = tls_connection();
    w.send(UP, 10, &tls(23, 150));
    w.send(UP, 11, &tls(23, 150));
    w.send(DOWN, 20, &tls(23, 90));
    w.send(DOWN, 21, &tls(23, 90));
    w.send(UP, 30, &tls(23, 150));
    w.send(DOWN, 40, &tls(23, 90));
    assert_eq!(w.problem("rpc-with-tls-pipelined"), 1);
    let calls = w.end(50);
    assert!(calls.iter().all(|c| c.op.as_str() != "TLS"));
}

#[test]
fn a_refused_switch_to_tls_goes_on_in_the_clear() {
    let mut w = Wire::tcp();
    w.send(UP, 1, &record(&words(&[7, 0, 2, NFS, 3, 0, 7, 0, 0, 0])));
    w.send(DOWN, 2, &record(&reply(7, &[])));
    w.send(UP, 3, &record(&read_call(8, 0)));
    w.send(DOWN, 4, &record(&read_reply(8, 8)));
    let calls = w.end(5);
    assert_eq!(ids(&calls), [7, 8]);
    assert_eq!(calls[1].op.as_str(), "READ");
}

#[test]
fn a_capture_that_begins_behind_tls_says_so() {
    let mut w = Wire::tcp();
    for t in 0..6 {
        w.send(UP, 10 * t, &tls(23, 150));
        w.send(DOWN, 10 * t + 5, &tls(23, 90));
    }
    assert_eq!(w.problem("rpc-with-tls"), 1);
    let calls = w.end(100);
    assert!(!calls.is_empty());
    assert!(calls.iter().all(|c| c.response_time_ns() == Some(5 * MS)));
}
