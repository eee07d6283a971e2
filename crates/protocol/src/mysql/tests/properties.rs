//! Conversations made by chance.

use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// A command and its response, told apart from others by the number of rows.
fn trip() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    (1usize..40, 0u8..4).prop_map(|(n, kind)| match kind {
        0 => (query(&format!("select {n} from t")), result(n)),
        1 => (query(&format!("update t set a = {n}")), ok()),
        2 => (command(0x0e, b""), ok()),
        _ => (query(&format!("select {n} from missing")), error()),
    })
}

/// Recognised by its first command, which comes whole.
fn conversation(trips: &[(Vec<u8>, Vec<u8>)]) -> Vec<Event> {
    let mut events = vec![up(&query("select 0 from t")), down(&result(0))];
    for (request, response) in trips {
        events.push(up(request));
        events.push(down(response));
    }
    events
}

/// What a call is, without its frames.
fn facts(call: &Call) -> (String, String, Option<u64>, Option<String>) {
    let (op, outcome, _) = summary(call);
    (op, outcome, rows(call), text(call).map(str::to_owned))
}

/// The rows that a statement's own text says it returns.
fn rows_said(text: &str) -> Option<u64> {
    let rest = text.strip_prefix("select ")?;
    let (n, table) = rest.split_once(" from ")?;
    (table == "t").then(|| n.parse().ok())?
}

proptest! {
    #[test]
    fn any_segmentation_gives_the_same_calls(
        trips in proptest::collection::vec(trip(), 1..8),
        cuts in proptest::collection::vec(any::<Index>(), 0..20),
    ) {
        let whole = conversation(&trips);
        let mut events = Vec::new();
        for (n, event) in whole.iter().enumerate() {
            let Bytes(d, data) = event else { continue };
            let mut ends: Vec<usize> = match n {
                0 => Vec::new(),
                _ => cuts.iter().map(|cut| cut.index(data.len())).collect(),
            };
            ends.push(data.len());
            ends.sort_unstable();
            ends.dedup();
            let mut from = 0;
            for end in ends {
                if end > from {
                    events.push(Bytes(*d, data[from..end].to_vec()));
                    from = end;
                }
            }
        }
        let one: Vec<_> = joined(&whole, Close::Finished).calls.iter().map(facts).collect();
        let other: Vec<_> = joined(&events, Close::Finished).calls.iter().map(facts).collect();
        prop_assert_eq!(one.len(), trips.len() + 1);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn holes_make_no_pairs_that_are_not_there(
        trips in proptest::collection::vec(trip(), 1..12),
        holes in proptest::collection::vec((any::<Index>(), 0u8..3, any::<Index>()), 0..5),
    ) {
        let mut events = conversation(&trips);
        for (at, kind, length) in holes {
            // The first command stays, by which it is recognised.
            let n = 1 + at.index(events.len() - 1);
            let Bytes(d, data) = events[n].clone() else { continue };
            let keep = length.index(data.len());
            events[n] = match kind {
                0 => Cut(d, data[..keep].to_vec(), (data.len() - keep) as u32),
                _ => Gap(d, data.len() as u64),
            };
        }
        // What the capture lacks shows when something comes behind it.
        let mut told: Vec<Event> = Vec::new();
        let mut late: [Option<Event>; 2] = [None, None];
        for event in events {
            match &event {
                Gap(d, n) => {
                    let slot = &mut late[d.index()];
                    let before = match slot { Some(Gap(_, m)) => *m, _ => 0 };
                    *slot = Some(Gap(*d, before + n));
                }
                Bytes(d, _) | Cut(d, ..) => {
                    told.extend(late[d.index()].take());
                    told.push(event);
                }
                _ => {}
            }
        }
        told.extend(late.into_iter().flatten());
        for call in &joined(&told, Close::Finished).calls {
            if !call.is_complete() || call.detail.get(Field::Inferred).is_some() {
                continue;
            }
            let wanted = text(call).and_then(rows_said);
            // Of a text that was cut the number may be, too.
            if call.outcome.name() == "ok" && wanted.is_some() {
                prop_assert_eq!(rows(call), wanted, "{:?} of {:?}", call, told);
            }
            let truncated = call
                .sql
                .as_ref()
                .and_then(|s| s.statement.as_ref())
                .is_some_and(|s| s.truncated);
            if let Some(text) = text(call).filter(|_| !truncated) {
                prop_assert_eq!(call.outcome.is_error(), text.contains("missing"), "{:?} of {:?}", call, told);
            }
        }
    }

    #[test]
    fn any_bytes_do_no_harm(
        chunks in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(prop_oneof![0u8..6, any::<u8>()], 1..60), 0u32..20, 0u64..30),
            0..30,
        )
    ) {
        let mut events = vec![up(&query("select 0 from t"))];
        for (is_up, data, cut, gap) in chunks {
            let d = if is_up { UP } else { DOWN };
            events.push(if cut > 15 { Cut(d, data, cut) } else { Bytes(d, data) });
            if gap > 25 {
                events.push(Gap(d, gap));
            }
        }
        for call in &joined(&events, Close::Finished).calls {
            prop_assert!(call.request_first.is_some() || call.response_first.is_some());
            prop_assert!(!call.is_complete() || call.wait_ns().is_some());
        }
    }
}
