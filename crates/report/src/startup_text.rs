//! What a client waited for, for people: the answer first, then sums, then the waits.

use crate::harmless::harmless;
use crate::startup::{self, filter};
use crate::text::{Grid, counted, damage, moment, share, tight, wrap};
use analysis::startup::{ClientStartup, StartupResult, Sum, WaitKind, Waited, reason};
use jiff::tz::TimeZone;
use model::format_duration;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Reasons in the first sentence, rows of a table, waits that are shown.
const SAID: usize = 7;
const ROWS: usize = 12;
const WAITS: usize = 12;

/// Writes the page; with `all`, all sums, and every wait in order of time.
///
/// # Errors
/// Those of `out`.
pub fn startup_text(
    result: &StartupResult,
    all: bool,
    zone: &TimeZone,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut text = String::new();
    match &result.client {
        Some(client) => {
            text.push_str(&answer(client, zone));
            text.push('\n');
            text.push_str(&sums("reason", &client.reasons, client, all));
            text.push('\n');
            text.push_str(&sums("server", &client.servers, client, all));
            text.push('\n');
            text.push_str(&waits(result, client, all));
        }
        None if result.asked.is_empty() => {
            text.push_str("No client was seen that waited for anything.\n");
        }
        None => {
            let asked: Vec<String> = result.asked.iter().map(ToString::to_string).collect();
            let absent = format!(
                "No packet of {} asks for anything. Without --client, the client that waited \
                 longest is shown, and the others are named.",
                asked.join(" or ")
            );
            text.push_str(&wrap("", 0, &absent));
        }
    }
    if !result.others.is_empty() {
        let others = result.others.iter().take(ROWS);
        let list: Vec<String> = others
            .map(|(a, ns)| format!("{a} {}", format_duration(*ns)))
            .collect();
        let more = match result.others.len().saturating_sub(ROWS) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        text.push('\n');
        text.push_str(&wrap(
            "",
            0,
            &format!("Other clients waited: {}{more}.", list.join(", ")),
        ));
    }
    for capture in &result.captures {
        text.push_str(&damage(capture));
    }
    out.write_all(text.as_bytes())
}

/// The first lines.
fn answer(c: &ClientStartup, zone: &TimeZone) -> String {
    let addresses: Vec<String> = c.addresses.iter().map(ToString::to_string).collect();
    let worth = |s: &&Sum| s.cost_ns > c.elapsed_ns() / 50;
    let said = c.reasons.iter().filter(worth).take(SAID);
    let said: Vec<String> = said
        .map(|s| {
            format!(
                "{} {}",
                format_duration(s.cost_ns),
                reason(s.kind, s.ending)
            )
        })
        .collect();
    let mut text = wrap(
        "",
        0,
        &format!(
            "{} in all: {}.",
            format_duration(c.elapsed_ns()),
            said.join(", ")
        ),
    );
    text.push_str(&wrap(
        "",
        0,
        &format!(
            "Client {} from {} on; of this it waited {} ({}) for something on the wire.",
            addresses.join(" and "),
            moment(c.first, zone),
            format_duration(c.waited_ns()),
            share(c.waited_ns(), c.elapsed_ns()),
        ),
    ));
    if c.goes_on {
        text.push_str(&wrap(
            "",
            0,
            "It went on; --from and --to choose another stretch.",
        ));
    }
    text
}

fn sums(by: &str, sums: &[Sum], c: &ClientStartup, all: bool) -> String {
    let servers = by == "server";
    let mut head = vec![if servers { "server" } else { "waited for" }];
    head.extend(servers.then_some("waited for"));
    head.extend(["cost", "share", "waits"]);
    let mut rows: Vec<Vec<String>> = vec![head.into_iter().map(str::to_owned).collect()];
    let kept = sums.iter().filter(|s| !servers || s.server.is_some());
    let count = kept.clone().count();
    let listed = if all { count } else { ROWS };
    for s in kept.take(listed) {
        let mut row = Vec::new();
        if let Some(end) = s.server {
            row.push(match end.port {
                0 => end.address.to_string(),
                _ => end.to_string(),
            });
        }
        row.push(reason(s.kind, s.ending).to_owned());
        row.extend([
            tight(s.cost_ns),
            share(s.cost_ns, c.elapsed_ns()),
            s.count.to_string(),
        ]);
        rows.push(row);
    }
    let mut text = Grid::fitting(rows).text();
    let left = count.saturating_sub(listed);
    if left > 0 {
        let more = counted(left as u64, "more row");
        text.push_str(&format!("and {more} (--all shows them)\n"));
    }
    text
}

fn waits(result: &StartupResult, c: &ClientStartup, all: bool) -> String {
    let mut waits: Vec<&Waited> = startup::rows(result).iter().map(|row| row.w).collect();
    let order = &result.order;
    let head = match &order.by {
        Some(by) => format!("{} by {by}:\n", counted(waits.len() as u64, "wait")),
        None if all => "Every wait, in order of time:\n".to_owned(),
        None => {
            waits = c.waits.iter().filter(|w| w.cost_ns > 0).collect();
            waits.sort_by_key(|w| (Reverse(w.cost_ns), w.first));
            waits.truncate(WAITS);
            "The costliest waits (--all lists every one, in order of time):\n".to_owned()
        }
    };
    if !all && order.top.is_none() {
        waits.truncate(WAITS);
    }
    waits.iter().fold(head, |text, w| text + &one(w, c))
}

fn one(w: &Waited, c: &ClientStartup) -> String {
    let at = tight(w.first - c.first);
    let head = format!("{:>8} +{:<8} ", at, tight(w.cost_ns));
    let server = match w.server {
        Some(end) if end.port == 0 => format!(" of {}", end.address),
        Some(end) => format!(" at {end}"),
        None => String::new(),
    };
    let charged = match w.elapsed_ns - w.cost_ns {
        rest if rest > w.cost_ns / 100 => format!(" (lasted {})", format_duration(w.elapsed_ns)),
        _ => String::new(),
    };
    let ended = match w.kind {
        WaitKind::Client => String::new(),
        _ => format!(": {}", w.ended_by),
    };
    let said = format!("{}{server}{ended}{charged}; {}", w.what, filter(w));
    wrap(&head, head.chars().count(), &harmless(&said))
}
