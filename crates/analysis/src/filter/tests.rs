use super::*;
use model::{
    ConnectionId, Detail, Endpoint, Field, Mark, Name, Outcome, PacketRef, Protocol, Reason, Time,
};
use proptest::prelude::*;

fn mark(ns: i64, frame: u32) -> Option<Mark> {
    Some(Mark {
        time: Time(1_700_000_000_000_000_000 + ns),
        packet: PacketRef { file: 0, frame },
    })
}

fn endpoint(text: &str) -> Endpoint {
    let socket: std::net::SocketAddr = text.parse().expect("an address");
    Endpoint {
        address: socket.ip(),
        port: socket.port(),
    }
}

/// A READ of 64 KiB that took 25 ms.
fn read() -> Call {
    let mut detail = Detail::default();
    detail.set(Field::File, 0xdead_beef);
    detail.set(Field::Offset, 1 << 20);
    detail.set(Field::Count, 65_536);
    detail.set(Field::Eof, 1);
    detail.set(Field::Stable, 2);
    Call {
        order: 7,
        connection: ConnectionId(1),
        protocol: Protocol::Nfs41,
        op: Name::of("READ"),
        client: endpoint("10.0.0.1:700"),
        server: endpoint("[fe80::1]:2049"),
        id: 0x4ecb_8123,
        request_sequence: 1,
        response_sequence: 2,
        request_first: mark(0, 10),
        request_last: mark(1_000_000, 11),
        response_first: mark(21_000_000, 12),
        response_last: mark(25_000_000, 13),
        request_bytes: 180,
        response_bytes: 65_700,
        outcome: Outcome::Ok,
        outstanding: 4,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail,
        text: Some("SEQUENCE,PUTFH,READ".into()),
        sql: None,
    }
}

/// A GETATTR that nobody answered.
fn unanswered() -> Call {
    Call {
        op: Name::of("GETATTR"),
        response_first: None,
        response_last: None,
        outcome: Outcome::NoResponse(Reason::NoAnswer),
        detail: Detail::default(),
        text: None,
        sql: None,
        ..read()
    }
}

fn passes(text: &str, call: &Call) -> bool {
    Filter::parse(text)
        .unwrap_or_else(|e| panic!("{text}: {e}"))
        .matches(call)
}

fn error(text: &str) -> String {
    Filter::parse(text).expect_err(text).to_string()
}

#[test]
fn comparisons_look_at_the_call() {
    for text in [
        "op = READ",
        "op=read",
        "op == READ",
        "op != WRITE",
        "OP ~ RE*",
        "protocol = NFS4.1",
        "protocol ~ nfs*",
        "client = 10.0.0.1",
        "client = 10.0.0.1:700",
        "client = 10.0.0.0/8",
        "client = 0.0.0.0/0",
        "client != 10.0.0.1:701",
        "client ~ 10.0.0.*",
        "client ~ *:700",
        "client.address = 10.0.0.1",
        "client.port = 700",
        "server = fe80::1",
        "server = [fe80::1]",
        "server = [fe80::1]:2049",
        "server = fe80::/10",
        "server.port != 111",
        "id = 0x4ecb8123",
        "frames = 12",
        "frames != 14",
        "frames > 12",
        "request_first_frame < 11",
        "request_first_ns >= 1700000000000000000",
        "response_time > 20ms",
        "response_time_ns = 25000000",
        "response_time < 0.03s",
        "wait = 20ms",
        "wait >= 20000us",
        "request_transfer = 1ms",
        "response_transfer_ns <= 4ms",
        "response_bytes > 64k",
        "request_bytes = 180",
        "offset = 1M",
        "offset = 0x100000",
        "count = 64KiB",
        "count = 64.0k",
        "eof = true",
        "stable = file_sync",
        "stable ~ FILE*",
        "file = 00000000deadbeef",
        "file = 0xdeadbeef",
        "file ~ *beef",
        "outcome = 'ok'",
        "outstanding > 3",
        "retransmits = 0",
        "operations = PUTFH",
        "text = \"SEQUENCE,PUTFH,READ\"",
        "text ~ SEQ*",
    ] {
        assert!(passes(text, &read()), "{text}");
        assert!(!passes(&format!("not {text}"), &read()), "not {text}");
    }
    for text in [
        "op = READDIR",
        "client = 10.0.0.1:2049",
        "client = 11.0.0.0/8",
        "server = 10.0.0.1",
        "server = fec0::/10",
        "operations = WRITE",
        "frames = 9",
        "id = 1",
    ] {
        assert!(!passes(text, &read()), "{text}");
    }
}

#[test]
fn and_binds_tighter_than_or_and_not_tightest() {
    let call = read();
    assert!(passes("op = READ or op = WRITE and client.port = 1", &call));
    assert!(!passes(
        "(op = READ or op = WRITE) and client.port = 1",
        &call
    ));
    assert!(passes("not op = WRITE and op = READ", &call));
    assert!(!passes("not (op = WRITE or op = READ)", &call));
    assert!(passes(
        "not not op = READ && client.port = 700 || id = 1",
        &call
    ));
}

#[test]
fn what_a_call_lacks_compares_false() {
    let call = unanswered();
    for text in [
        "response_time > 0",
        "response_time <= 0",
        "offset != 5",
        "eof = false",
        "operations ~ *",
        "operations != READ",
    ] {
        assert!(!passes(text, &call), "{text}");
        assert!(passes(&format!("not ({text})"), &call), "not {text}");
    }
    assert!(passes(
        "outcome = no-response and reason = no-answer",
        &call
    ));
    assert!(passes("frames != 13", &call));
}

