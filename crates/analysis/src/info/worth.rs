//! What a capture is worth for a verdict: what it lacks, what that limits, and what to do better.
//!
//! Each limit says what cannot be known without it, so that nobody takes what is missing for what is
//! fine. The weights are those of a diagnosis: what leaves no calls or hides a direction leaves no
//! verdict; what hides a part of the calls or of the windows leaves one with doubts.

use super::InfoResult;
use crate::health::Meaning;
use crate::text::{Text, Value, text};

/// How much a limit matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    /// No verdict can be trusted.
    Prevents,
    /// There is one, but not on everything.
    Limits,
    /// Worth knowing; it is allowed for.
    Note,
}

impl Weight {
    /// The name in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Weight::Prevents => "prevents",
            Weight::Limits => "limits",
            Weight::Note => "note",
        }
    }
}

/// Something that the capture lacks.
#[derive(Clone, PartialEq, Debug)]
pub struct Limit {
    /// A kebab-case word.
    pub code: &'static str,
    pub weight: Weight,
    /// What it is, and what that limits: a sentence.
    pub says: Text,
    /// What to do better; empty where nothing has to be.
    pub cure: &'static str,
}

/// The answer.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Worth {
    /// By weight, most first.
    pub limits: Vec<Limit>,
    /// Whether it is good enough for a verdict, and why not, in a sentence or two.
    pub sentence: Text,
}

impl Worth {
    /// `good`, `limited` or `poor`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.limits.first().map(|l| l.weight) {
            Some(Weight::Prevents) => "poor",
            Some(Weight::Limits) => "limited",
            _ => "good",
        }
    }
}

/// Fewer whole calls than this say little about a tail, and a glance is not a minute.
const FEW_CALLS: u64 = 50;
const SHORT_NS: i64 = 1_000_000_000;

pub(super) fn of(info: &InfoResult) -> Worth {
    let mut limits = Limits::default();
    content(info, &mut limits);
    if info.total.packets > 0 {
        losses(info, &mut limits);
        cuts(info, &mut limits);
        openings(info, &mut limits);
        times(info, &mut limits);
        artefacts(info, &mut limits);
    }
    let mut limits = limits.0;
    limits.sort_by_key(|l| l.weight);
    Worth {
        sentence: sentence(info, &limits),
        limits,
    }
}

fn sentence(info: &InfoResult, limits: &[Limit]) -> Text {
    let calls: u64 = info.spoken.iter().map(|(_, s)| s.whole).sum();
    match limits.first() {
        Some(first) if first.weight == Weight::Prevents => text!(
            "NOT good enough for a verdict. {why}",
            why = first.says.clone()
        ),
        Some(first) if first.weight == Weight::Limits => text!(
            "Good enough for a verdict, with limits. {why}{more}",
            why = first.says.clone(),
            more = match limits.iter().filter(|l| l.weight == Weight::Limits).count() {
                1 => "",
                2 => " And one more limit below.",
                _ => " And more limits below.",
            },
        ),
        _ => text!(
            "Good enough for a verdict: {calls,} whole call{calls||s} in {duration}.",
            calls = calls,
            duration = Value::Duration(info.duration_ns()),
        ),
    }
}

#[derive(Default)]
struct Limits(Vec<Limit>);

impl Limits {
    fn add(
        &mut self,
        code: &'static str,
        weight: Weight,
        says: impl Into<Text>,
        cure: &'static str,
    ) {
        self.0.push(Limit {
            code,
            weight,
            says: says.into(),
            cure,
        });
    }
}

/// Parts per hundred, where there is a whole.
fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => 100.0 * part as f64 / whole as f64,
    }
}

/// Whether there is anything to judge.
fn content(info: &InfoResult, limits: &mut Limits) {
    let n = &info.connections;
    let calls: u64 = info.spoken.iter().map(|(_, s)| s.whole).sum();
    if info.total.packets == 0 {
        let says = "It holds no packets.";
        let cure = "Check interface and filter: `ip route get SERVER` names the interface.";
        limits.add("no-packets", Weight::Prevents, says, cure);
    } else if n.with_data == 0 && calls == 0 {
        let says = "It holds no connection with data and no call: nobody's time can be judged.";
        let cure = "Capture the host's traffic to the server in question; on a switch, a mirror of \
                    its port (a host on another VLAN sees only broadcasts).";
        limits.add("nothing-to-judge", Weight::Prevents, says, cure);
    } else if calls == 0 {
        let says = "No call has both its request and its response in it: response times are \
                    unknown, only TCP's part is known.";
        let cure = "Capture longer than the slowest call, whole packets, and both directions.";
        limits.add("no-whole-calls", Weight::Limits, says, cure);
    } else if calls < FEW_CALLS {
        let says = text!(
            "It holds {calls,} whole call{calls||s}: means are rough, and of rare slow calls nothing is known.",
            calls = calls
        );
        let cure = "Capture thirty seconds or more of the slow period.";
        limits.add("few-calls", Weight::Note, says, cure);
    }
    if n.one_sided > 0 {
        let share = percent(n.one_sided, n.with_data);
        let says = text!(
            "Of {one_sided,} of {all,} TCP connection{all||s} with data only one direction is in it: requests and responses cannot be paired there.",
            one_sided = n.one_sided,
            all = n.with_data,
        );
        let cure = "Mirror both directions of the port, or capture on the host itself; look for a \
                    second path (asymmetric routing, bonding).";
        let weight = match share >= 50.0 {
            true => Weight::Prevents,
            false => Weight::Limits,
        };
        limits.add("one-sided", weight, says, cure);
    }
}

