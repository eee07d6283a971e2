//! Calls that nobody has answered when the capture ends, or their client gives up: counted for as long as they waited, and
//! held against the server as far as it cannot have answered.

use super::capture;
use crate::kit::{file, parsed, root, said};
use serde_json::Value;
use std::net::Ipv4Addr;
use testkit::faults::delay;
use testkit::{Conversation, TestPacket, datagram, rpc};

const MS: i64 = 1_000_000;
/// One way.
const WAY: i64 = MS / 5;
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const LAST: u32 = 99;

fn connection(port: u16) -> Conversation {
    Conversation::new((CLIENT, port).into(), (SERVER, 2049).into())
}

fn ask(c: &mut Conversation, xid: u32) {
    c.client(&rpc::record(&rpc::getattr_call(xid, b"file")));
    c.after(2 * WAY).server_ack();
}

fn answer(c: &mut Conversation, xid: u32) {
    c.server(&rpc::record(&rpc::getattr_reply(xid)));
    c.after(MS / 100).client_ack();
}

/// At the client: forty calls that are answered at once, and a last one that is asked at 2 s, and acknowledged.
fn hangs() -> Conversation {
    let mut c = connection(1000);
    c.syn()
        .after(2 * WAY)
        .syn_ack()
        .after(MS / 100)
        .client_ack();
    for xid in 1..41 {
        c.after(10 * MS);
        ask(&mut c, xid);
        c.after(MS / 10);
        answer(&mut c, xid);
    }
    c.at(2_000 * MS);
    ask(&mut c, LAST);
    c
}

/// Another connection, of which a call is answered each second until 22 s.
fn goes_on() -> Vec<TestPacket> {
    let mut c = connection(1001);
    c.syn()
        .after(2 * WAY)
        .syn_ack()
        .after(MS / 100)
        .client_ack();
    for xid in 1..22 {
        c.at((i64::from(xid) + 1) * 1_000 * MS);
        ask(&mut c, xid);
        c.after(MS / 10);
        answer(&mut c, xid);
    }
    c.packets()
}

fn together(mut a: Vec<TestPacket>, b: Vec<TestPacket>) -> Vec<TestPacket> {
    a.extend(b);
    a.sort_by_key(|p| p.time);
    a
}

/// The same packets as the server's host sees them.
fn at_server(packets: &[TestPacket]) -> Vec<TestPacket> {
    let ends = [
        (CLIENT, 1000, WAY),
        (CLIENT, 1001, WAY),
        (SERVER, 2049, -WAY),
    ];
    ends.into_iter()
        .fold(packets.to_vec(), |seen, (host, port, ns)| {
            delay(&seen, (host, port).into(), ns)
        })
}

/// The diagnosis, and the ledger of the call that nobody answered.
fn judged(
    test: &str,
    client: Option<&[TestPacket]>,
    server: Option<&[TestPacket]>,
) -> (Value, Value) {
    let mut arguments = Vec::new();
    for (side, packets) in [("client", client), ("server", server)] {
        if let Some(packets) = packets {
            let path = file(test, &format!("{side}.pcap"), &capture(packets));
            arguments.extend([
                format!("--{side}"),
                path.to_str().expect("UTF-8").to_owned(),
            ]);
        }
    }
    let asked = |command: &str, format: &str| {
        let mut all = vec![command.to_owned()];
        all.extend(arguments.iter().cloned());
        said(all.into_iter().chain(["--format".into(), format.into()]))
    };
    let diagnosis = parsed(&asked("diagnose", "json"));
    let rows = asked("calls", "jsonl");
    let mut rows = rows.lines().map(parsed);
    let row = rows.find(|row| row["id"] == format!("{LAST:#010x}"));
    (diagnosis, row.expect("the row"))
}

