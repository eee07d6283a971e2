//! What a probe measured, for people: the round trip first, then how it is made up and how far it can
//! be trusted.

use crate::probe_json::summary;
use crate::text::{Grid, Unit, bytes, counted, grouped, rate, share, wrap};
use analysis::stats::Summary;
use model::format_duration;
use probe::{
    Correction, Ended, Host, IntervalResult, Latencies, Measured, Mix, Pacing, ProbeResult,
    SocketOptions,
};
use std::io::{self, Write};

/// This host's own lateness beyond this part of the median is said: the numbers are its own, too.
const LATE_SHARE: f64 = 0.1;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn probe_text(r: &ProbeResult, out: &mut dyn Write) -> io::Result<()> {
    let mut text = wrap("", 0, &answer(r));
    if r.throughput_bps().is_none() {
        text.push('\n');
        text.push_str(&table(r));
    }
    text.push_str("\nMeasured\n");
    for line in circumstances(r) {
        text.push_str(&wrap("  ", 4, &line));
    }
    let notes = notes(r);
    if !notes.is_empty() {
        text.push_str("\nNotes\n");
    }
    for note in notes {
        text.push_str(&wrap("  ", 4, &note));
    }
    out.write_all(text.as_bytes())
}

/// A line on an interval that has just ended.
#[must_use]
pub fn probe_interval(i: &IntervalResult, measured: Measured) -> String {
    let at = format!("{:.1} s", i.end_ns as f64 / 1e9);
    let noun = match measured {
        Measured::StreamUp => return format!("{at}: {}", throughput(i.sent_bytes, i)),
        Measured::StreamDown => return format!("{at}: {}", throughput(i.received_bytes, i)),
        Measured::Connects => "connect",
        Measured::Exchanges => "exchange",
    };
    if i.count == 0 {
        return format!("{at}: nothing answered");
    }
    format!(
        "{at}: {}, median {}, p99 {}, longest {}",
        counted(i.count, noun),
        fine(i.p50_ns),
        if i.count >= Summary::P99_NEEDS {
            fine(i.p99_ns)
        } else {
            "-".to_owned()
        },
        fine(i.max_ns)
    )
}

