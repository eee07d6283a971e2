//! A toy protocol of frames `magic, id, length, body`, to see what the driver makes of any way in
//! which its bytes may come.

use super::*;
use crate::kit::{Cut, Event, Gap, Told, UP, opened, tell};
use crate::session::Kept;
use crate::{Output, Shared};
use model::{Close, Problems, Time};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const MAGIC: u8 = 0xa5;
/// In its place: what comes with it is not looked at.
const SKIP: u8 = 0x5a;
/// Magic number, id, two bytes of length.
const HEADER: usize = 4;

/// What a session was told of a frame: id, first and last frame number, bytes, end missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    id: u8,
    first: u32,
    last: u32,
    bytes: u64,
    end_missing: bool,
}

#[derive(Default, Debug)]
struct Log {
    frames: Vec<Seen>,
    longest_shown: usize,
    /// Frame number and length of what was skipped.
    skipped: Vec<(u32, u64)>,
    holes: Vec<Hole>,
}

/// The toy's session. Headers end with a checksum-like rule: an id is never 0 and bodies are zeros.
struct Toy {
    passing: Option<u8>,
    log: Arc<Mutex<Log>>,
}

fn header(bytes: &[u8]) -> Option<(u8, u16)> {
    match bytes {
        [MAGIC, id, high, low, ..] if *id != 0 => Some((*id, u16::from_be_bytes([*high, *low]))),
        _ => None,
    }
}

impl Toy {
    fn saw(&mut self, span: &Span) {
        if let Some(id) = self.passing.take() {
            self.log.lock().unwrap().frames.push(Seen {
                id,
                first: span.first.packet.frame,
                last: span.last.packet.frame,
                bytes: span.bytes,
                end_missing: span.end_missing,
            });
        }
    }
}

impl Session for Toy {
    fn step(&mut self, _: &mut Context<'_>, _: Direction, bytes: &[u8], more: More) -> Step {
        let mut log = self.log.lock().unwrap();
        log.longest_shown = log.longest_shown.max(bytes.len());
        if bytes.len() < HEADER && more == More::Yes {
            return Step::Need(HEADER);
        }
        if bytes.first() == Some(&SKIP) {
            return Step::Skip;
        }
        match header(bytes) {
            Some((id, length)) => {
                self.passing = Some(id);
                Step::End(HEADER as u64 + u64::from(length))
            }
            None => Step::Lost,
        }
    }

    fn complete(&mut self, _: &mut Context<'_>, _: Direction, span: &Span) {
        self.saw(span);
    }

    fn resync(
        &mut self,
        _: &mut Context<'_>,
        _: Direction,
        bytes: &[u8],
        _: bool,
        _: u64,
    ) -> Option<usize> {
        bytes.windows(HEADER).position(|w| header(w).is_some())
    }

    fn abandon(&mut self, _: &mut Context<'_>, _: Direction, span: Option<Span>, _: Option<Close>) {
        if let Some(mut span) = span {
            span.end_missing = true;
            self.saw(&span);
        }
        self.passing = None;
    }

    fn skipped(&mut self, _: &mut Context<'_>, _: Direction, run: &Run) {
        let mut log = self.log.lock().unwrap();
        log.skipped.push((run.mark.packet.frame, run.length));
    }

    fn hole(&mut self, _: Direction, hole: Hole, _: Time) {
        self.log.lock().unwrap().holes.push(hole);
    }