/// The bounds of a cause in a row's ledger, in ms.
fn bounds(row: &Value, cause: &str) -> (i64, i64) {
    let lines = row["ledger"].as_array().expect("a ledger").iter();
    let of = |key: &str| {
        let own = lines.clone().filter(|l| l["cause"] == cause);
        own.map(|l| l[key].as_i64().expect("a number")).sum::<i64>() / MS
    };
    (of("lo_ns"), of("hi_ns"))
}

fn side(diagnosis: &Value) -> (&str, &str) {
    let of = |key| diagnosis["verdict"][key].as_str().unwrap_or("");
    (of("side"), of("cause"))
}

#[test]
fn a_server_that_is_heard_on_other_connections_has_not_answered() {
    let client = together(hangs().packets(), goes_on());
    let (diagnosis, row) = judged("heard", Some(&client), None);
    assert_eq!(side(&diagnosis), ("server", "server-slow"));
    assert_eq!(row["outcome"], "no-response");
    // 20 s until the last packet; lost answers come again within three seconds.
    assert_eq!(bounds(&row, "service"), (17_000, 20_000));
    assert_eq!(bounds(&row, "outage"), (0, 3_000));
    assert_eq!(
        row["client_response_lo_ns"].as_i64().expect("ns") / MS,
        20_000
    );
    let notes = diagnosis["notes"].to_string();
    assert!(
        notes.contains("1 call still waited for an answer"),
        "{notes}"
    );
}

#[test]
fn of_a_server_that_is_heard_no_more_nobody_knows_from_the_client_alone() {
    let mut c = hangs();
    let mut other = connection(1001);
    // Somebody else's packet, 20 s later.
    let client = together(c.after(0).packets(), other.at(22_000 * MS).syn().packets());
    let (diagnosis, row) = judged("silent", Some(&client), None);
    assert_eq!(side(&diagnosis).0, "undetermined");
    let (least, most) = bounds(&row, "service");
    assert!(
        least == 0 && (19_999..=20_000).contains(&most),
        "{least} {most}"
    );
    let (least, most) = bounds(&row, "outage");
    assert!(
        least == 0 && (19_999..=20_000).contains(&most),
        "{least} {most}"
    );
}

#[test]
fn at_the_server_it_is_the_servers() {
    let server = at_server(&together(hangs().packets(), goes_on()));
    let (diagnosis, row) = judged("at-server", None, Some(&server));
    assert_eq!(side(&diagnosis), ("server", "server-slow"));
    let (least, most) = bounds(&row, "service");
    assert!(
        (19_999..=20_001).contains(&least) && least == most,
        "{least} {most}"
    );
}

#[test]
fn both_ends_agree_that_it_is_the_servers() {
    let client = together(hangs().packets(), goes_on());
    let (diagnosis, row) = judged("both", Some(&client), Some(&at_server(&client)));
    assert_eq!(side(&diagnosis), ("server", "server-slow"));
    let (least, most) = bounds(&row, "service");
    assert!(
        (19_999..=20_001).contains(&least) && least == most,
        "{least} {most}"
    );
}

#[test]
fn an_answer_that_never_came_is_the_networks() {
    let client = together(hangs().packets(), goes_on());
    let mut c = hangs();
    let there = {
        let mut answered = c.after(MS).packets();
        c.server(&rpc::record(&rpc::getattr_reply(LAST)));
        // Nobody acknowledges it: it is sent again.
        for later in [0, 300 * MS, 900 * MS] {
            answered.extend(c.packets().last().cloned().map(|packet| TestPacket {
                time: packet.time + later,
                ..packet
            }));
        }
        together(answered, goes_on())
    };
    let (diagnosis, row) = judged("lost", Some(&client), Some(&at_server(&there)));
    assert_eq!(side(&diagnosis).0, "network");
    let (least, _) = bounds(&row, "outage");
    assert!((19_990..20_000).contains(&least), "{least}");
}

/// A message of PostgreSQL: its type, its length with that, its body.
fn message(kind: &[u8], body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short one");
    [kind, &length.to_be_bytes(), body].concat()
}

