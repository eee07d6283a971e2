//! Made-up runs, into what must be said of them.

use super::Kept;
use super::blocks::{Blocks, Sums};
use super::gather::Parts;
use super::result::{Comparison, Outcome, Unit};
use super::saved::{self, Unreadable};
use super::snapshot::{
    AccountLine, CallSums, SavedCapture, SavedFinding, Snapshot, Subject, WireGroup, WireSums,
    WireTotals,
};
use crate::diagnose::Kind;
use crate::facts::Basis;
use crate::findings::Rule;
use crate::results::{Side, Vantage};
use crate::stats::Distribution;
use model::{Direction, Time, TimeClass};
use proptest::prelude::*;

const US: i64 = 1_000;
const MS: i64 = 1_000_000;

/// A run of calls, one each 10 ms, and what each takes: in the server, on the path, held up.
#[derive(Clone, Copy, Debug)]
struct Made {
    calls: i64,
    bytes: u64,
    server_ns: i64,
    path_ns: i64,
    held_ns: i64,
    /// Up to so much more, otherwise in each call.
    noise_ns: i64,
    seed: u64,
}

const PLAIN: Made = Made {
    calls: 1_000,
    bytes: 8_000,
    server_ns: MS,
    path_ns: MS,
    held_ns: 0,
    noise_ns: 300 * US,
    seed: 1,
};

impl Made {
    fn run(self) -> Snapshot {
        let mut parts = Parts::default();
        parts.blocks.begin(Time(0));
        let mut noise = self.seed;
        let (mut server, mut all) = (0, 0);
        for i in 0..self.calls {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let own = self.server_ns + (noise >> 33) as i64 % self.noise_ns.max(1);
            let first = Time(i * 10 * MS);
            let took = own + self.path_ns + self.held_ns;
            parts.call(
                (first, first + took),
                own,
                self.path_ns,
                [100, self.bytes - 100],
            );
            server += own;
            all += took;
        }
        let waited = AccountLine::Waited(Direction::ToServer, TimeClass::SmallWindow);
        Snapshot {
            captures: vec![
                SavedCapture {
                    files: vec!["a.pcap".into()],
                    side: Some(Vantage::Client),
                    packets: 2,
                    bytes: 2,
                    first: None,
                    last: None,
                    incomplete: false,
                    damaged: false,
                };
                2
            ],
            kind: Kind::Calls,
            basis: Basis::Matched,
            vantage: Some(Vantage::Client),
            verdict: String::new(),
            findings: Vec::new(),
            calls: self.calls as u64,
            total_ns: all,
            elapsed_ns: self.calls * 10 * MS,
            lines: vec![
                (AccountLine::Service, server),
                (AccountLine::Path, self.path_ns * self.calls),
                (waited, self.held_ns * self.calls),
            ],
            parts: parts.blocks,
            progress: Default::default(),
            wire: Default::default(),
            groups: Vec::new(),
            sums: subject(self.calls as u64).blocks.total(),
            subjects: vec![subject(self.calls as u64)],
            fast_enough_ns: 2 * MS,
            tail_ns: 20 * MS,
        }
    }
}

/// A run like any other.
pub(super) fn plain() -> Snapshot {
    PLAIN.run()
}

/// READs that take 1 to 5 ms.
fn subject(calls: u64) -> Subject {
    let mut blocks = Blocks::<CallSums>::default();
    let mut times = Distribution::default();
    for i in 0..calls as i64 {
        let took = MS * (1 + i % 5);
        times.add(took);
        let block = blocks.at(Time(i * 10 * MS)).expect("a block");
        block.calls += 1;
        block.time_ns += took;
    }
    Subject {
        protocol: model::Protocol::Nfs3,
        op: "READ".into(),
        statement: None,
        max_ns: times.max_ns(),
        curve: times.sparse(),
        blocks,
    }
}

fn compare(a: &Snapshot, b: &Snapshot) -> Comparison {
    super::compare(&a.clone().into(), &b.clone().into())
}

fn compared(a: Made, b: Made) -> Comparison {
    compare(&a.run(), &b.run())
}

#[test]
fn what_was_added_is_named_with_its_seconds() {
    for (change, rule) in [
        (
            Made {
                server_ns: 5 * MS,
                ..PLAIN
            },
            Rule::ServerSlow,
        ),
        (
            Made {
                path_ns: 5 * MS,
                ..PLAIN
            },
            Rule::NetworkDelay,
        ),
        (
            Made {
                held_ns: 4 * MS,
                ..PLAIN
            },
            Rule::SmallWindow,
        ),
    ] {
        let c = compared(PLAIN, Made { seed: 2, ..change });
        assert_eq!((c.outcome, c.cause), (Outcome::Slower, Some(rule)));
        let seconds = c.added_ns as f64 / 1e9;
        assert!((3.9..4.1).contains(&seconds), "{rule:?}: {seconds}");
        assert!(
            c.sentence.to_string().contains("added seconds"),
            "{}",
            c.sentence
        );
    }
}

