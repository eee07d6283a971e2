//! What the capture lacks, and what must not depend on how bytes came.

use super::{
    Bytes, Call, Close, Cut, DOWN, EXECUTE, Event, Field, Form, Gap, Outcome, Reason, SESSION_OPS,
    Seen, UP, block, calls, data, flagged, frames, hex, marker, ops, run, session, short, text,
};
use proptest::prelude::*;

#[test]
fn a_response_lost_by_the_capture_spoils_its_call_alone() {
    let all = session(Form::Long);
    let Bytes(_, lost) = &all[7] else { panic!() };
    let length = lost.len() as u64;
    // As it is known when the next packet comes, and at once.
    let mut late = all.clone();
    late.remove(7);
    late.insert(8, Gap(DOWN, length));
    let mut at_once = all.clone();
    at_once[7] = Gap(DOWN, length);
    for events in [late, at_once] {
        let calls = calls(&events);
        assert_eq!(ops(&calls), SESSION_OPS);
        let outcomes: Vec<_> = calls.iter().map(|c| c.outcome).collect();
        assert!(
            matches!(outcomes[3], Outcome::NoResponse(Reason::CaptureGap)),
            "{outcomes:?}"
        );
        assert!(outcomes[5..].iter().all(|&o| o == Outcome::Ok));
    }
}

/// The server goes on with the response, of which the capture lacks something, until the client speaks again.
#[test]
fn a_response_with_a_hole_lasts_as_long_as_the_server_goes_on() {
    let mut events = session(Form::Long);
    let Bytes(_, next) = &events[8] else { panic!() };
    let asked = next.len() as u64;
    let row = Bytes(DOWN, data(Form::Long, "06 02 01 01 00 01 0a 00*3"));
    let (lost, more) = (Gap(DOWN, 500), vec![row.clone(), row.clone(), row.clone()]);
    events.splice(7..7, [vec![row, lost], more].concat());
    let seen = calls(&events);
    assert_eq!(ops(&seen), SESSION_OPS);
    let fetch = &seen[3];
    assert_eq!(fetch.outcome, Outcome::Incomplete(Reason::CaptureGap));
    assert_eq!(frames(fetch)[2..], [Some(8), None]);
    // The last packet before the client's next.
    let last = fetch.hidden.map(|hidden| hidden.earliest.packet.frame);
    assert_eq!(last, Some(13));
    // Where a request is missing, what came since may answer that.
    events[13] = Gap(UP, asked);
    events.insert(14, Bytes(DOWN, data(Form::Long, "09 01 01 01 06")));
    let seen = calls(&events);
    let last = seen[3].hidden.map(|hidden| hidden.earliest.packet.frame);
    assert_eq!(last, Some(8));
}

#[test]
fn a_request_lost_by_the_capture_makes_no_wrong_pair() {
    let mut events = session(Form::Long);
    let Bytes(_, lost) = &events[6] else { panic!() };
    let length = lost.len() as u64;
    events.remove(6);
    // The gap is known when the client's next bytes come.
    events.insert(7, Gap(UP, length));
    let calls = calls(&events);
    // The execution's response may have any end.
    assert!(matches!(
        calls[2].outcome,
        Outcome::Incomplete(Reason::CaptureGap)
    ));
    assert_eq!(calls[2].detail.get(Field::Rows), None);
    assert_eq!(ops(&calls)[3..], ["FETCH", "COMMIT", "FETCH", "LOGOFF"]);
}

#[test]
fn cut_packets_keep_their_times() {
    // What a snap length leaves of each packet.
    for snap in [10, 13, 20, 40, 64, 100] {
        let cut = |event: &Event| match event {
            Bytes(d, bytes) if bytes.len() > snap && !bytes.starts_with(&[0, 0]) => {
                Cut(*d, bytes[..snap].to_vec(), (bytes.len() - snap) as u32)
            }
            other => other.clone(),
        };
        let mut events = session(Form::Short);
        for event in &mut events[4..] {
            *event = cut(event);
        }
        let calls = calls(&events);
        assert_eq!(calls.len(), 8, "{snap}");
        for (call, first) in calls.iter().zip([1, 3, 5, 7, 9, 11, 13, 15]) {
            assert_eq!(frames(call), [first, first, first + 1, first + 1].map(Some));
            assert_eq!(call.outcome, Outcome::Ok);
        }
        if snap >= 20 {
            assert_eq!(ops(&calls)[2..5], ["EXECUTE", "FETCH", "FETCH"], "{snap}");
        }
        if snap < 100 {
            assert_eq!(
                calls[2].detail.get(Field::Rows),
                None,
                "its block was cut off"
            );
        }
    }
}

#[test]
fn long_statements_and_responses_take_bounded_room() {
    let text = format!("select {} from t", "x, ".repeat(20_000));
    let length = (text.len() as u32).to_be_bytes();
    let mut request = hex("03 5e 04 02 80 21 00 01 03");
    request.extend(&length[1..]);
    request.extend(hex("01 01 0d 00 00 04 ff*4 01 0a 04 7f ff*3 00*11 01 00*8"));
    request.extend(text.bytes());
    request.extend(hex("01 01 00*6 01 01 00 02 80 00*4"));
    let mut response = hex("06 02 01 01 00 01 0a 00*3");
    for _ in 0..10_000 {
        response.extend(hex("07 04 'DATA'"));
    }
    response.extend(hex(&block(4, 10, false)));
    let packets = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .chunks(8_000)
            .flat_map(|part| flagged(Form::Long, 0, part))
            .collect()
    };
    let mut events = session(Form::Long)[..4].to_vec();
    events.extend([
        Bytes(UP, packets(&request)),
        Bytes(DOWN, packets(&response)),
        // In one packet, as with the largest session data unit.
        Bytes(UP, flagged(Form::Long, 0, &request)),
        Bytes(DOWN, flagged(Form::Long, 0, &response)),
        Bytes(UP, data(Form::Long, "03 0e 05")),
    ]);
    let Seen {
        calls, problems, ..
    } = run(&events, Close::Finished, true);
    assert_eq!(ops(&calls)[2..], ["EXECUTE", "EXECUTE", "COMMIT"]);
    for call in &calls[2..4] {
        let statement = call.sql.as_ref().unwrap().statement.clone().unwrap();
        assert!(statement.truncated && statement.text.starts_with("select x, x"));
        assert_eq!(call.detail.get(Field::Rows), Some(10));
    }
    assert!(
        problems
            .iter()
            .any(|(kind, _)| kind == "statements-truncated")
    );
}