#[test]
fn a_client_that_gives_up_has_waited_until_then() {
    let mut c = Conversation::new((CLIENT, 1000).into(), (SERVER, 5432).into());
    c.syn()
        .after(2 * WAY)
        .syn_ack()
        .after(MS / 100)
        .client_ack();
    let startup = [&196_608_u32.to_be_bytes()[..], b"user\0ann\0\0"].concat();
    let ready = message(b"Z", b"I");
    c.after(MS).client(&message(b"", &startup));
    c.after(2 * WAY)
        .server(&[message(b"R", &[0; 4]), ready.clone()].concat());
    c.after(MS / 100).client_ack();
    for _ in 0..40 {
        c.after(10 * MS).client(&message(b"Q", b"select 1\0"));
        let answer = [message(b"C", b"SELECT 1\0"), ready.clone()].concat();
        c.after(2 * WAY).server(&answer);
        c.after(MS / 100).client_ack();
    }
    c.at(2_000 * MS).client(&message(b"Q", b"select slow()\0"));
    // Kept alive, so that its server is heard.
    for second in 3..12 {
        c.at(second * 1_000 * MS).server_ack();
    }
    c.at(12_000 * MS).client_fin().after(2 * WAY).server_fin();
    c.after(MS / 100).client_ack();
    let path = file("gives-up", "client.pcap", &capture(&c.packets()));
    let path = path.to_str().expect("UTF-8");
    let diagnosis = parsed(&said(["diagnose", "--client", path, "--format", "json"]));
    assert_eq!(side(&diagnosis), ("server", "server-slow"));
    let rows = said(["calls", "--client", path, "--format", "jsonl"]);
    let mut rows = rows.lines().map(parsed);
    let row = rows
        .find(|row| row["outcome"] == "no-response")
        .expect("the row");
    assert_eq!(
        row["client_response_lo_ns"].as_i64().expect("ns") / MS,
        10_000
    );
    let (least, _) = bounds(&row, "service");
    assert!((8_900..10_000).contains(&least), "{least}");
}

#[test]
fn a_request_that_never_came_there_is_not_held_against_the_server() {
    let mut c = connection(1000);
    c.syn()
        .after(2 * WAY)
        .syn_ack()
        .after(MS / 100)
        .client_ack();
    c.at(2_000 * MS)
        .client(&rpc::record(&rpc::getattr_call(LAST, b"file")));
    let client = together(c.packets(), goes_on());
    let (_, row) = judged("never-came", Some(&client), None);
    assert_eq!(row["ledger"], Value::Array(Vec::new()));
}

#[test]
fn a_connection_that_nothing_comes_through_on_is_told_though_others_go_on() {
    // A firewall that has forgotten it.
    let mut sent = hangs().packets();
    // Nobody acknowledges the last request.
    sent.pop();
    let request = sent.last().cloned().expect("a request");
    let there: Vec<TestPacket> = sent.iter().take(sent.len() - 1).cloned().collect();
    for after in [200, 600, 1_400, 3_000, 6_200, 12_600] {
        let mut again = request.clone();
        again.time += after * MS;
        sent.push(again);
    }
    let client = together(sent, goes_on());
    let server = at_server(&together(there, goes_on()));
    let (diagnosis, _) = judged("forgotten", Some(&client), None);
    assert_eq!(side(&diagnosis), ("undetermined", "silent-peer"));
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["cost_ns"].as_i64().expect("ns") / MS, 12_400);
    let (diagnosis, _) = judged("forgotten", Some(&client), Some(&server));
    assert_eq!(side(&diagnosis), ("network", "silent-peer"));
}