    fn datagram(&mut self, _: &mut Context<'_>, _: Direction, _: &[u8], _: Span) {}
    fn kept(&self) -> Kept {
        Kept::default()
    }

    fn close(&mut self, _: &mut Context<'_>, _: Close) {}
}

/// Feeds the events to a new driver.
fn run(events: &[Event]) -> Log {
    let log = Arc::new(Mutex::new(Log::default()));
    let mut driver = Driver::new(Box::new(Toy {
        passing: None,
        log: Arc::clone(&log),
    }));
    let info = opened(1);
    let (mut output, mut problems) = (Output::default(), Problems::default());
    let mut shared = Shared::default();
    let mut with = |(order, now), f: &mut dyn FnMut(&mut Context<'_>)| {
        f(&mut Context {
            connection: &info,
            output: &mut output,
            problems: &mut problems,
            shared: &mut shared,
            order,
            now,
        });
    };
    let (order, _) = tell(events, |d, at, told| {
        with(at, &mut |cx| match &told {
            Told::Chunk(chunk) => drop(driver.data(cx, d, chunk)),
            Told::Gap(length) => driver.gap(cx, d, *length),
        });
        let held = driver.lanes.to_server.held.len();
        assert!(held <= limits::HEAD_BYTES, "{held} bytes held");
    });
    with((order, Time(i64::MAX)), &mut |cx| {
        driver.close(cx, Close::EndOfCapture)
    });
    drop(driver);
    Arc::into_inner(log).unwrap().into_inner().unwrap()
}

fn frame(id: u8, length: u16) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    let mut bytes = vec![MAGIC, id, high, low];
    bytes.resize(HEADER + usize::from(length), 0);
    bytes
}

fn data(bytes: &[u8]) -> Event {
    Cut(UP, bytes.to_vec(), 0)
}

fn ids(log: &Log) -> Vec<u8> {
    log.frames.iter().map(|f| f.id).collect()
}

/// Frames with ids from 1, and their stream cut into segments.
fn segmented() -> impl Strategy<Value = (Vec<u16>, Vec<usize>)> {
    (
        prop::collection::vec(0u16..300, 1..20),
        prop::collection::vec(1usize..400, 1..60),
    )
}

/// The stream of the frames of these lengths, and where each starts.
fn stream(lengths: &[u16]) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    for (i, &length) in lengths.iter().enumerate() {
        starts.push(bytes.len());
        bytes.extend(frame(i as u8 + 1, length));
    }
    (bytes, starts)
}

