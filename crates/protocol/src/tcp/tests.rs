//! Streams of unknown protocols: who spoke when, and what the turns are.

use crate::{ConnectionInfo, Context, Conversation, Output, Shared};
use model::{
    Call, Chunk, Close, ConnectionId, Direction, Endpoint, Mark, Outcome, PacketRef, Problems,
    Reason, Time, Transport, limits, pack,
};
use proptest::prelude::*;

const MS: i64 = 1_000_000;

/// What a connection carries, in order.
#[derive(Clone, Debug)]
enum Event {
    /// Of a side that has heard all that the other said.
    Client(Vec<u8>),
    Server(Vec<u8>),
    /// Of a side that spoke at the same time as the other.
    ClientToo(Vec<u8>),
    ServerToo(Vec<u8>),
    /// Captured so many events before.
    Late(Direction, Vec<u8>, i64),
    Cut(Direction, Vec<u8>, u32),
    Gap(Direction, u64),
}
use Direction::{ToClient, ToServer};
use Event::{Client, ClientToo, Cut, Gap, Late, Server, ServerToo};

/// A connection of which the SYN was seen.
fn opened() -> ConnectionInfo {
    let endpoint = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    ConnectionInfo {
        id: ConnectionId(0),
        transport: Transport::Tcp,
        client: endpoint(1, 40_000),
        server: endpoint(2, 9_000),
        roles_known: true,
    }
}

/// The same, joined later.
fn joined() -> ConnectionInfo {
    ConnectionInfo {
        roles_known: false,
        ..opened()
    }
}

/// The calls of a connection that ends so many events after its last, and the kinds of problems; event
/// n, counted from 1, is frame n and comes at n milliseconds.
fn run(
    connection: &ConnectionInfo,
    events: &[Event],
    end: (Close, i64),
) -> (Vec<Call>, Vec<&'static str>) {
    let awake = converse(connection, events, end, false);
    let rested = converse(connection, events, end, true);
    assert_eq!(format!("{awake:?}"), format!("{rested:?}"));
    awake
}

/// The same, where the connection may rest before each event.
fn converse(
    connection: &ConnectionInfo,
    events: &[Event],
    end: (Close, i64),
    rests: bool,
) -> (Vec<Call>, Vec<&'static str>) {
    let mut conversation = Conversation::default();
    let (mut output, mut problems, mut shared) =
        (Output::default(), Problems::default(), Shared::default());
    let mut sequences = [1_000, 5_000];
    for (order, event) in events.iter().map(Some).chain([None]).enumerate() {
        let order = order as i64 + 1 + if event.is_none() { end.1 } else { 0 };
        if rests {
            let mut bytes = Vec::new();
            assert!(pack::pack(&conversation.rest(), &mut bytes));
            conversation.wake(pack::unpack(&bytes).expect("what was packed"));
        }
        let mut cx = Context {
            connection,
            output: &mut output,
            problems: &mut problems,
            shared: &mut shared,
            order: order as u64,
            now: Time(order * MS),
        };
        let mut feed = |d: Direction, data: &[u8], cut: u32, heard_all, back: i64| {
            let packet = PacketRef {
                file: 0,
                frame: (order - back) as u32,
            };
            let sequence = &mut sequences[d.index()];
            let chunk = Chunk {
                data,
                cut,
                mark: Mark {
                    time: Time((order - back) * MS),
                    packet,
                },
                sequence: *sequence,
                order: order as u64,
                now: Time(order * MS),
                held_since: None,
                heard_all,
            };
            *sequence += data.len() as u32 + cut;
            conversation.data(&mut cx, d, &chunk);
        };
        match event {
            Some(Client(data)) => feed(ToServer, data, 0, true, 0),
            Some(Server(data)) => feed(ToClient, data, 0, true, 0),
            Some(ClientToo(data)) => feed(ToServer, data, 0, false, 0),
            Some(ServerToo(data)) => feed(ToClient, data, 0, false, 0),
            Some(Late(d, data, back)) => feed(*d, data, 0, true, *back),
            Some(Cut(d, data, cut)) => feed(*d, data, *cut, true, 0),
            Some(Gap(d, length)) => {
                sequences[d.index()] += *length as u32;
                conversation.gap(&mut cx, *d, *length);
            }
            None => conversation.close(&mut cx, end.0),
        }
    }
    assert!(output.outstanding.is_empty());
    let kinds = problems.iter().map(|(kind, _)| kind).collect();
    (output.calls, kinds)
}