#[test]
fn errors_name_the_column_and_a_cure() {
    assert_eq!(
        error("op = READ and respons_time > 20ms"),
        "column 15: unknown field `respons_time`; did you mean `response_time_ns`?"
    );
    assert_eq!(
        error("op READ"),
        "column 4: expected one of `= != < <= > >= ~` after `op`"
    );
    assert_eq!(
        error("op ="),
        "column 5: expected a value, but the text ends"
    );
    assert_eq!(
        error("(op = READ"),
        "column 11: expected `)` for the `(` in column 1, but the text ends"
    );
    assert_eq!(
        error("op < READ"),
        "column 4: `op` has no order; use `=`, `!=` or `~`"
    );
    assert_eq!(
        error("response_time > 20kb"),
        "column 17: `20kb` is not a duration (such as 20ms, 1.5s or 300us) that `response_time` can have"
    );
    assert_eq!(
        error("response_time > 20"),
        "column 17: `20` is without a unit: write `20ms`, or ns, us, s, m (minutes) or h"
    );
    assert!(error("wait >= 0x10").contains("`0x10` is not a duration"));
    assert_eq!(error("op = 'READ"), "column 6: the quote `'` is not closed");
    assert!(error("").starts_with("column 1: expected a name"));
    assert!(error("offset = 5 6").starts_with("column 12: expected `and`"));
    assert!(error("client = db1").starts_with("column 10: `db1` is not an address"));
    assert!(error("protocol = nfs").contains("there are nfs2, nfs3"));
    assert!(error("stable = maybe").contains("UNSTABLE, DATA_SYNC, FILE_SYNC"));
    assert!(error("zzzzz = 1").contains("there are protocol, op, client"));
    assert!(error("client = 10.0.0.0/33").contains("is not an address"));
    assert!(error("offset = 1.2.3").contains("is not a number"));
    assert!(error("offset = 999999999999999999999999999999T").contains("is not a number"));
}

#[test]
fn deep_nesting_is_refused_and_long_chains_are_not() {
    assert!(error(&"(".repeat(100_000)).contains("nested too deeply"));
    assert!(error(&"not ".repeat(100_000)).contains("nested too deeply"));
    let chain = vec!["op = READ"; 20_000].join(" and ");
    assert!(passes(&chain, &read()));
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,60}") {
        let _ = Filter::parse(&text).map(|f| f.matches(&read()));
    }

    #[test]
    fn no_row_of_words_makes_the_parser_panic(words in prop::collection::vec(prop::sample::select(vec![
        "op", "READ", "=", "!=", "<", ">=", "~", "(", ")", "and", "or", "not", "client", "10.0.0.1/7",
        "offset", "5k", "-1.5", "0x", "''", "frames", "eof", "true", "response_time", "3.4ms", "file", "*",
    ]), 0..12)) {
        if let Ok(filter) = Filter::parse(&words.join(" ")) {
            let call = read();
            prop_assert_eq!(filter.matches(&call), filter.matches(&call.clone()));
            let _ = filter.matches(&unanswered());
        }
    }
}

/// A packet of NFS from 10.0.0.1 in VLAN 7.
fn packet() -> model::Sight {
    model::Sight {
        order: 0,
        at: mark(0, 12).expect("a mark"),
        length: 1_514,
        captured: 96,
        kind: model::SightKind::Tcp,
        cast: model::Cast::Unicast,
        vlan: Some(7),
        addresses: Some(["10.0.0.1", "fe80::1"].map(|a| a.parse().expect("an address"))),
        ports: Some([700, 2049]),
    }
}

#[test]
fn packets_are_compared_by_hosts_ports_and_what_they_hold() {
    for (text, passes) in [
        ("host = 10.0.0.0/8", true),
        ("host = fe80::1 and port = 2049", true),
        ("host = [fe80::1]:2049", true),
        ("host = 10.0.0.1:2049", false),
        ("host != 10.0.0.1", false),
        ("host != 10.0.0.2", true),
        ("host ~ 10.*", true),
        ("source = 10.0.0.1", true),
        ("destination = 10.0.0.1", false),
        ("source.port < 1024", true),
        ("destination.port = 700", false),
        ("port != 2049", false),
        ("port != 80", true),
        ("not port = 2049 or protocol = udp", false),
        ("protocol = TCP and bytes > 1k", true),
        ("captured < 100 and vlan = 7 and cast = unicast", true),
        ("frame >= 12", true),
    ] {
        let filter = PacketFilter::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(filter.matches(&packet()), passes, "{text}");
    }
    let bare = model::Sight {
        addresses: None,
        ports: None,
        ..packet()
    };
    for text in ["host != 10.0.0.1", "port != 80", "host = ::1"] {
        let filter = PacketFilter::parse(text).expect("a filter");
        assert!(!filter.matches(&bare), "{text}");
    }
}

#[test]
fn what_packets_do_not_have_is_told_with_its_column() {
    for (text, says) in [
        (
            "hots = 10.0.0.1",
            "column 1: packets have no `hots`; did you mean `host`?",
        ),
        (
            "host < 10.0.0.1",
            "column 6: `host` has no order; use `=`, `!=` or `~`",
        ),
        ("port = http", "column 8: `http` is not a number"),
        ("protocol = nfs", "column 12: `protocol` is one of tcp, udp"),
    ] {
        let error = PacketFilter::parse(text).expect_err(text).to_string();
        assert!(error.starts_with(says), "{error}");
    }
}
