//! The captures an answer rests on: where each was taken, what it holds and lacks, how the clocks
//! of two were aligned.

use crate::page::Tone;
use crate::text::{bytes, counted, grouped, moment, problem, taken, wrap};
use analysis::results::{CaptureResult, Clock, ClockBasis, Diagnosis, Vantage};
use jiff::tz::TimeZone;
use model::{Time, format_duration};

pub(super) fn captures(d: &Diagnosis, zone: &TimeZone) -> String {
    let mut text = Tone::Title.paint("Captures") + "\n";
    for c in &d.captures {
        text.push_str(&capture(c, zone));
    }
    for line in clocks(d, zone) {
        text.push_str(&wrap("  Clocks: ", 4, &line));
    }
    text
}

/// The files of a capture, and where it was taken.
pub(crate) fn name(c: &CaptureResult) -> (String, String) {
    let name = match c.files.as_slice() {
        [] => "(no file)".to_owned(),
        [one] => one.clone(),
        [first, .., last] => format!("{first} … {last} ({} files)", c.files.len()),
    };
    let side = match c.side {
        Some(Vantage::Client) if c.is_on_the_way => "taken on the way to the client",
        Some(Vantage::Server) if c.is_on_the_way => "taken on the way to the server",
        side => taken(side),
    };
    let from = if c.side_from.is_empty() {
        String::new()
    } else {
        format!(" ({})", c.side_from)
    };
    (name, format!("{side}{from}"))
}

/// What a capture holds.
pub(crate) fn facts(c: &CaptureResult, zone: &TimeZone) -> String {
    let mut facts = Vec::new();
    if let (Some(first), Some(last)) = (c.first, c.last) {
        facts.push(format!(
            "{} from {}",
            format_duration(last - first),
            moment(first, zone)
        ));
    }
    facts.push(counted(c.packets, "packet"));
    facts.push(bytes(c.bytes));
    facts.push(match c.snaplen {
        Some(n) => format!("snaplen {}", grouped(n.into())),
        None => "no snaplen".to_owned(),
    });
    facts.push(match c.dropped {
        Some(0) => "none dropped".to_owned(),
        Some(n) => {
            let dropped = format!("{} DROPPED", grouped(n));
            format!("{} by the capturing host", Tone::Severe.paint(&dropped))
        }
        None => "drops unknown".to_owned(),
    });
    facts.push(counted(c.connections, "connection"));
    facts.push(counted(c.calls, "call"));
    facts.join(", ")
}

/// What a capture lacks.
pub(crate) fn lacks(c: &CaptureResult) -> Vec<String> {
    let mut lines = Vec::new();
    if c.missing_gaps > 0 {
        lines.push(format!(
            "lacks {} that the receiver acknowledged, in {}",
            bytes(c.missing_bytes),
            counted(c.missing_gaps, "gap")
        ));
    }
    if !c.half_calls.is_empty() {
        let total: u64 = c.half_calls.iter().map(|(_, n)| n).sum();
        let reasons: Vec<String> = c
            .half_calls
            .iter()
            .map(|(reason, n)| format!("{} {reason}", grouped(*n)))
            .collect();
        lines.push(format!(
            "{} seen by half: {}",
            counted(total, "call"),
            reasons.join(", ")
        ));
    }
    lines
}

fn capture(c: &CaptureResult, zone: &TimeZone) -> String {
    let (name, side) = name(c);
    let mut text = wrap("  ", 4, &format!("{name}: {side}"));
    text.push_str(&wrap("    ", 4, &facts(c, zone)));
    for lack in lacks(c) {
        text.push_str(&wrap("    ", 4, &lack));
    }
    for (kind, p) in c.problems.iter() {
        let (tone, head) = match p.damage {
            true => (Tone::Severe, "    damaged: "),
            false => (Tone::Notable, "    note: "),
        };
        text.push_str(&wrap(&tone.paint(head), 6, &problem(kind, p)));
    }
    text
}

/// How the clocks of two captures stand to each other; where one was set meanwhile, from when on.
pub(crate) fn clocks(d: &Diagnosis, zone: &TimeZone) -> Vec<String> {
    let whole = d.clock.iter().map(clock);
    let part = |(from, c): &(Time, Clock)| {
        let from = moment(*from, zone);
        format!("from {from} on {}", clock(c))
    };
    whole.chain(d.clocks.iter().map(part)).collect()
}

fn clock(c: &Clock) -> String {
    let within = format_duration(c.uncertainty_ns);
    if c.basis == ClockBasis::AssumedSynchronised {
        return format!(
            "nothing contradicts that they agree (assumed synchronised; the offset cannot be \
             known better than ±{within})"
        );
    }
    let direction = if c.offset_ns < 0 {
        "behind"
    } else {
        "ahead of"
    };
    let basis = match c.basis {
        ClockBasis::Given => "given".to_owned(),
        _ => format!("estimated, ±{within}"),
    };
    let mut text = format!(
        "the server's is {} {direction} the client's ({basis})",
        format_duration(c.offset_ns.saturating_abs())
    );
    if c.drift_ppm.abs() >= 0.05 {
        let runs = if c.drift_ppm < 0.0 {
            "slower"
        } else {
            "faster"
        };
        text.push_str(&format!(" and runs {:.1} ppm {runs}", c.drift_ppm.abs()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn clocks_that_differ_say_by_how_much() {
        let mut c = samples::diagnosis().clock.expect("a clock");
        c.basis = ClockBasis::Estimated;
        c.offset_ns = -1_234_000_000;
        c.drift_ppm = 3.25;
        assert_eq!(
            clock(&c),
            "the server's is 1.23 s behind the client's (estimated, ±50.0 µs) and runs 3.2 ppm faster"
        );
    }
}