fn throughput(volume: u64, i: &IntervalResult) -> String {
    let ns = u128::from(i.end_ns.saturating_sub(i.start_ns).max(1));
    let bps = u128::from(volume) * 8 * 1_000_000_000 / ns;
    rate(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// A duration with four digits, as 2 % of it matter.
fn fine(ns: u64) -> String {
    let unit = Unit::for_duration(signed(ns));
    format!("{} {}", unit.number(signed(ns)), unit.name)
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The times that the answer is about: at a rate from when exchanges were due, else as measured.
fn shown(r: &ProbeResult) -> &Latencies {
    match r.correction {
        Correction::Due => &r.corrected,
        Correction::Expected(_) => &r.uncorrected,
    }
}

fn answer(r: &ProbeResult) -> String {
    let l = shown(r);
    let p99 = if l.count() >= Summary::P99_NEEDS {
        format!(", {} p99", fine(l.quantile_ns(0.99)))
    } else {
        format!(", {} at most", fine(l.max_ns()))
    };
    let connecting = r
        .connect_ns
        .map(|ns| format!("; connecting takes {}", fine(ns)))
        .unwrap_or_default();
    if let Some(bps) = r.throughput_bps() {
        let (from, to, volume) = if r.measured == Measured::StreamUp {
            (r.client.ip(), r.server.ip(), r.sent_bytes)
        } else {
            (r.server.ip(), r.client.ip(), r.received_bytes)
        };
        return format!(
            "{} from {from} to {to}: {} in {}{connecting}.",
            rate(bps),
            bytes(volume),
            format_duration(signed(r.duration_ns))
        );
    }
    let median = fine(l.quantile_ns(0.5));
    if r.measured == Measured::Connects {
        let failed = match r.failures.total() {
            0 => String::new(),
            n => format!("; {n} failed"),
        };
        return format!(
            "Connecting to {} takes {median} median{p99} over {}{failed}.",
            r.server,
            counted(r.uncorrected.count(), "connect")
        );
    }
    format!(
        "Round trip {median} median{p99} over {} of {}{connecting}.",
        counted(r.uncorrected.count(), "exchange"),
        sizes(&r.mix)
    )
}

/// `200 → 8,192 bytes`, or means.
fn sizes(mix: &Mix) -> String {
    let exchanges = mix.exchanges();
    let count = exchanges.len().max(1) as u64;
    let mean = |of: &dyn Fn(&probe::Exchange) -> u32| {
        let sum = exchanges.iter().map(|e| u64::from(of(e)));
        grouped(sum.fold(0, u64::saturating_add) / count)
    };
    let (request, response) = (mean(&|e| e.request_bytes), mean(&|e| e.response_bytes));
    if mix.fixed {
        format!("{request} → {response} bytes")
    } else {
        format!("{request} → {response} bytes on average")
    }
}

fn table(r: &ProbeResult) -> String {
    let unit = Unit::for_duration(signed(shown(r).quantile_ns(0.5)));
    let heads = ["", "count", "mean", "p50", "p90", "p99", "p99.9", "longest"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    // How many were really made decides which quantiles there are, not how many were estimated.
    let made = r.uncorrected.count();
    let (corrected, uncorrected) = match r.correction {
        Correction::Due => ("since it was due", "since it began"),
        Correction::Expected(_) => ("if asked steadily", "as measured"),
    };
    let mut row = |name: &str, l: &Latencies| {
        if !l.is_empty() {
            rows.push(times(name, &summary(l), made, unit));
        }
    };
    if r.correction == Correction::Due {
        row(corrected, &r.corrected);
        row(uncorrected, &r.uncorrected);
    } else {
        row(uncorrected, &r.uncorrected);
        row(corrected, &r.corrected);
    }
    row("in the listener", &r.service);
    row("late in this host", &r.late);
    let head = match r.measured {
        Measured::Connects => "Connecting",
        _ => "Round trips",
    };
    format!("{head} in {}\n{}", unit.name, Grid::fitting(rows).text())
}

fn times(name: &str, s: &Summary, made: u64, unit: Unit) -> Vec<String> {
    let quantile = |ns: i64, needs: u64| {
        if made >= needs {
            unit.number(ns)
        } else {
            "-".to_owned()
        }
    };
    vec![
        name.to_owned(),
        grouped(s.count),
        unit.number(s.mean_ns),
        unit.number(s.p50_ns),
        quantile(s.p90_ns, Summary::P90_NEEDS),
        quantile(s.p99_ns, Summary::P99_NEEDS),
        quantile(s.p999_ns, Summary::P999_NEEDS),
        unit.number(s.max_ns),
    ]
}

/// How, with what and between whom it was measured.
fn circumstances(r: &ProbeResult) -> Vec<String> {
    let pacing = match r.pacing {
        Pacing::Every(ns) => format!("one every {}", format_duration(signed(ns))),
        Pacing::Closed => "each when an answer was there".to_owned(),
    };
    let how = match r.measured {
        Measured::Connects => pacing,
        Measured::Exchanges => format!("{pacing}, at most {} outstanding", r.outstanding),
        Measured::StreamUp | Measured::StreamDown => {
            format!("{} outstanding of {}", r.outstanding, sizes(&r.mix))
        }
    };
    let mut lines = vec![format!(
        "for {} after {} of warm-up, {how}",
        format_duration(signed(r.duration_ns)),
        format_duration(signed(r.warm_up_ns))
    )];
    if !r.mix.fixed {
        lines.push(format!(
            "sizes and pauses of {} of the capture's {}",
            grouped(r.mix.exchanges().len() as u64),
            counted(r.mix.seen, "call")
        ));
    }
    let cpu = r.cpu.map(|c| {
        format!(
            "; used {} of a CPU, waited {} for one",
            share(signed(c.used_ns), signed(r.duration_ns + r.warm_up_ns)),
            format_duration(signed(c.waited_ns))
        )
    });
    lines.push(format!(
        "client {}: {}{}",
        r.client,
        host(&r.client_host),
        cpu.unwrap_or_default()
    ));
    let listener = r.listener_host.as_ref().map(|h| format!(": {}", host(h)));
    lines.push(format!(
        "server {}{}",
        r.server,
        listener.unwrap_or_default()
    ));
    if let Some(server) = &r.listener_options {
        lines.push(format!(
            "sockets: client {}; server {}",
            socket(&r.client_options),
            socket(server)
        ));
    }
    lines
}

fn host(h: &Host) -> String {
    let mut parts = Vec::new();
    if let Some(cpus) = h.cpus {
        let model = h.cpu_model.as_deref().map(|m| format!(" ({m})"));
        parts.push(counted(cpus.into(), "CPU") + &model.unwrap_or_default());
    }
    if let Some(load) = h.load_hundredths {
        parts.push(format!("load {:.2}", f64::from(load) / 100.0));
    }
    if parts.is_empty() {
        "host unknown".to_owned()
    } else {
        parts.join(", ")
    }
}

fn socket(o: &SocketOptions) -> String {
    format!(
        "NODELAY {}, send buffer {}, receive buffer {}",
        if o.nodelay { "on" } else { "off" },
        bytes(o.send_buffer.into()),
        bytes(o.receive_buffer.into())
    )
}

/// What speaks against the numbers, or explains them.
fn notes(r: &ProbeResult) -> Vec<String> {
    let mut notes = Vec::new();
    match r.ended {
        Ended::Done => {}
        Ended::Stopped => notes.push("stopped before its time".to_owned()),
        Ended::Cut(why) => notes.push(format!("ended before its time: {why}")),
    }
    if let (Correction::Expected(ns), Measured::Exchanges) = (r.correction, r.measured) {
        notes.push(format!(
            "\"if asked steadily\" is what somebody has who asks every {} without waiting for a \
             stalled answer, estimated; --rate measures it",
            format_duration(signed(ns))
        ));
    }
    let streams = r.throughput_bps().is_some();
    let fast = r.uncorrected.quantile_ns(0.5) as f64;
    if !streams && r.late.quantile_ns(0.9) as f64 > LATE_SHARE * fast {
        notes.push(format!(
            "this host was late itself, by {} (p90): it is busy, and the times are its own, too",
            fine(r.late.quantile_ns(0.9))
        ));
    }
    if r.held.count > 0 && streams {
        notes.push(format!(
            "the listener's limits held the stream for {} in all: raise its --max-bandwidth or \
             --max-rate",
            format_duration(signed(r.held.total_ns))
        ));
    } else if r.held.count > 0 {
        notes.push(format!(
            "the listener's limits held {} for {} in all, which is in the times: lower --rate or \
             --size, or raise its --max-rate or --max-bandwidth",
            counted(r.held.count, "exchange"),
            format_duration(signed(r.held.total_ns))
        ));
    }
    if r.unanswered > 0 {
        notes.push(format!(
            "{} had no answer when it ended, and count nowhere above",
            counted(r.unanswered, "exchange")
        ));
    }
    if r.unsent > 0 {
        notes.push(format!(
            "{} due could not be sent, as too many were outstanding: the path does not carry this \
             rate; raise --outstanding, or lower --rate",
            counted(r.unsent, "exchange")
        ));
    }
    if r.cut_sizes > 0 {
        notes.push(format!(
            "{} of the capture were cut to what the listener allows (its --max-size)",
            counted(r.cut_sizes, "exchange")
        ));
    }
    if r.mix.shortened > 0 {
        notes.push(format!(
            "{} longer than 1 s were cut to that",
            counted(r.mix.shortened, "pause")
        ));
    }
    let f = &r.failures;
    if f.total() > 0 {
        notes.push(format!(
            "{} refused, {} not answered within 10 s, {} failed otherwise; they count nowhere above",
            f.refused, f.silent, f.other
        ));
    }
    notes
}