#[test]
fn an_answer_that_came_and_was_acknowledged_in_vain_is_not_held_against_the_client() {
    // A firewall forgets the connection as the client acknowledges the last answer: the server sends that again and again, and
    // the client, which has it, asks in vain.
    let mut c = hangs();
    c.after(MS / 10);
    answer(&mut c, LAST);
    let both = c.packets();
    let [before @ .., answer, acknowledgement] = both.as_slice() else {
        panic!("too few packets");
    };
    let again = |packet: &TestPacket, to: &mut Vec<TestPacket>| {
        for after in [200, 600, 1_400, 3_000, 6_200, 12_600] {
            let mut again = packet.clone();
            again.time += after * MS;
            to.push(again);
        }
    };
    let mut there = [before, std::slice::from_ref(answer)].concat();
    again(answer, &mut there);
    let mut request = c.clone();
    request.at(4_000 * MS);
    request.client(&rpc::record(&rpc::getattr_call(LAST + 1, b"file")));
    let mut here = request.packets();
    assert_eq!(here[both.len() - 1], *acknowledgement);
    again(&here[both.len()].clone(), &mut here);
    let (client, server) = (
        together(here, goes_on()),
        together(there.clone(), goes_on()),
    );
    let (diagnosis, _) = judged("in-vain", Some(&client), Some(&at_server(&server)));
    assert_eq!(side(&diagnosis), ("network", "silent-peer"));
    let finding = &diagnosis["findings"][0];
    assert_eq!(finding["cost_ns"].as_i64().expect("ns") / MS, 12_400);
    // Where the client asks for nothing more, nobody waits.
    let silent = |diagnosis: &Value| {
        let findings = diagnosis["findings"].as_array().expect("findings");
        let mut own = findings.iter().filter(|f| f["code"] == "silent-peer");
        let f = own.next().expect("it is told");
        (f["side"].clone(), f["cost_ns"].clone())
    };
    let quiet = together(both.clone(), goes_on());
    let (diagnosis, _) = judged("in-vain-quiet", Some(&quiet), Some(&at_server(&server)));
    assert_eq!(silent(&diagnosis), ("network".into(), Value::Null));
    // What keeps arriving and is not acknowledged is the client's, whom nobody waits for.
    let dead = together(there, goes_on());
    let (diagnosis, _) = judged("in-vain-dead", Some(&dead), Some(&at_server(&dead)));
    assert_eq!(silent(&diagnosis), ("client".into(), Value::Null));
}

#[test]
fn at_the_server_it_is_said_for_how_long_an_answer_was_sent_again() {
    let mut c = hangs();
    c.after(MS / 10)
        .server(&rpc::record(&rpc::getattr_reply(LAST)));
    let mut sent = c.packets();
    let answer = sent.last().cloned().expect("an answer");
    for after in [200, 600, 1_400] {
        let mut again = answer.clone();
        again.time += after * MS;
        sent.push(again);
    }
    c.at(3_500 * MS).client_ack();
    sent.extend(c.packets().last().cloned());
    let said_at = |packets: Vec<TestPacket>| {
        let seen = at_server(&together(packets, goes_on()));
        let (diagnosis, _) = judged("answered-again", None, Some(&seen));
        let notes = diagnosis["notes"].as_array().expect("notes").clone();
        let is_it = |n: &&Value| {
            n.as_str()
                .is_some_and(|n| n.starts_with("Answers were sent again"))
        };
        notes.iter().find(is_it).cloned()
    };
    let note = said_at(sent).expect("it is said");
    let note = note.as_str().expect("text");
    assert!(
        note.contains("for up to 1.5") && note.contains("(1 time)"),
        "{note}"
    );
    assert_eq!(said_at(c.packets()), None);
}