#[test]
fn unequal_volumes_are_compared_per_call() {
    let c = compared(
        PLAIN,
        Made {
            calls: 300,
            seed: 2,
            ..PLAIN
        },
    );
    assert_eq!((c.outcome, c.unit), (Outcome::NoDifference, Unit::Call));
    assert!(
        c.notes
            .iter()
            .any(|n| n.to_string().contains("compared per call")),
        "{:?}",
        c.notes
    );
}

#[test]
fn calls_that_carry_less_cost_more_a_byte() {
    let small = Made {
        calls: 2_000,
        bytes: 1_000,
        seed: 2,
        ..PLAIN
    };
    let c = compared(PLAIN, small);
    assert_eq!((c.outcome, c.unit), (Outcome::Slower, Unit::Byte));
    assert_eq!(c.cause, Some(Rule::SmallFetch));
    // 250 of the 2,000 calls would have done, of some 2.15 ms each.
    let seconds = c.added_ns as f64 / 1e9;
    assert!((3.7..3.85).contains(&seconds), "{seconds}");
}

#[test]
fn runs_of_the_same_thing_are_no_different() {
    let differ = (0..40).filter(|i| {
        let other = |seed| Made {
            noise_ns: 2 * MS,
            seed,
            ..PLAIN
        };
        compared(other(2 * i + 1), other(2 * i + 2)).outcome != Outcome::NoDifference
    });
    assert_eq!(differ.count(), 0);
}

#[test]
fn a_run_is_no_different_from_itself() {
    let c = compared(PLAIN, PLAIN);
    assert_eq!((c.outcome, c.added_ns), (Outcome::NoDifference, 0));
}

#[test]
fn where_nothing_says_why_nobody_is_accused() {
    let mut run = Made {
        held_ns: 5 * MS,
        seed: 2,
        ..PLAIN
    }
    .run();
    for (line, _) in &mut run.lines {
        if matches!(line, AccountLine::Waited(..)) {
            *line = AccountLine::Unknown;
        }
    }
    let c = compare(&PLAIN.run(), &run);
    assert_eq!((c.outcome, c.cause), (Outcome::Slower, None));
    assert!(
        c.sentence.to_string().contains("do not say by what"),
        "{}",
        c.sentence
    );
}

#[test]
fn captures_of_different_ends_are_not_compared() {
    let mut alone = PLAIN.run();
    alone.captures.truncate(1);
    alone.vantage = Some(Vantage::Server);
    alone.basis = Basis::Server;
    let c = compare(&PLAIN.run(), &alone);
    assert_eq!(c.outcome, Outcome::NotComparable);
    assert!(c.causes.is_empty());
}

/// A run with calls of another operation as well, of 3 ms each.
fn with_others(mut run: Snapshot, calls: u64) -> Snapshot {
    let other = Subject {
        op: "WRITE".into(),
        ..subject(calls)
    };
    run.sums.add(&other.blocks.total());
    run.calls += calls;
    run.subjects.push(other);
    run
}

#[test]
fn of_different_work_that_is_compared_which_both_did() {
    let few = Made {
        calls: 300,
        ..PLAIN
    };
    for (others, outcome) in [
        (1_000, Outcome::NotComparable),
        // A quarter of it: the rest is compared, and not made slower by what is new.
        (100, Outcome::NoDifference),
    ] {
        let problem = with_others(few.run(), others);
        let c = compare(&PLAIN.run(), &problem);
        assert_eq!(c.outcome, outcome, "{}", c.sentence);
        let shared = c.shared.expect("READs");
        assert_eq!(shared.calls, [1_000, 300]);
        assert!(shared.time.difference().abs() < 1e-3, "{shared:?}");
        // 3 ms each.
        let words = match others {
            100 => "1 operation: 0.300 of its 1.20 seconds",
            _ => "1 operation: 3.00 of its 3.90 seconds",
        };
        assert!(c.sentence.to_string().contains(words), "{}", c.sentence);
    }
    // Little of it is not worth a word.
    let c = compare(&PLAIN.run(), &with_others(PLAIN.run(), 10));
    assert!(c.shared.is_none());
}

