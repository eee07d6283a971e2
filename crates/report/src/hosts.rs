//! What tools said of the hosts, beside their calls: for people as tables, and for programs.

use crate::classes::direction;
use crate::page::Tone;
use crate::text::{Grid, grouped, wrap};
use analysis::results::{
    Counter, CountsFit, Diagnosis, Fit, HostClock, HostResult, KernelResult, SeriesResult, Side,
    SideFrom, Unit,
};
use model::{Direction, Time, format_duration};
use serde_json::{Value, json};

pub(crate) const COUNTERS: &str = "What tools say of the hosts";
pub(crate) const KERNEL: &str = "What TCP says of its connections";

const HEADS: [&str; 6] = ["", "mean", "most", "calls then", "else", ""];

/// Counters of a host in a table for people; JSON has all.
const ROWS: usize = 10;

/// The section of the page; nothing where nothing was given.
pub(crate) fn text(d: &Diagnosis) -> String {
    if d.hosts.is_empty() {
        return String::new();
    }
    let mut out = Tone::Title.paint(COUNTERS) + "\n";
    for host in &d.hosts {
        out.push_str(&wrap("  ", 4, &said(host)));
        let rows = rows(host, "    ");
        if !rows.is_empty() {
            let heads = std::iter::once(HEADS.map(str::to_owned).to_vec());
            out.push_str(&Grid::fitting(heads.chain(rows).collect()).text());
        }
    }
    if let Some(rows) = kernel(d) {
        out.push_str(&format!("\n{}\n", Tone::Title.paint(KERNEL)));
        out.push_str(&Grid::fitting(rows).text());
    }
    for sentence in contradicted(d) {
        out.push_str(&wrap("  ", 2, &sentence));
    }
    out
}

/// A file, whose it is, by what, and how its times lie.
pub(crate) fn said(host: &HostResult) -> String {
    let whose = match host.side {
        Some(side) => format!("the {}'s", side.name()),
        None => "nobody's: say --host client=FILE or --host server=FILE".to_owned(),
    };
    let by = match host.side_from {
        SideFrom::Said | SideFrom::Nothing => "",
        SideFrom::Addresses => " by its addresses",
        SideFrom::FileName => " by the file's name",
        SideFrom::Tool => " by its tool",
    };
    let name = match &host.name {
        Some(name) => format!(" of {name}"),
        None => String::new(),
    };
    let clock = match host.clock {
        HostClock::Same => String::new(),
        HostClock::Timeless if host.counts.is_some() => String::new(),
        HostClock::Timeless => "; without times, so that nothing is held against the calls".to_owned(),
        HostClock::Zone { ahead_ns } => format!(
            "; its times are {} {}, which is taken for their zone",
            format_duration(ahead_ns.saturating_abs()),
            if ahead_ns < 0 { "behind" } else { "ahead" }
        ),
        HostClock::Ambiguous => "; the zone of its times is not said and several fit, so that nothing is held against the calls: take sadf -j, or vmstat -t with TZ=UTC".to_owned(),
        HostClock::Elsewhere { later_ns } => format!(
            "; none of its samples lies within the capture: they are {} {}",
            format_duration(later_ns.saturating_abs()),
            if later_ns < 0 { "earlier" } else { "later" }
        ),
    };
    let counts = counted(host).unwrap_or_default();
    format!(
        "{}{name} ({}) is {whose}{by}{clock}{counts}.",
        host.file,
        host.tools.join(", ")
    )
}

/// What the program that captured there counted, and what that tells of a capture.
fn counted(host: &HostResult) -> Option<String> {
    let (counts, fit) = host.counts?;
    let captured = grouped(counts.captured?);
    let lost = match counts.lost() {
        Some(0) => ", lost none".to_owned(),
        Some(n) => format!(", lost {}", grouped(n)),
        None => String::new(),
    };
    let tells = match fit {
        CountsFit::Whole => ", and is of this capture",
        CountsFit::Part if counts.lost() == Some(0) => ", and this capture is a part of that",
        CountsFit::Part => ", of which this capture is a part: what of that it lost is not known",
        CountsFit::Other => ": this capture holds more, so that is another one's, and left out",
        CountsFit::NoCapture => ": no capture here has as many, so that is left out",
    };
    Some(format!("; it captured {captured} packets{lost}{tells}"))
}