#[test]
fn calls_that_were_asked_again_before_they_were_answered_are_said() {
    let mut c = hangs();
    // After a second, with the same XID.
    c.after(1_000 * MS);
    ask(&mut c, LAST);
    c.after(MS / 10);
    answer(&mut c, LAST);
    let packets = c.packets();
    let here = together(packets, goes_on());
    let there = at_server(&here);
    let client = Some(here.as_slice());
    for (client, server) in [
        (client, None),
        (client, Some(there.as_slice())),
        (None, Some(there.as_slice())),
    ] {
        let (diagnosis, row) = judged("asked-again", client, server);
        assert_eq!(
            (side(&diagnosis), &row["retransmits"]),
            (("server", "server-slow"), &1.into())
        );
        let why = diagnosis["findings"][0]["why"].as_str().expect("text");
        assert!(
            why.contains(
                " 1 that was asked again (the same XID) before it was answered took 1.00 s: "
            ),
            "{why}"
        );
    }
}

#[test]
fn a_call_over_udp_that_was_asked_again_is_nobodys_from_the_client_alone() {
    let (client, server) = ((CLIENT, 801).into(), (SERVER, 2049).into());
    let mut here = Vec::new();
    let mut at = 1_000 * MS;
    let mut exchange = |again: bool, xid: u32| {
        let request = rpc::getattr_call(xid, b"file");
        here.push(datagram(at, client, server, 1, &request));
        if again {
            at += 700 * MS;
            here.push(datagram(at, client, server, 2, &request));
        }
        at += MS;
        here.push(datagram(at, server, client, 3, &rpc::getattr_reply(xid)));
        at += 10 * MS;
    };
    (1..200).for_each(|xid| exchange(xid % 20 == 0 || xid == LAST, xid));
    let (diagnosis, row) = judged("udp", Some(&here), None);
    assert_eq!(side(&diagnosis), ("undetermined", ""));
    let said = diagnosis["verdict"]["sentence"].as_str().expect("text");
    assert!(
        said.contains(
            " 10 calls over UDP were asked again before they were answered, after 7.01 s in all: "
        ),
        "{said}"
    );
    let (least, most) = bounds(&row, "service");
    assert_eq!((least, most), (0, 701));
    // The server's own capture knows what came there.
    let (_, row) = judged("udp", None, Some(&here));
    assert_eq!(bounds(&row, "service"), (701, 701));
}

/// Out of the middle of a database's answers, in which it pauses for 300 ms at a time: neither a request nor an answer is whole.
#[test]
fn an_answer_that_goes_on_when_the_capture_ends_is_judged_as_far_as_it_was_seen() {
    for (from, to) in [("1s", "2.6s"), ("1.3s", "3.1s")] {
        let paths = ["client", "server"].map(|end| {
            let whole = root().join(format!("tests/field/c10-database-pauses/{end}.pcap.zst"));
            let part = file("unanswered-cut", &format!("{end}-{from}.pcap"), &[]);
            let [whole, part] = [whole, part].map(|p| p.to_str().expect("UTF-8").to_owned());
            said(["cut", &whole, "--from", from, "--to", to, "-o", &part]);
            part
        });
        let of = |words: &[&str]| {
            let words = ["diagnose", "--format", "json"].iter().chain(words);
            parsed(&said(words.map(|w| (*w).to_owned())))
        };
        let [client, server] = &paths;
        for d in [
            of(&["--server", server]),
            of(&["--client", client, "--server", server]),
        ] {
            let findings = d["findings"].as_array().expect("findings");
            let pauses = |f: &&Value| f["code"] == "sender-application-limited";
            let pauses = findings.iter().find(pauses).expect("pauses");
            assert_eq!(pauses["side"], "server");
            // Each of them lasts as long.
            let cost_ns = pauses["cost_ns"].as_i64().expect("ns");
            assert!(cost_ns >= 290 * MS, "{}", d["verdict"]["sentence"]);
        }
        // What nobody has looked at is no network's.
        for d in [of(&[client]), of(&[server]), of(&[client, server])] {
            assert_ne!(
                d["verdict"]["side"], "network",
                "{}",
                d["verdict"]["sentence"]
            );
            assert_eq!(d["streams_ledger"]["calls"].as_u64().unwrap_or(0), 0);
        }
    }
}