#[test]
fn each_operation_counts_as_often_as_in_the_problem() {
    let mix = |reads: u64, others: u64| {
        let run = Made {
            calls: reads as i64,
            ..PLAIN
        };
        let mut run = with_others(run.run(), others);
        for block in run.subjects.iter_mut().filter(|s| s.op == "WRITE") {
            block.blocks.each(|b| b.time_ns *= 10);
        }
        run
    };
    let mut problem = mix(200, 800);
    problem.subjects.push(Subject {
        op: "COMMIT".into(),
        ..subject(5_000)
    });
    let c = compare(&mix(800, 200), &problem);
    let shared = c.shared.expect("READs and WRITEs");
    // Neither takes longer: there are only more of the slow ones.
    assert!(shared.time.difference().abs() < 1.0, "{shared:?}");
    assert!((shared.time.problem - 24.6e6).abs() < 1.0, "{shared:?}");
}

#[test]
fn what_ends_work_from_another_side_is_a_difference() {
    let with = |side, fatal| {
        let mut run = PLAIN.run();
        run.findings.push(SavedFinding {
            rule: Rule::ConnectionReset,
            side,
            cost_ns: None,
            fatal,
        });
        run
    };
    let (server, network) = (with(Side::Server, true), with(Side::Network, true));
    let begins = |c: Comparison, words: &str| {
        assert_eq!(c.outcome, Outcome::NoDifference);
        assert!(c.sentence.to_string().starts_with(words), "{}", c.sentence);
    };
    begins(
        compare(&server, &network),
        "In the problem something on the way resets connections, which in the baseline the server's \
         host did (connection-reset; it ends work). Of its calls: No difference",
    );
    begins(compare(&server, &server), "No difference beyond chance");
    begins(
        compare(&PLAIN.run(), &network),
        "The problem alone has connection-reset (by something on the way; it ends work).",
    );
    begins(
        compare(&server, &PLAIN.run()),
        "The baseline alone has connection-reset (by the server's host; it ends work).",
    );
    begins(
        compare(&with(Side::Server, false), &PLAIN.run()),
        "No difference beyond chance",
    );
}

#[test]
fn a_run_of_both_ends_is_held_against_one_end_as_that_end_has_it() {
    let mut client = PLAIN.run();
    client.captures.truncate(1);
    client.basis = Basis::Client;
    let both = Kept {
        whole: Made {
            server_ns: 9 * MS,
            ..PLAIN
        }
        .run(),
        ends: vec![client.clone()],
        tiers: Vec::new(),
        layers: Vec::new(),
    };
    for c in [
        super::compare(&both, &client.clone().into()),
        super::compare(&client.clone().into(), &both),
    ] {
        assert_eq!((c.outcome, c.added_ns), (Outcome::NoDifference, 0));
        let said = c
            .notes
            .iter()
            .any(|n| n.to_string().contains("only the capture at the client"));
        assert!(said, "{:?}", c.notes);
        assert!(c.runs.iter().all(|r| r.captures.len() == 1));
    }
    // Without its end there is nothing to hold against a server's capture.
    let mut server = client;
    server.vantage = Some(Vantage::Server);
    server.basis = Basis::Server;
    let c = super::compare(&both, &server.into());
    assert_eq!(c.outcome, Outcome::NotComparable);
}

#[test]
fn a_run_without_calls_is_said_to_be_one() {
    let empty = Made { calls: 0, ..PLAIN }.run();
    let c = compare(&empty, &PLAIN.run());
    assert_eq!(c.outcome, Outcome::NotComparable);
    assert!(
        c.sentence.to_string().contains("baseline has no calls"),
        "{}",
        c.sentence
    );
}

#[test]
fn saved_runs_are_read_back_and_others_are_refused() {
    let run = PLAIN.run();
    let bytes = saved::save(&run.clone().into());
    assert!(saved::is_saved(&bytes));
    assert_eq!(saved::load(&bytes), Ok(run.into()));
    assert_eq!(
        saved::load(&bytes[..bytes.len() - 1]),
        Err(Unreadable::Damaged)
    );
    assert_eq!(saved::load(b"slowside.saved/5"), Err(Unreadable::Damaged));
    assert_eq!(saved::load(b"\xd4\xc3\xb2\xa1"), Err(Unreadable::Other));
    let other = b"slowside.saved/9\n....";
    assert_eq!(
        saved::load(other),
        Err(Unreadable::Version("slowside.saved/9".into()))
    );
}