/// Rows of all hosts with their heads.
pub(crate) fn counters(d: &Diagnosis) -> Option<Vec<Vec<String>>> {
    let of = |host: &HostResult| {
        let side = host.side.map_or("", Side::name);
        rows(host, &format!("{side} "))
    };
    let rows: Vec<Vec<String>> = d.hosts.iter().flat_map(of).collect();
    let heads = HEADS.map(str::to_owned).to_vec();
    (!rows.is_empty()).then(|| std::iter::once(heads).chain(rows).collect())
}

/// Those that say something of the calls first.
fn rows(host: &HostResult, before: &str) -> Vec<Vec<String>> {
    let mut shown: Vec<&SeriesResult> = host.series.iter().filter(|s| s.max_milli > 0).collect();
    shown.sort_by_key(|s| match s.held.map(|h| h.fit) {
        Some(Fit::Goes) => 0,
        Some(Fit::NeverHigh) => 2,
        Some(_) => 1,
        None => 3,
    });
    let shown = shown.into_iter().take(ROWS);
    shown.map(|s| row(s, before)).collect()
}

fn row(s: &SeriesResult, before: &str) -> Vec<String> {
    let name = format!("{before}{} {}", s.counter.name(), s.device);
    let held = s.held.filter(|h| h.high > 0);
    let mean = |i: usize| match held {
        Some(h) if h.calls[i] > 0 => format_duration(h.mean_ns[i]),
        _ => "-".to_owned(),
    };
    vec![
        name.trim_end().to_owned(),
        amount(s.counter, s.mean_milli),
        amount(s.counter, s.max_milli),
        mean(0),
        mean(1),
        s.held.map_or("", |h| words(h.fit)).to_owned(),
    ]
}

fn words(fit: Fit) -> &'static str {
    match fit {
        Fit::Goes => "goes with slow calls",
        Fit::NeverHigh => "never high",
        Fit::AlwaysHigh => "high throughout",
        Fit::TooFew => "too few to tell",
        Fit::NotSlower => "calls no slower",
        Fit::Elsewhere => "most is slow else",
        Fit::Chance => "may be chance",
    }
}

/// Thousandths of its unit.
fn amount(counter: Counter, milli: i64) -> String {
    let whole = |n: i64| match n {
        1..1_000 => format!("{}.{}", n / 1_000, n % 1_000 / 100),
        n => grouped((n / 1_000).max(0).unsigned_abs()),
    };
    match counter.unit() {
        Unit::Percent => format!("{} %", milli / 1_000),
        Unit::Milliseconds => format_duration(milli.saturating_mul(1_000)),
        Unit::KilobytesPerSecond => format!("{} kB/s", whole(milli)),
        Unit::PerSecond => format!("{}/s", whole(milli)),
        Unit::Count => whole(milli),
    }
}