/// Packets that should be there.
fn losses(info: &InfoResult, limits: &mut Limits) {
    let Some(capture) = info.captures.first() else {
        return;
    };
    const BUFFER: &str = "Give the capture a larger buffer (dumpcap -B 256), a snap length (-s 512) or \
                          a filter, and write to a fast local disk.";
    if capture.missing_bytes > 0 {
        let bytes = capture.missing_bytes;
        let share = percent(bytes, bytes + info.connections.payload_bytes);
        let says = text!(
            "{bytes} ({share}) in {gaps,} gap{gaps||s} were acknowledged but are not in it: the capture lost them, and calls in them are not known.",
            bytes = Value::Bytes(bytes),
            share = Value::Share(share, 2),
            gaps = capture.missing_gaps,
        );
        let weight = match share {
            share if share >= 20.0 => Weight::Prevents,
            share if share >= 0.1 => Weight::Limits,
            _ => Weight::Note,
        };
        limits.add("packets-missing", weight, says, BUFFER);
    }
    match capture.dropped {
        Some(0) => {}
        Some(dropped) => {
            let share = percent(dropped, dropped + info.total.packets);
            let says = text!(
                "The capturing host says it dropped {dropped,} packet{dropped||s} ({share}): what is missing is not loss on the network.",
                dropped = dropped,
                share = Value::Share(share, 2),
            );
            let weight = match share >= 0.1 {
                true => Weight::Limits,
                false => Weight::Note,
            };
            limits.add("packets-dropped", weight, says, BUFFER);
        }
        None => {
            let says = "The files do not say whether packets were dropped: it shows only where TCP \
                        acknowledges what is not there.";
            let cure = "dumpcap writes pcapng with its drop counters.";
            limits.add("drops-unknown", Weight::Note, says, cure);
        }
    }
    if capture.problems.any_damage() {
        let says = "A part of it could not be read (below): what stood there is not known.";
        let cure = "Copy the files anew (binary), and end the capture before copying.";
        limits.add("damaged", Weight::Limits, says, cure);
    }
}

/// What the snap length took.
fn cuts(info: &InfoResult, limits: &mut Limits) {
    if info.cut_packets == 0 {
        return;
    }
    let Some(capture) = info.captures.first() else {
        return;
    };
    let untold = capture
        .problems
        .iter()
        .find(|(kind, _)| *kind == model::HEADERS_CUT);
    let untold = untold.map_or(0, |(_, problem)| problem.count);
    let hidden = |reason: &&(&str, u64)| reason.0.ends_with("/snap-length");
    let hidden: u64 = capture.half_calls.iter().filter(hidden).map(|h| h.1).sum();
    let snaplen = capture
        .snaplen
        .map_or_else(Text::default, |s| text!(" to {snaplen} bytes", snaplen = s));
    let cut = text!(
        "{cut,} of {all,} packet{all||s} {cut|is|are} cut{snaplen}",
        cut = info.cut_packets,
        all = info.total.packets,
        snaplen = snaplen,
    );
    let calls = capture.calls;
    let (weight, says) = match percent(hidden, capture.calls) {
        share if share >= 50.0 => (
            Weight::Prevents,
            text!(
                "{cut}, which hides {hidden,} of {calls,} call{calls||s}.",
                cut = cut,
                hidden = hidden,
                calls = calls,
            ),
        ),
        share if share > 0.0 => (
            Weight::Limits,
            text!(
                "{cut}, which hides {hidden,} of {calls,} call{calls||s}: their times are not counted.",
                cut = cut,
                hidden = hidden,
                calls = calls,
            ),
        ),
        _ if untold > 0 => (
            Weight::Limits,
            text!(
                "{cut}, which cuts message headers off: what {untold,} connection{untold||s} speak{untold|s|} is not known.",
                cut = cut,
                untold = untold,
            ),
        ),
        _ => (
            Weight::Note,
            text!(
                "{cut}: statements and names behind that are not known, times are.",
                cut = cut
            ),
        ),
    };
    let cure = "Capture whole packets (-s 0) for a shorter time, or turn offload off meanwhile.";
    limits.add("packets-cut", weight, says, cure);
}