fn calls(events: &[Event]) -> Vec<Call> {
    run(&opened(), events, (Close::Finished, 1)).0
}

fn outcomes(events: &[Event]) -> Vec<Outcome> {
    calls(events).iter().map(|c| c.outcome).collect()
}

/// Frames of request first and last byte, response first and last byte.
fn frames(call: &Call) -> [Option<u32>; 4] {
    [
        call.request_first,
        call.request_last,
        call.response_first,
        call.response_last,
    ]
    .map(|mark| mark.map(|m| m.packet.frame))
}

fn bytes(n: usize) -> Vec<u8> {
    vec![b'x'; n]
}

/// So many turns of a request and a response each.
fn turns(n: usize) -> Vec<Event> {
    (0..n)
        .flat_map(|_| [Client(bytes(10)), Server(bytes(20))])
        .collect()
}

#[test]
fn a_turn_is_what_the_client_says_and_what_the_server_says_to_it() {
    let calls = calls(&[
        Client(bytes(3)),
        Client(bytes(4)),
        Server(bytes(5)),
        Server(bytes(6)),
        Client(bytes(1)),
        Server(bytes(2)),
    ]);
    assert_eq!(calls.len(), 2);
    let (a, b) = (&calls[0], &calls[1]);
    assert_eq!(frames(a), [Some(1), Some(2), Some(3), Some(4)]);
    assert_eq!((a.request_bytes, a.response_bytes), (7, 11));
    assert_eq!((a.op.as_str(), a.outcome), ("TURN", Outcome::Ok));
    assert_eq!(frames(b), [Some(5), Some(5), Some(6), Some(6)]);
    // The id is the place in the client's stream, whatever came before.
    assert_eq!((a.id, b.id), (1_000, 1_007));
    assert_eq!((b.request_sequence, b.response_sequence), (1_007, 5_011));
}

#[test]
fn a_greeting_of_the_server_opens_no_turn() {
    let greeted = calls(&[Server(bytes(30)), Client(bytes(3)), Server(bytes(5))]);
    assert_eq!(greeted.len(), 1);
    assert_eq!(frames(&greeted[0]), [Some(2), Some(2), Some(3), Some(3)]);
    assert!(calls(&[Server(bytes(30)), Server(bytes(30))]).is_empty());
}

#[test]
fn a_transfer_one_way_is_one_turn() {
    let mut upload: Vec<_> = (0..500).map(|_| Client(bytes(1_448))).collect();
    upload.push(Server(bytes(1)));
    let calls = calls(&upload);
    assert_eq!(calls.len(), 1);
    assert_eq!(
        frames(&calls[0]),
        [Some(1), Some(500), Some(501), Some(501)]
    );
}

#[test]
fn what_nobody_answered_says_why() {
    let unanswered = [Client(bytes(3)), Server(bytes(1)), Client(bytes(9))];
    let last = |why, wait| {
        let (calls, _) = run(&opened(), &unanswered, (why, wait));
        (calls.len(), calls[calls.len() - 1].outcome)
    };
    let no = |reason| (2, Outcome::NoResponse(reason));
    assert_eq!(last(Close::Reset, 1), no(Reason::NoAnswer));
    assert_eq!(last(Close::EndOfCapture, 1), no(Reason::AfterCapture));
    assert_eq!(last(Close::EndOfCapture, 100_000), no(Reason::NoAnswer));
    let hidden = [
        Client(bytes(3)),
        Gap(ToClient, 5),
        Client(bytes(9)),
        Server(bytes(1)),
    ];
    assert_eq!(
        outcomes(&hidden),
        [Outcome::NoResponse(Reason::CaptureGap), Outcome::Ok]
    );
}

#[test]
fn a_response_that_the_end_of_the_capture_cuts_short_has_no_end() {
    let events = [Client(bytes(3)), Server(bytes(100))];
    let (short, _) = run(&opened(), &events, (Close::EndOfCapture, 1));
    assert_eq!(short[0].outcome, Outcome::Incomplete(Reason::AfterCapture));
    assert_eq!(frames(&short[0]), [Some(1), Some(1), Some(2), None]);
    let (silent, _) = run(&opened(), &events, (Close::EndOfCapture, 2_000));
    assert_eq!(silent[0].outcome, Outcome::Ok);
}