/// Connections of which TCP itself told, rows with their heads.
pub(crate) fn kernel(d: &Diagnosis) -> Option<Vec<Vec<String>>> {
    let heads = [
        "sender",
        "busy",
        "window",
        "by packets",
        "buffer",
        "resent",
        "cwnd",
        "rto",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for k in d.hosts.iter().flat_map(|h| h.connections.iter().take(ROWS)) {
        let (own, _) = ends(k);
        let range = |a: Option<u64>, b: Option<u64>| match a.zip(b) {
            Some((a, b)) if a == b => a.to_string(),
            Some((a, b)) => format!("{a}-{b}"),
            None => "-".to_owned(),
        };
        rows.push(vec![
            format!("  {own}"),
            format_duration(k.busy_ns),
            format_duration(k.rwnd_limited_ns),
            k.window_ns
                .map_or_else(|| "-".to_owned(), |[_, most]| format_duration(most)),
            format_duration(k.sndbuf_limited_ns),
            grouped(k.retransmits),
            range(k.cwnd_least, k.cwnd_most),
            k.rto_most_ns
                .map_or_else(|| "-".to_owned(), format_duration),
        ]);
    }
    (rows.len() > 1).then_some(rows)
}

/// Sender and receiver.
fn ends(k: &KernelResult) -> (model::Endpoint, model::Endpoint) {
    match k.direction {
        Direction::ToServer => (k.client, k.server),
        Direction::ToClient => (k.server, k.client),
    }
}

/// Where packets say something else than TCP itself, which is right.
pub(crate) fn contradicted(d: &Diagnosis) -> Vec<String> {
    let all = d.hosts.iter().flat_map(|h| &h.connections);
    let wrong = all.filter(|k| k.contradicts());
    wrong
        .map(|k| {
            let (own, peer) = ends(k);
            format!(
                "Of {own}'s time the window of {peer} held it up for {}, as its kernel says: what packets say of that is wrong here.",
                format_duration(k.rwnd_limited_ns)
            )
        })
        .collect()
}

pub(crate) fn host(h: &HostResult) -> Value {
    let (ahead, later) = match h.clock {
        HostClock::Zone { ahead_ns } => (Some(ahead_ns), None),
        HostClock::Same => (Some(0), None),
        HostClock::Elsewhere { later_ns } => (None, Some(later_ns)),
        HostClock::Timeless | HostClock::Ambiguous => (None, None),
    };
    json!({
        "file": h.file,
        "name": h.name,
        "side": h.side.map(Side::name),
        "side_from": h.side_from.name(),
        "tools": h.tools,
        "clock": h.clock.name(),
        "clock_ahead_ns": ahead,
        "clock_later_ns": later,
        "series": h.series.iter().map(series).collect::<Vec<_>>(),
        "disk_operations": h.disks.map(|d| d.operations),
        "disk_mean_ns": h.disks.map(|d| d.mean_ns),
        "captured_packets": h.counts.and_then(|(c, _)| c.captured),
        "dropped_packets": h.counts.and_then(|(c, _)| c.lost()),
        "counts_fit": h.counts.map(|(_, fit)| fit.name()),
        "connections": h.connections.iter().map(connection).collect::<Vec<_>>(),
    })
}

fn series(s: &SeriesResult) -> Value {
    let held = s.held;
    let span = |[from, until]: &[Time; 2]| json!({ "first_ns": from.0, "last_ns": until.0 });
    let high: Vec<Value> = s.high.iter().map(span).collect();
    json!({
        "counter": s.counter.name(),
        "device": s.device,
        "unit": s.counter.unit().name(),
        "samples": s.samples,
        "mean_milli": s.mean_milli,
        "max_milli": s.max_milli,
        "max_at_ns": s.max_at.0,
        "fit": held.map(|h| h.fit.name()),
        "high_milli": held.map(|h| h.high_milli),
        "intervals": held.map(|h| h.intervals),
        "high_intervals": held.map(|h| h.high),
        "calls_while_high": held.map(|h| h.calls[0]),
        "calls_else": held.map(|h| h.calls[1]),
        "mean_while_high_ns": held.map(|h| h.mean_ns[0]),
        "mean_else_ns": held.map(|h| h.mean_ns[1]),
        "slow_per_cent": held.map(|h| h.share),
        "shifts_as_good": held.map(|h| h.as_good),
        "high": high,
    })
}

fn connection(k: &KernelResult) -> Value {
    json!({
        "client": k.client.to_string(),
        "server": k.server.to_string(),
        "direction": direction(k.direction),
        "first_ns": k.from.0,
        "last_ns": k.until.0,
        "busy_ns": k.busy_ns,
        "rwnd_limited_ns": k.rwnd_limited_ns,
        "sndbuf_limited_ns": k.sndbuf_limited_ns,
        "retransmits": k.retransmits,
        "cwnd_least_segments": k.cwnd_least,
        "cwnd_most_segments": k.cwnd_most,
        "rto_most_ns": k.rto_most_ns,
        "rtt_least_ns": k.rtt_least_ns,
        "window_least_ns": k.window_ns.map(|[least, _]| least),
        "window_most_ns": k.window_ns.map(|[_, most]| most),
        "contradicts": k.contradicts(),
    })
}