/// Events whose bytes are joined and cut anew: `sizes` of chunks, over and over.
fn segmented(events: &[Event], sizes: &[usize]) -> Vec<Event> {
    let mut sizes = sizes.iter().copied().cycle();
    let mut out = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let Bytes(d, bytes) = event else { continue };
        let mut rest = &bytes[..];
        // What recognises the connection must come in one piece.
        if i == 0 {
            out.push(event.clone());
            continue;
        }
        while !rest.is_empty() {
            let n = sizes.next().unwrap_or(1).clamp(1, rest.len());
            out.push(Bytes(*d, rest[..n].to_vec()));
            rest = &rest[n..];
        }
    }
    out
}

/// What does not depend on how bytes are cut into segments.
fn essence(calls: &[Call]) -> Vec<String> {
    calls
        .iter()
        .map(|c| {
            let detail: Vec<_> = c.detail.iter().collect();
            format!(
                "{} {:?} {} {} {detail:?} {:?} {} {}",
                c.op.as_str(),
                c.outcome,
                c.request_bytes,
                c.response_bytes,
                text(c),
                c.request_sequence,
                c.response_sequence,
            )
        })
        .collect()
}

proptest! {
    #[test]
    fn any_segmentation_gives_the_same_calls(
        sizes in proptest::collection::vec(1usize..200, 1..20), long in any::<bool>()
    ) {
        let form = if long { Form::Long } else { Form::Short };
        let events = session(form);
        let whole = calls(&events);
        prop_assert_eq!(essence(&calls(&segmented(&events, &sizes))), essence(&whole));
    }

    #[test]
    fn holes_make_no_wrong_pairs(
        lost in proptest::collection::vec((0usize..17, any::<bool>()), 1..6), long in any::<bool>()
    ) {
        let form = if long { Form::Long } else { Form::Short };
        let events = session(form);
        let truth = calls(&events);
        let mut holed: Vec<Event> = Vec::new();
        let mut pending = [0u64; 2];
        for (i, event) in events.iter().enumerate() {
            let Bytes(d, bytes) = event else { continue };
            let hole = lost.iter().find(|(at, _)| *at == i && i > 0);
            match hole {
                Some((_, true)) => holed.push(Gap(*d, bytes.len() as u64)),
                // Known when the next bytes of that direction come.
                Some((_, false)) => pending[d.index()] += bytes.len() as u64,
                None => {
                    let gap = std::mem::take(&mut pending[d.index()]);
                    if gap > 0 {
                        holed.push(Gap(*d, gap));
                    }
                    holed.push(event.clone());
                }
            }
        }
        // TCP tells what was lost at the end when the connection ends.
        for d in [UP, DOWN] {
            if pending[d.index()] > 0 {
                holed.push(Gap(d, pending[d.index()]));
            }
        }
        for call in calls(&holed) {
            if call.outcome != Outcome::Ok {
                continue;
            }
            // A complete call is one that was made, with its own response.
            let same = truth.iter().find(|t| t.request_sequence == call.request_sequence);
            let Some(same) = same else {
                prop_assert!(false, "no such request: {:?}", call);
                return Ok(());
            };
            prop_assert_eq!(same.response_sequence, call.response_sequence);
            prop_assert_eq!(same.response_bytes, call.response_bytes);
            let rows = call.detail.get(Field::Rows);
            prop_assert!(rows.is_none() || rows == same.detail.get(Field::Rows));
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        chunks in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(any::<u8>(), 0..60), 0u32..50, 0u8..14), 0..30
        ),
        long in any::<bool>()
    ) {
        let form = if long { Form::Long } else { Form::Short };
        let mut events = session(form)[..4].to_vec();
        for (up, bytes, cut, kind) in chunks {
            let d = if up { UP } else { DOWN };
            // Mostly packets, and what is in them at random.
            match kind {
                0 => events.push(Cut(d, bytes, cut)),
                1 => events.push(Gap(d, u64::from(cut) + 1)),
                2 => events.push(Bytes(d, short(bytes.len() as u8 % 20, &bytes))),
                3 => events.push(Bytes(d, [hex("21"), marker(form, 3)].concat())),
                4 => {
                    let mut request = hex(EXECUTE);
                    let n = request.len();
                    for b in &bytes {
                        request[usize::from(*b) % n] = b.wrapping_mul(7);
                    }
                    events.push(Bytes(d, flagged(form, 0, &request)));
                }
                n => events.push(Bytes(
                    d,
                    flagged(form, 0, &[&[[3, 4, 6, 0x11, 8, 9, 0xde, 0x13, 1][usize::from(n) % 9]], &bytes[..]].concat()),
                )),
            }
        }
        for call in calls(&events) {
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
        }
    }
}