#[test]
fn a_gap_within_a_message_costs_nothing_but_an_unknown_end() {
    let lost = Outcome::Incomplete(Reason::CaptureGap);
    let c = || Client(bytes(3));
    let s = || Server(bytes(5));
    assert_eq!(outcomes(&[c(), Gap(ToServer, 9), c(), s()]), [Outcome::Ok]);
    assert_eq!(outcomes(&[c(), s(), Gap(ToClient, 9), s()]), [Outcome::Ok]);
    let ends = [c(), Gap(ToServer, 9), s(), Gap(ToClient, 9)];
    let call = &calls(&ends)[0];
    assert_eq!(call.outcome, lost);
    assert_eq!(frames(call), [Some(1), None, Some(3), None]);
    assert_eq!((call.request_bytes, call.response_bytes), (12, 14));
    // The answer's beginning, and perhaps the end of the one before.
    let hidden = [c(), s(), c(), Gap(ToClient, 9), s()];
    let no_response = Outcome::NoResponse(Reason::CaptureGap);
    assert_eq!(outcomes(&hidden), [lost, no_response]);
}

#[test]
fn a_request_in_a_gap_is_paired_with_nothing() {
    let c = || Client(bytes(3));
    let s = || Server(bytes(5));
    let events = [c(), s(), Gap(ToServer, 9), c(), s(), c(), s()];
    let found = calls(&events);
    assert_eq!(found[0].outcome, Outcome::Incomplete(Reason::CaptureGap));
    assert_eq!(frames(&found[1]), [Some(6), Some(6), Some(7), Some(7)]);
    // Bytes of a response that had to wait behind a gap until the next request was there.
    let waited = [c(), s(), c(), Late(ToClient, bytes(5), 3), s()];
    let complete = calls(&waited).iter().filter(|c| c.is_complete()).count();
    assert_eq!(complete, 0);
}

#[test]
fn in_mid_connection_turns_begin_behind_the_server() {
    let events = [
        Client(bytes(3)),
        Server(bytes(5)),
        Client(bytes(3)),
        Server(bytes(5)),
    ];
    let (calls, _) = run(&joined(), &events, (Close::Finished, 1));
    assert_eq!(calls.len(), 1);
    assert_eq!(frames(&calls[0]), [Some(3), Some(3), Some(4), Some(4)]);
    let mut nobody_knows = joined();
    nobody_knows.server.port = 40_001;
    let (calls, problems) = run(&nobody_knows, &events, (Close::Finished, 1));
    assert!(calls.is_empty());
    assert_eq!(problems, ["turns-roles-unknown"]);
}

#[test]
fn a_connection_whose_sides_do_not_wait_has_no_turns() {
    for overlapping in [ClientToo(bytes(10)), ServerToo(bytes(20))] {
        let pair = match overlapping {
            ClientToo(_) => [overlapping, Server(bytes(20))],
            _ => [Client(bytes(10)), overlapping],
        };
        for n in [3, 100] {
            let events: Vec<_> = (0..n).flat_map(|_| pair.clone()).collect();
            let (calls, problems) = run(&opened(), &events, (Close::Finished, 1));
            assert!(calls.is_empty());
            assert_eq!(problems, ["pipelined-turns"]);
        }
    }
}

#[test]
fn an_overlap_now_and_then_costs_the_turns_beside_it() {
    let mut events = turns(20);
    events[20] = ClientToo(bytes(10));
    let (calls, problems) = run(&opened(), &events, (Close::Finished, 1));
    assert_eq!(calls.len(), 18);
    assert_eq!(problems, ["overlapping-turns"]);
    // The server goes on with its last answer, not knowing of the next request.
    events[20] = Client(bytes(10));
    events[21] = ServerToo(bytes(10));
    assert_eq!(super::tests::calls(&events).len(), 18);
}

#[test]
fn a_connection_that_becomes_pipelined_is_told_no_further() {
    let mut events = turns(50);
    events.extend((0..500).flat_map(|_| [ClientToo(bytes(10)), Server(bytes(20))]));
    let (calls, problems) = run(&opened(), &events, (Close::Finished, 1));
    assert_eq!(calls.len(), 49);
    assert_eq!(problems, ["overlapping-turns", "pipelined-turns"]);
}

