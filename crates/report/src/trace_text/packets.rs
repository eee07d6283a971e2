//! What SQL*Net traces say, for people.

use super::{TraceStyle, left_out, quantiles};
use crate::text::{Grid, bytes, counted, grouped, tight, wrap};
use analysis::trace_profile::{ConnectionRow, NetFacts, NetTime, TraceResult};
use model::format_duration;

const CONNECTIONS: usize = 10;

/// What SQL*Net's packets say.
pub(super) fn packets(net: &NetTime, result: &TraceResult, style: &TraceStyle, page: &mut String) {
    let all = &net.all;
    let sides: Vec<&str> = result
        .files
        .iter()
        .filter_map(|f| f.net.side.map(|s| s.name()))
        .collect();
    let side = match sides.split_first() {
        Some((first, rest)) if rest.iter().all(|s| s == first) => Some(*first),
        _ => None,
    };
    let (here, away) = match side {
        Some("server") => ("this server process", "the client and the network"),
        Some("client") => ("this client", "the server and the network"),
        Some(_) => ("this listener", "the other side and the network"),
        None => ("this process", "the other side and the network"),
    };
    let mut text = format!(
        "{} sent and {} received by {here}.",
        counted(all.messages_sent, "SQL*Net message"),
        grouped(all.messages_received)
    );
    let mut passed = Vec::new();
    if all.here.count > 0 {
        passed.push(format!("{} in it", format_duration(all.here.total_ns)));
    }
    if all.away.count > 0 {
        passed.push(format!(
            "{} with {away}",
            format_duration(all.away.total_ns)
        ));
    }
    if !passed.is_empty() {
        text.push_str(&format!(" Of the time, {}.", passed.join(", ")));
    }
    page.push_str(&wrap("", 0, &text));
    if all.here.count + all.away.count > 0 {
        let head = [
            "from message to message",
            "count",
            "total",
            "mean",
            "p50",
            "p99",
            "max",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for (name, s) in [
            ("received to sent: here", &all.here),
            ("sent to received: away", &all.away),
        ] {
            let mut row = vec![name.to_owned(), grouped(s.count), tight(s.total_ns)];
            row.extend(quantiles(s));
            rows.push(row);
        }
        page.push('\n');
        page.push_str(&Grid::fitting(rows).text());
    }
    if all.milliseconds {
        page.push_str("The trace has whole milliseconds: what is shorter reads 0.\n");
    }
    let head = ["packets", "sent", "bytes", "received", "bytes"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut kinds: Vec<&str> = all.packets.iter().map(|p| &*p.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let mut row = vec![kind.to_owned()];
        for sent in [true, false] {
            let found = all
                .packets
                .iter()
                .find(|p| p.sent == sent && &*p.kind == kind);
            row.push(found.map_or("-".to_owned(), |p| grouped(p.packets)));
            row.push(found.and_then(|p| p.bytes).map_or("-".to_owned(), bytes));
        }
        rows.push(row);
    }
    page.push('\n');
    page.push_str(&Grid::fitting(rows).text());
    if all.largest_sent > 0 {
        let line = format!(
            "The largest packet sent had {} ({}), the largest received {}.",
            counted(u64::from(all.largest_sent), "byte"),
            counted(all.largest_sent_count, "packet"),
            counted(u64::from(all.largest_received), "byte")
        );
        page.push_str(&wrap("", 0, &line));
    }
    if net.connections.len() > 1 {
        connections(net, style, page);
    }
}

fn connections(net: &NetTime, style: &TraceStyle, page: &mut String) {
    let shown = if style.all {
        net.connections.len()
    } else {
        CONNECTIONS
    };
    let head = [
        "connection",
        "sent",
        "bytes",
        "received",
        "bytes",
        "here",
        "away",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (i, c) in (1..).zip(net.connections.iter().take(shown)) {
        let name = match c.socket {
            Some(socket) => format!("{i}, socket {socket}"),
            None => format!("{i}"),
        };
        let mut row = vec![name];
        for sent in [true, false] {
            let (packets, bytes) = direction(c, sent);
            row.push(grouped(packets));
            row.push(bytes);
        }
        row.push(tight(c.here.total_ns));
        row.push(tight(c.away.total_ns));
        rows.push(row);
    }
    page.push('\n');
    page.push_str(&Grid::fitting(rows).text());
    left_out(
        net.connections.len(),
        shown,
        style,
        "further connection",
        page,
    );
}

/// Packets and bytes of a direction.
fn direction(c: &ConnectionRow, sent: bool) -> (u64, String) {
    let rows = || c.packets.iter().filter(|p| p.sent == sent);
    let known: Option<u64> = rows().map(|p| p.bytes).sum();
    (
        rows().map(|p| p.packets).sum(),
        known.map_or("-".to_owned(), bytes),
    )
}

/// What went into transports that did not open, where it is more than all that was waited for otherwise.
pub(super) fn not_opened(result: &TraceResult) -> Option<String> {
    let all = result.files.iter().map(|f| f.net.not_opened);
    let (count, ns) = all.fold((0, 0_i64), |(count, ns), a| {
        (count + a.count, ns.saturating_add(a.total_ns))
    });
    let away = result.net.as_ref().map_or(0, |net| net.all.away.total_ns);
    let response = result.database.as_ref().map_or(0, |d| d.response_ns);
    let took = format_duration(ns);
    let transports = counted(count, "transport");
    (ns > away.max(response)).then(|| format!("{transports} could not be opened, after {took}."))
}

/// What came of it: transports, errors, what protects it.
pub(super) fn outcomes(net: &NetFacts) -> Vec<String> {
    let mut words = Vec::new();
    let services = [
        ("encryption", &net.encryption),
        ("checksums", &net.checksum),
    ];
    for (name, agreed) in services {
        words.extend(agreed.as_ref().map(|agreed| format!("{name} {agreed}")));
    }
    for (way, attempts) in [("opened", net.opened), ("could not open", net.not_opened)] {
        if attempts.count > 0 {
            let transports = counted(attempts.count, "transport");
            let took = match attempts.total_ns {
                0 => String::new(),
                ns => format!(" in {}", format_duration(ns)),
            };
            words.push(format!("{way} {transports}{took}"));
        }
    }
    for (prefix, errors) in [("TNS", &net.errors), ("ORA", &net.returned)] {
        let each = errors.iter();
        words.extend(each.map(|(code, n)| format!("{prefix}-{code:05} {}", counted(*n, "time"))));
    }
    let system = net.system_errors.iter();
    words.extend(system.map(|(number, n)| {
        let times = counted(*n, "time");
        format!("error {number} of the operating system {times}")
    }));
    words
}