/// How connections begin.
fn openings(info: &InfoResult, limits: &mut Limits) {
    let n = &info.connections;
    let opened = n.tcp.saturating_sub(n.never_opened);
    let without = opened.saturating_sub(n.handshakes_scaled);
    if without == 0 {
        return;
    }
    let says = match n.handshakes_scaled {
        0 => "No TCP handshake is in it. Without handshakes windows cannot be scaled: bytes in flight \
              are known, limits are not; nor is it certain who is the client."
            .into(),
        _ => text!(
            "Of {without,} of {opened,} TCP connection{opened||s} the handshake is not in it. Without it windows cannot be scaled: bytes in flight are known, limits are not.",
            without = without,
            opened = opened,
        ),
    };
    let weight = match n.handshakes_scaled {
        0 => Weight::Limits,
        _ => Weight::Note,
    };
    let cure = "Start the capture before the application, or reconnect (remount) while it runs.";
    limits.add("no-handshakes", weight, says, cure);
}

/// What of the times is not to be believed.
fn times(info: &InfoResult, limits: &mut Limits) {
    let b = &info.backwards;
    if b.steps > 0 {
        let says = text!(
            "Time steps back by up to {largest} ({steps,} step{steps||s}): durations across a step are wrong.",
            largest = Value::Duration(b.largest_ns),
            steps = b.steps,
        );
        let cure = "Let the clock be slewed, not set (chrony's makestep off), while capturing; merge \
                    files by time (give them all to slowside).";
        limits.add("clock-steps", Weight::Limits, says, cure);
    } else if b.packets > 0 {
        let says = text!(
            "{packets,} packet{packets||s} {packets|is|are} out of time order, by {largest} at most: several queues or interfaces wrote them; differences below that mean nothing.",
            packets = b.packets,
            largest = Value::Duration(b.largest_ns),
        );
        limits.add("disorder", Weight::Note, says, "");
    }
    if let Some(s) = info.silences.iter().find(|s| s.between_files()) {
        let says = text!(
            "Between two of its files {silence} pass without a packet: either nobody spoke, or nobody captured.",
            silence = Value::Duration(s.ns)
        );
        let cure = "Rotate with one running program (dumpcap -b), not by starting it anew.";
        limits.add("silence-between-files", Weight::Note, says, cure);
    }
    if info.duration_ns() < SHORT_NS {
        let says = text!(
            "It covers {duration}: what comes and goes is not in it.",
            duration = Value::Duration(info.duration_ns())
        );
        let cure = "Capture thirty seconds or more of the slow period.";
        limits.add("short", Weight::Note, says, cure);
    }
}

/// What the point of capture adds and changes.
fn artefacts(info: &InfoResult, limits: &mut Limits) {
    let n = &info.connections;
    let duplicates = percent(n.duplicates, n.packets);
    if n.duplicates > 0 {
        let says = text!(
            "{n,} packet{n||s} ({share}) {n|is|are} in it twice, as mirror ports and `-i any` make them: the copies are left out, and are no retransmissions.",
            n = n.duplicates,
            share = Value::Share(duplicates, 1),
        );
        let cure = "Mirror one direction of each port, or name one interface.";
        limits.add("duplicates", Weight::Note, says, cure);
    }
    let (packets, what) = match (info.over_jumbo, info.over_ethernet) {
        (0, 0) => (0, ""),
        (0, n) => (
            n,
            "larger than Ethernet's 1,518: jumbo frames, or joined by offload",
        ),
        (n, _) => (n, "larger than any frame: joined by offload"),
    };
    if packets > 0 {
        let says = text!(
            "{packets,} packet{packets||s} of up to {largest} {packets|is|are} {what}. Numbers of segments, gaps between them and acknowledgements per segment are the host's, not the wire's.",
            packets = packets,
            largest = Value::Bytes(info.largest_bytes.into()),
            what = what,
        );
        let cure = "Where that matters, capture on a mirror port or tap.";
        limits.add("offload", Weight::Note, says, cure);
    }
    checksums(info, limits);
    let says = "One capture cannot tell the network from the host beyond it.";
    let cure = "Capture at the other end in the same minute too, and give slowside both.";
    limits.add("one-end", Weight::Note, says, cure);
}

/// Checksums that do not hold and are no errors.
fn checksums(info: &InfoResult, limits: &mut Limits) {
    for (meaning, code, says, cure) in [
        (
            Meaning::Offload,
            "checksum-offload",
            "left to their card: they were captured before it, or joined behind it. That is no error",
            "",
        ),
        (
            Meaning::Rewritten,
            "checksums-rewritten",
            "wrong though nothing of it was lost, or for most of their packets: bytes were changed after \
             the capture, or by it. Addresses and contents may not be the true ones",
            "Compare with the capture as it was taken.",
        ),
    ] {
        let senders = info.health.checksums.iter();
        let mut senders: Vec<_> = senders
            .filter(|(.., v)| v.meaning() == meaning)
            .map(|(_, sender, _)| sender)
            .collect();
        senders.sort_unstable();
        senders.dedup();
        let Some(first) = senders.first() else {
            continue;
        };
        let others = match senders.len() {
            1 => Text::default(),
            n => text!(" and {n} more", n = n - 1),
        };
        let says = text!(
            "Checksums of {first}{others} are {says}.",
            first = *first,
            others = others,
            says = says,
        );
        limits.add(code, Weight::Note, says, cure);
    }
}