proptest! {
    #[test]
    fn exchanged_runs_give_the_opposite(
        calls in 100i64..400, bytes in 1_000u64..60_000, server in 0i64..9 * MS, path in 0i64..9 * MS, held in 0i64..9 * MS,
    ) {
        let other = Made { calls, bytes, server_ns: server, path_ns: path, held_ns: held, noise_ns: MS, seed: 3 };
        let (there, back) = (compared(PLAIN, other), compared(other, PLAIN));
        let opposite = match there.outcome {
            Outcome::Slower => Outcome::Faster,
            Outcome::Faster => Outcome::Slower,
            same => same,
        };
        prop_assert_eq!(back.outcome, opposite);
        prop_assert_eq!(back.unit, there.unit);
        let (t, b) = (there.time.expect("calls"), back.time.expect("calls"));
        prop_assert_eq!(t.difference(), -b.difference());
        prop_assert_eq!(t.interval, b.interval.map(|(low, high)| (-high, -low)));
        let cause = |c: &Comparison| c.causes.first().map(|c| c.rule);
        prop_assert_eq!(cause(&there), cause(&back));
    }

    #[test]
    fn causes_add_up_to_the_difference(
        calls in 100i64..400, bytes in 1_000u64..60_000, server in 0i64..9 * MS, path in 0i64..9 * MS, held in 0i64..9 * MS,
    ) {
        let other = Made { calls, bytes, server_ns: server, path_ns: path, held_ns: held, noise_ns: MS, seed: 3 };
        let c = compared(PLAIN, other);
        let sum: i64 = c.causes.iter().map(|c| c.added_ns).sum();
        // What is little is left out.
        prop_assert!((sum - c.added_ns).abs() <= c.added_ns.abs() / 20 + 1_000, "{} {}", sum, c.added_ns);
    }

    #[test]
    fn a_saved_run_that_was_changed_does_no_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut file = saved::save(&Made { calls: 60, ..PLAIN }.run().into());
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(run) = saved::load(&file) {
            let _ = super::compare(&run, &PLAIN.run().into());
            let _ = super::compare(&PLAIN.run().into(), &run);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = b"slowside.saved/5\n".to_vec();
        file.extend(bytes);
        if let Ok(run) = saved::load(&file) {
            let _ = super::compare(&run, &PLAIN.run().into());
        }
    }
}

/// A stream that nobody answers: 30 MB in writes of one size, each of which takes so long.
fn stream(write: u64, each_ns: i64) -> Snapshot {
    let bytes = 30_000_000;
    let writes = bytes / write;
    let mut progress = Blocks::<WireSums>::default();
    progress.begin(Time(0));
    for i in 0..writes as i64 {
        let block = progress.at(Time(i * each_ns)).expect("a block");
        block.payload_bytes += write;
    }
    let mut totals = WireTotals {
        payload_bytes: bytes,
        write_size_bytes: Some(write),
        writes,
        writes_of_that_size: writes,
        ..WireTotals::default()
    };
    totals.time_ns[TimeClass::SenderApplication] = each_ns * writes as i64;
    Snapshot {
        kind: Kind::Turns,
        basis: Basis::Streams,
        calls: 0,
        lines: Vec::new(),
        parts: Default::default(),
        progress,
        groups: vec![WireGroup {
            port: 1_521,
            protocol: None,
            connections: 1,
            lifetime_ns: each_ns * writes as i64,
            handshake_ns: None,
            handshake_back_ns: None,
            directions: [totals, WireTotals::default()],
        }],
        sums: CallSums::default(),
        subjects: Vec::new(),
        ..PLAIN.run()
    }
}

#[test]
fn streams_are_compared_by_what_went_by_for_each_byte() {
    let small = compare(&stream(64_000, 3 * MS), &stream(8_156, MS));
    assert_eq!((small.outcome, small.unit), (Outcome::Slower, Unit::Byte));
    assert_eq!(small.cause, Some(Rule::SmallWrites));
    let words = "added seconds: writes of 8,156 bytes instead of 64,000, client to server.";
    assert!(
        small.sentence.to_string().contains(words),
        "{}",
        small.sentence
    );
    // Fewer writes spare it again.
    let large = compare(&stream(8_156, MS), &stream(64_000, 3 * MS));
    assert_eq!(
        (large.outcome, large.cause),
        (Outcome::Faster, Some(Rule::SmallWrites))
    );
    let slow = compare(&stream(64_000, 3 * MS), &stream(64_000, 9 * MS));
    assert_eq!(slow.cause, Some(Rule::SenderApplicationLimited));
    let same = compare(&stream(64_000, 3 * MS), &stream(64_000, 3 * MS));
    assert_eq!(same.outcome, Outcome::NoDifference);
}

#[test]
fn what_each_write_takes_longer_is_not_its_size_s() {
    // Twice as many, each of which takes three times as long.
    let c = compare(&stream(16_000, MS), &stream(8_000, 3 * MS));
    let by_size = c.causes.iter().find(|c| c.rule == Some(Rule::SmallWrites));
    let added = by_size.map_or(0, |c| c.added_ns);
    assert!((added as f64 / 1.875e9 - 1.0).abs() < 0.02, "{added}");
    assert_eq!(c.cause, Some(Rule::SenderApplicationLimited));
}