/// Cuts `bytes` into pieces of these sizes, over and over.
fn pieces<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for size in sizes.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at((*size).min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

#[test]
fn what_is_skipped_is_told_at_once_and_the_next_packet_looked_at() {
    let frame = [MAGIC, 7, 0, 0];
    let log = run(&[
        Cut(UP, frame.to_vec(), 0),
        // Behind a frame in its packet; with what was held back of it; with what was cut off it.
        Cut(UP, [&frame[..], &[SKIP, 0, 0, 0, 0]].concat(), 0),
        Cut(UP, vec![SKIP, 1], 0),
        Cut(UP, vec![0; 9], 0),
        Cut(UP, vec![SKIP, 0, 0, 0], 30),
        Gap(UP, 50),
        Cut(UP, frame.to_vec(), 0),
    ]);
    let frames: Vec<_> = log.frames.iter().map(|f| (f.id, f.first)).collect();
    assert_eq!(frames, [(7, 1), (7, 2), (7, 7)]);
    assert_eq!(
        log.skipped,
        [(2, 5), (3, 2), (4, 2), (4, 7), (5, 4), (5, 30)]
    );
    assert_eq!(log.holes, [Hole::Cut, Hole::Gap]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_segmentation_gives_the_same_frames((lengths, sizes) in segmented()) {
        let (bytes, starts) = stream(&lengths);
        let parts = pieces(&bytes, &sizes);
        // The number of the packet that holds a byte of the stream.
        let packet = |at: usize| {
            let mut end = 0;
            let ends = parts.iter().map(|p| { end += p.len(); end });
            ends.take_while(|&end| end <= at).count() as u32 + 1
        };
        let expected: Vec<Seen> = starts
            .iter()
            .zip(&lengths)
            .enumerate()
            .map(|(i, (&start, &length))| Seen {
                id: i as u8 + 1,
                first: packet(start),
                last: packet(start + HEADER + usize::from(length) - 1),
                bytes: HEADER as u64 + u64::from(length),
                end_missing: false,
            })
            .collect();
        let log = run(&parts.iter().map(|p| data(p)).collect::<Vec<_>>());
        prop_assert_eq!(&log.frames, &expected);
        prop_assert!(log.holes.is_empty());
    }

    #[test]
    fn cuts_and_gaps_lose_only_frames_that_start_in_them(
        (lengths, sizes) in segmented(),
        fates in prop::collection::vec(0u8..10, 60),
    ) {
        let (bytes, starts) = stream(&lengths);
        let mut seen = vec![true; bytes.len()];
        let mut parts = Vec::new();
        let mut at = 0;
        for (piece, fate) in pieces(&bytes, &sizes).iter().zip(fates.iter().cycle()) {
            let keep = match fate {
                0 => 0,
                1 => piece.len() / 2,
                _ => piece.len(),
            };
            seen[at + keep..at + piece.len()].fill(false);
            at += piece.len();
            parts.push(match keep {
                0 => Gap(UP, piece.len() as u64),
                _ => Cut(UP, piece[..keep].to_vec(), (piece.len() - keep) as u32),
            });
        }
        let log = run(&parts);
        // A frame may be told of if its header was captured, and must be if all before it was too.
        let found = ids(&log);
        let mut in_order = found.clone();
        in_order.sort_unstable();
        in_order.dedup();
        prop_assert_eq!(&found, &in_order);
        let mut unbroken = true;
        for (i, &start) in starts.iter().enumerate() {
            let whole_header = seen[start..start + HEADER].iter().all(|&s| s);
            let id = i as u8 + 1;
            unbroken &= whole_header;
            prop_assert!(whole_header || !found.contains(&id), "{} was never seen", id);
            prop_assert!(!unbroken || found.contains(&id), "{} was lost", id);
        }
    }

    #[test]
    fn garbage_neither_panics_nor_fills_memory(
        parts in prop::collection::vec(
            prop_oneof![
                (prop::collection::vec(prop_oneof![Just(MAGIC), any::<u8>()], 0..80), 0u32..9)
                    .prop_map(|(d, cut)| Cut(UP, d, cut)),
                (1u64..1000).prop_map(|n| Gap(UP, n)),
            ],
            0..40,
        )
    ) {
        let log = run(&parts);
        prop_assert!(log.longest_shown <= 80 + SEAM);
    }
}

#[test]
fn a_gap_inside_a_body_keeps_position() {
    let stream = [frame(1, 100), frame(2, 10)].concat();
    let log = run(&[data(&stream[..50]), Gap(UP, 20), data(&stream[70..])]);
    let first = log.frames[0];
    assert_eq!((first.bytes, first.first, first.last), (104, 1, 3));
    assert!(!first.end_missing);
    assert_eq!(ids(&log), [1, 2]);
    assert!(log.holes.is_empty(), "no header can have been in that gap");
}

#[test]
fn a_gap_over_the_end_of_a_body_leaves_its_end_unknown() {
    let stream = [frame(1, 100), frame(2, 10)].concat();
    let log = run(&[data(&stream[..50]), Gap(UP, 54), data(&stream[104..])]);
    let first = log.frames[0];
    assert_eq!((first.bytes, first.last, first.end_missing), (104, 1, true));
    assert_eq!(ids(&log), [1, 2]);
    assert!(log.holes.is_empty());
}

#[test]
fn a_cut_body_ends_in_its_packet() {
    let log = run(&[
        Cut(UP, frame(1, 100)[..20].to_vec(), 40),
        Cut(UP, frame(1, 100)[60..70].to_vec(), 34),
        data(&frame(2, 0)),
    ]);
    let first = log.frames[0];
    assert_eq!((first.first, first.last, first.bytes), (1, 2, 104));
    assert!(!first.end_missing);
    assert_eq!(ids(&log), [1, 2]);
}

#[test]
fn a_cut_that_hides_a_header_is_told_and_the_next_header_found() {
    let log = run(&[Cut(UP, frame(1, 10), 30), data(&[0; 9]), data(&frame(3, 5))]);
    assert_eq!(ids(&log), [1, 3]);
    assert_eq!(log.holes, [Hole::Cut]);
}

#[test]
fn a_header_over_the_border_of_two_chunks_is_found_while_lost() {
    let bytes = [vec![0; 30], frame(7, 20), frame(8, 0)].concat();
    for border in 1..bytes.len() {
        let log = run(&[data(&bytes[..border]), data(&bytes[border..])]);
        assert_eq!(ids(&log), [7, 8], "border at {border}");
        let first = if border > 30 { 1 } else { 2 };
        assert_eq!(log.frames[0].first, first, "border at {border}");
    }
}

#[test]
fn a_header_is_not_made_of_bytes_from_both_sides_of_a_gap() {
    let log = run(&[data(&[0, MAGIC, 1]), Gap(UP, 100), data(&[0, 0, 0])]);
    assert_eq!(ids(&log), []);
}