#[test]
fn a_protocol_that_claims_the_connection_leaves_no_turns() {
    let greeting = b"SLOWtpl\x01".to_vec();
    let before = limits::TURNS_HELD - 1;
    let mut events = turns(before);
    events.push(Client(greeting.clone()));
    assert!(calls(&events).is_empty(), "claimed in time");
    let mut events = turns(before + 2);
    events.push(Client(greeting));
    assert_eq!(calls(&events).len(), before + 3, "not asked any more");
}

#[test]
fn a_tls_alert_opens_no_turn() {
    let mut events = turns(2);
    let mut alert = vec![21, 3, 3, 0, 26];
    alert.extend(bytes(26));
    events.push(Client(alert));
    assert_eq!(outcomes(&events), [Outcome::Ok, Outcome::Ok]);
}

#[test]
fn cut_bytes_are_as_good_as_captured_ones() {
    let calls = calls(&[Cut(ToServer, vec![], 100), Cut(ToClient, bytes(3), 200)]);
    assert_eq!(
        (calls[0].request_bytes, calls[0].response_bytes),
        (100, 203)
    );
    assert_eq!(calls[0].outcome, Outcome::Ok);
}

#[test]
fn ports_of_nfs_have_no_turns() {
    let mut nfs = opened();
    nfs.server.port = 2_049;
    for events in [
        turns(30),
        vec![Cut(ToServer, vec![], 9), Cut(ToClient, vec![], 9)],
    ] {
        let (calls, problems) = run(&nfs, &events, (Close::Finished, 1));
        assert!(calls.is_empty() && problems.is_empty());
    }
}

#[test]
fn a_connection_of_unknown_protocol_costs_little() {
    let size = size_of::<super::Turns>();
    assert!(size <= 200, "{size} bytes");
}

/// A message in one packet or several.
fn message() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(1usize..50, 1..4)
}

proptest! {
    #[test]
    fn any_split_into_segments_gives_the_same_turns(
        script in proptest::collection::vec((message(), message()), 1..30)
    ) {
        let mut split = Vec::new();
        let mut whole = Vec::new();
        for (request, response) in &script {
            split.extend(request.iter().map(|&n| Client(bytes(n))));
            split.extend(response.iter().map(|&n| Server(bytes(n))));
            whole.push(Client(bytes(request.iter().sum())));
            whole.push(Server(bytes(response.iter().sum())));
        }
        let of = |events: &[Event]| -> Vec<_> {
            let key = |c: &Call| (c.id, c.request_bytes, c.response_sequence, c.response_bytes, c.outcome);
            calls(events).iter().map(key).collect()
        };
        prop_assert_eq!(of(&split), of(&whole));
        prop_assert_eq!(of(&whole).len(), script.len());
    }

    #[test]
    fn whatever_is_lost_makes_no_turns_that_are_not_there(
        lost in proptest::collection::vec((0usize..40, any::<bool>()), 0..12)
    ) {
        // Each message is one packet; the capture lacks some.
        let mut events = turns(20);
        for (i, _) in lost {
            let d = if i % 2 == 0 { ToServer } else { ToClient };
            events[i] = Gap(d, if i % 2 == 0 { 10 } else { 20 });
        }
        for call in calls(&events).iter().filter(|c| c.is_complete()) {
            let [a, b, c, d] = frames(call).map(Option::unwrap);
            prop_assert_eq!((a, b, c, d), (a, a, a + 1, a + 1));
        }
    }

    #[test]
    fn any_bytes_do_no_harm(
        events in proptest::collection::vec((0..7, proptest::collection::vec(any::<u8>(), 0..40), 0u32..20), 0..60),
        known: bool,
    ) {
        let events: Vec<_> = events.into_iter().map(|(kind, data, n)| match kind {
            0 => Client(data),
            1 => Server(data),
            2 => ClientToo(data),
            3 => ServerToo(data),
            4 => Late(ToClient, data, i64::from(n)),
            5 => Cut(ToServer, data, n),
            _ => Gap(if n % 2 == 0 { ToServer } else { ToClient }, u64::from(n) + 1),
        }).collect();
        let connection = if known { opened() } else { joined() };
        for call in run(&connection, &events, (Close::EndOfCapture, 1)).0 {
            prop_assert!(call.request_first.is_some());
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
            prop_assert_eq!(call.id, call.request_sequence);
        }
    }
}
