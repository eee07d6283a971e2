//! Conversations at random: any segmentation gives the same calls, no hole or cut makes pairs that are not there, no
//! bytes hurt.

use super::messages::{
    answer, bind, complete, description, error, execute, message, parse, query, ready, row,
    startup, sync, welcome,
};
use super::{rows, run, snapped};
use crate::kit::{Bytes, DOWN, Event, Gap, Pause, UP, down, frames, up};
use model::{Call, Close, Direction, Field, Outcome};
use proptest::prelude::*;

/// One cycle of a client, what the server answers, and how many calls that is.
fn exchange(kind: u8, n: usize) -> (Vec<u8>, Vec<u8>, usize) {
    let text = format!("select {n}");
    let tag = complete(&format!("SELECT {n}"));
    let rows: Vec<u8> = (0..n).flat_map(|_| row(&text)).collect();
    let steps = [message(b'1', b""), message(b'2', b"")].concat();
    match kind {
        0 => (query(&text), answer(n), 1),
        1 => (
            [
                parse("", &text),
                bind("", ""),
                message(b'D', b"P\0"),
                execute("", 0),
                sync(),
            ]
            .concat(),
            [steps, description(), rows, tag, ready()].concat(),
            1,
        ),
        2 => (query("selekt"), [error("42601"), ready()].concat(), 1),
        3 => {
            let one = [parse("", &text), bind("", ""), execute("", 0)].concat();
            let done = [steps, rows, tag].concat();
            (
                [one.clone(), one, sync()].concat(),
                [done.clone(), done, ready()].concat(),
                2,
            )
        }
        _ => (
            [parse("s", &text), message(b'D', b"Ss\0"), sync()].concat(),
            [
                message(b'1', b""),
                message(b't', b"\0\0"),
                description(),
                ready(),
            ]
            .concat(),
            1,
        ),
    }
}

pub(super) fn pieces(d: Direction, bytes: &[u8], size: usize) -> Vec<Event> {
    bytes
        .chunks(size.max(1))
        .map(|c| Bytes(d, c.to_vec()))
        .collect()
}

/// A conversation, so many requests ahead; each packet carries how far it goes.
pub(super) fn conversation(
    kinds: &[(u8, usize)],
    ahead: usize,
    size: usize,
) -> (Vec<Event>, usize) {
    let mut events = vec![startup(), welcome()];
    let mut count = 1;
    for group in kinds.chunks(ahead) {
        let all: Vec<_> = group.iter().map(|&(kind, n)| exchange(kind, n)).collect();
        for (request, _, calls) in &all {
            events.extend(pieces(UP, request, size));
            count += calls;
        }
        for (_, reply, _) in &all {
            events.extend(pieces(DOWN, reply, size));
        }
    }
    (events, count)
}

/// What does not depend on packets.
pub(super) fn gist(calls: &[Call]) -> Vec<(u32, String, Outcome, u64, u64, Option<u64>)> {
    let of = calls.iter();
    of.map(|c| {
        let detail = format!("{} {:?}", c.op, c.detail.get(Field::Statement));
        (
            c.request_sequence,
            detail,
            c.outcome,
            c.request_bytes,
            c.response_bytes,
            rows(c),
        )
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_segmentation_gives_the_same_calls(
        kinds in prop::collection::vec((0u8..5, 0usize..30), 1..20),
        ahead in 1usize..4,
        size in 1usize..60,
    ) {
        let (whole, count) = conversation(&kinds, ahead, usize::MAX);
        let (split, _) = conversation(&kinds, ahead, size);
        let expected = run(&whole, Close::Finished, true);
        prop_assert_eq!(expected.len(), count);
        prop_assert!(expected.iter().all(|c| c.is_complete()));
        prop_assert_eq!(gist(&run(&split, Close::Finished, true)), gist(&expected));
    }

    #[test]
    fn holes_make_no_pairs_that_are_not_there(
        kinds in prop::collection::vec((0u8..5, 0usize..30), 1..30),
        ahead in 1usize..4,
        size in 40usize..600,
        lost in prop::collection::vec(0usize..200, 1..4),
    ) {
        let (whole, _) = conversation(&kinds, ahead, size);
        let truth = run(&whole, Close::Finished, true);
        let mut holed = whole.clone();
        for &i in &lost {
            // The first exchange stays, so that it is known what is spoken.
            if let Some(event @ Bytes(..)) = holed.get_mut(2 + i)
                && let Bytes(d, bytes) = event.clone()
            {
                *event = Gap(d, bytes.len() as u64);
            }
        }
        for call in run(&holed, Close::Finished, true).iter().filter(|c| c.is_complete()) {
            let same = truth.iter().find(|t| t.request_sequence == call.request_sequence);
            prop_assert!(same.is_some(), "no such request: {:?}", call);
            let same = same.unwrap();
            prop_assert_eq!(frames(call)[2], frames(same)[2], "begins elsewhere");
            prop_assert_eq!(frames(call)[3], frames(same)[3], "ends elsewhere");
        }
    }

    #[test]
    fn cuts_make_no_pairs_that_are_not_there(
        kinds in prop::collection::vec((0u8..5, 0usize..30), 1..30),
        ahead in 1usize..4,
        size in 100usize..1500,
        snap in 30usize..200,
    ) {
        // That the client does not wait can only be known by what was seen of it before.
        let kinds = [&[(0, 1); 8][..], &kinds].concat();
        let (whole, _) = conversation(&kinds, ahead, size);
        let (first, _) = conversation(&kinds[..8 / ahead * ahead], ahead, size);
        let truth = run(&whole, Close::Finished, true);
        let cut: Vec<Event> = whole.iter().enumerate().map(|(i, e)| match e {
            Bytes(d, bytes) if i >= first.len() && bytes.len() > snap => snapped(*d, bytes, snap),
            other => other.clone(),
        }).collect();
        for call in run(&cut, Close::Finished, true).iter().filter(|c| c.is_complete()) {
            // Where the client sends on within a cycle, all of it may be one call.
            let same = truth.iter().find(|t| t.request_sequence == call.request_sequence);
            prop_assert!(same.is_some(), "no such request: {:?}", call);
            prop_assert_eq!(frames(call)[2], frames(same.unwrap())[2], "begins elsewhere");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        pieces in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(any::<u8>(), 0..80), 0u8..12, any::<u16>()), 0..40),
    ) {
        let mut events = vec![startup(), welcome()];
        for (is_up, bytes, kind, n) in pieces {
            let d = if is_up { UP } else { DOWN };
            let tags = b"QPBDECSHFXdcfpRKZTDC12nsIGHWEAN";
            let tag = tags[usize::from(n) % tags.len()];
            events.push(match kind {
                0 => Gap(d, u64::from(n) + 1),
                1 => snapped(d, &[message(tag, &bytes), vec![0; usize::from(n)]].concat(), bytes.len()),
                2 => Bytes(d, bytes),
                3 => Pause(2_000),
                4 => down(&ready()),
                5 => up(&sync()),
                _ => Bytes(d, message(tag, &bytes)),
            });
        }
        for end in [Close::Finished, Close::EndOfCapture] {
            for call in run(&events, end, true) {
                let marks = frames(&call);
                prop_assert!(!call.is_complete() || marks.iter().all(Option::is_some));
            }
        }
    }
}
