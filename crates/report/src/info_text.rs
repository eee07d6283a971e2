//! What a capture is worth, for people: the answer first, what limits it and what to do better, then
//! what it holds.

use crate::live_text::per_second;
use crate::markdown::{escaped, problems, sections, table, write as write_markdown};
use crate::page::Tone;
use crate::text::{Grid, bytes, counted, damage, grouped, moment, rate, share, taken, wrap};
use analysis::findings::hint_text;
use analysis::health::bridge_text;
use analysis::info::{InfoResult, Limit, Weight};
use analysis::neighbours::hardware_text;
use jiff::tz::TimeZone;
use model::{Cast, ChecksumOf, Mark, format_duration};
use std::io::{self, Write};

/// A table with its title; the first row is of headings.
struct Section {
    title: &'static str,
    rows: Vec<Vec<String>>,
    /// So many columns are text.
    text: usize,
}

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn info_text(info: &InfoResult, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    let answer = info.worth.sentence.to_string();
    let mut text = match answer.split_once('.') {
        Some((first, rest)) => {
            let tone = match info.worth.name() {
                "poor" => Tone::Severe,
                "limited" => Tone::Notable,
                _ => Tone::Fine,
            };
            wrap("", 0, &format!("{}.{rest}", tone.paint(first)))
        }
        None => wrap("", 0, &answer),
    };
    if !info.worth.limits.is_empty() {
        text.push_str(&format!("\n{}\n", Tone::Title.paint("What limits it")));
        for limit in &info.worth.limits {
            let (tone, head) = head(limit);
            text.push_str(&wrap(&tone.paint(head), 8, &sentence(limit)));
        }
    }
    text.push_str(&format!("\n{}\n", Tone::Title.paint("What it holds")));
    for (name, value) in facts(info, zone) {
        text.push_str(&wrap(&format!("  {name:<13}"), 15, &value));
    }
    for section in tables(info) {
        text.push_str(&format!("\n{}\n", Tone::Title.paint(section.title)));
        text.push_str(&Grid::fitting(section.rows).text());
    }
    if info.captures.iter().any(|c| !c.problems.is_empty()) {
        text.push('\n');
    }
    for capture in &info.captures {
        text.push_str(&damage(capture));
    }
    out.write_all(text.as_bytes())
}

/// Writes the same as Markdown.
///
/// # Errors
/// Those of `out`.
pub fn info_markdown(info: &InfoResult, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    write_markdown(out, || {
        let limits = info.worth.limits.iter().map(|limit| {
            let head = head(limit).1.trim_end();
            format!("- **{head}** {}\n", escaped(&sentence(limit)))
        });
        let facts = facts(info, zone)
            .into_iter()
            .map(|(name, value)| vec![name.to_owned(), value]);
        let mut rows = vec![vec![String::new(), "what it holds".to_owned()]];
        rows.extend(facts);
        let mut parts = vec![
            format!("**{}**\n", escaped(&info.worth.sentence.to_string())),
            limits.collect(),
            table(&rows, 2, |_| false),
        ];
        for section in tables(info) {
            parts.push(format!("**{}**", section.title));
            parts.push(table(&section.rows, section.text, |_| false));
        }
        parts.push(problems(&info.captures));
        sections(parts)
    })
}

fn head(limit: &Limit) -> (Tone, &'static str) {
    match limit.weight {
        Weight::Prevents => (Tone::Severe, "Wrong:  "),
        Weight::Limits => (Tone::Notable, "Limit:  "),
        Weight::Note => (Tone::Faint, "Note:   "),
    }
}

/// What it is, and what to do better.
fn sentence(limit: &Limit) -> String {
    match limit.cure {
        "" => limit.says.to_string(),
        cure => format!("{} Better: {cure}", limit.says),
    }
}

fn frame(info: &InfoResult, mark: Mark) -> String {
    let several = info.files.files.len() > 1;
    let name = info.files.files.get(usize::from(mark.packet.file));
    match name.filter(|_| several) {
        Some(file) => format!("frame {} of {}", mark.packet.frame, file.name),
        None => format!("frame {}", mark.packet.frame),
    }
}

fn files(info: &InfoResult) -> String {
    let files = info.files.files.iter().take(3).map(|f| {
        let packed = match f.compression {
            "none" => String::new(),
            packed => format!(", {packed}"),
        };
        format!("{} ({}{packed})", f.name, f.format)
    });
    let files: Vec<String> = files.collect();
    let more = match info.files.files.len().saturating_sub(3) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    files.join(", ") + &more
}

/// Sentences about the capture as a whole, by name.
fn facts(info: &InfoResult, zone: &TimeZone) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut say = |name, value: String| facts.push((name, value));
    say("files", files(info));
    if let (Some(first), Some(last)) = (info.first, info.last) {
        let ns = info.duration_ns();
        say(
            "time",
            format!(
                "{}, from {} to {}",
                format_duration(ns),
                moment(first.time, zone),
                moment(last.time, zone)
            ),
        );
    }
    let packets_per = info.per_second(info.total.packets);
    let bits_per = info.per_second(info.total.bytes.saturating_mul(8));
    let rates = match (packets_per, bits_per) {
        (Some(packets), Some(bits)) => {
            format!("; {} packets/s, {}", per_second(packets), rate(bits as u64))
        }
        _ => String::new(),
    };
    let mean = info.total.bytes.checked_div(info.total.packets);
    let mean = mean.map_or(String::new(), |m| format!(" ({} each)", counted(m, "byte")));
    say(
        "packets",
        format!(
            "{}, {}{mean}{rates}",
            grouped(info.total.packets),
            bytes(info.total.bytes)
        ),
    );
    let limit = info.captures.first().and_then(|c| c.snaplen);
    let limit = limit.map_or("no snap length".to_owned(), |s| format!("snap length {s}"));
    let cut = match info.cut_packets {
        0 => "no packet cut".to_owned(),
        n => format!(
            "{} cut ({}), {} of {} captured",
            counted(n, "packet"),
            share(n as i64, info.total.packets as i64),
            bytes(info.captured_bytes),
            bytes(info.total.bytes)
        ),
    };
    say("snap length", format!("{limit}; {cut}"));
    say("drops", drops(info));
    say("order", order(info));
    if !info.silences.is_empty() {
        let list: Vec<String> = info
            .silences
            .iter()
            .map(|s| format!("{} behind {}", format_duration(s.ns), frame(info, s.from)))
            .collect();
        say("silences", list.join(", "));
    }
    say(
        "taken",
        format!("{} ({})", taken(Some(info.vantage)), info.vantage_from),
    );
    let n = &info.connections;
    say(
        "connections",
        format!(
            "{} TCP: handshake complete {}, in part {}, not seen {}; with data in one direction only \
             {}; {} UDP",
            grouped(n.tcp),
            grouped(n.handshakes_complete),
            grouped(n.handshakes_partial + n.handshakes_scaled - n.handshakes_complete),
            grouped(n.tcp - n.handshakes_partial - n.handshakes_scaled),
            grouped(n.one_sided),
            grouped(n.udp)
        ),
    );
    say(
        "artefacts",
        format!(
            "{} twice in it; largest {} bytes, {} above Ethernet's 1,518",
            counted(n.duplicates, "packet"),
            grouped(info.largest_bytes.into()),
            grouped(info.over_ethernet)
        ),
    );
    let casts = casts(info);
    if !casts.is_empty() {
        say("to", casts);
    }
    if !info.vlans.is_empty() {
        let list: Vec<String> = info.vlans.iter().take(20).map(u16::to_string).collect();
        let more = match info.vlans.len().saturating_sub(20) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        say("VLANs", list.join(", ") + &more);
    }
    facts.extend(health(info));
    facts
}

/// Sentences about the network's health, as far as there is something to say.
fn health(info: &InfoResult) -> Vec<(&'static str, String)> {
    let h = &info.health;
    let mut facts = Vec::new();
    let sums = [ChecksumOf::Ip, ChecksumOf::Tcp, ChecksumOf::Udp].into_iter();
    let sums = sums.filter_map(|of| checksums(info, of));
    let sums: Vec<String> = sums.collect();
    if !sums.is_empty() {
        facts.push(("checksums", sums.join("; ")));
    }
    if h.bridges.packets > 0 {
        let roots: Vec<String> = h.bridges.roots().map(|(_, r)| bridge_text(r)).collect();
        let root = match roots.as_slice() {
            [] => "no root named".to_owned(),
            [first, rest @ ..] if rest.iter().all(|r| r == first) => format!("root {first}"),
            [first, ..] => format!("{} trees, one with root {first}", roots.len()),
        };
        let changes = h.bridges.root_changes().len();
        let topology = h.bridges.topology_changes();
        let first = topology.first();
        let first = first.map_or(String::new(), |c| format!(" ({})", frame(info, c.first)));
        facts.push((
            "bridges",
            format!(
                "{root}; root changed {}, topology {}{first}",
                times(changes),
                times(topology.len())
            ),
        ));
    }
    let (holders, askers) = h.neighbours.hosts();
    if holders + askers > 0 || !h.invalid_arps.is_empty() {
        let invalid = h.invalid_arps.iter().map(|(fault, a)| {
            let first = a.shown.first().map_or(String::new(), |m| frame(info, *m));
            format!(
                "{} {} ({first})",
                grouped(a.count),
                fault.name().replace('-', " ")
            )
        });
        let invalid: Vec<String> = invalid.collect();
        let invalid = match invalid.as_slice() {
            [] => "no packet invalid".to_owned(),
            list => format!("invalid: {}", list.join(", ")),
        };
        facts.push((
            "ARP",
            format!(
                "addresses of hosts {}, hosts that ask {}; {invalid}",
                grouped(holders as u64),
                grouped(askers as u64)
            ),
        ));
    }
    if !h.undelivered.reasons.is_empty() {
        let reasons = h.undelivered.reasons.iter();
        let reasons = reasons.map(|(name, n)| format!("{} {name}", grouped(*n)));
        let reasons: Vec<String> = reasons.collect();
        let returned = h.undelivered.all();
        let own = returned.iter().filter(|r| r.concerns.is_some()).count();
        facts.push((
            "given back",
            format!(
                "{} by ICMP; {} of {} belong to connections here",
                reasons.join(", "),
                grouped(own as u64),
                counted(returned.len() as u64, "flow")
            ),
        ));
    }
    if h.fragments.fragments > 0 {
        facts.push((
            "fragments",
            format!(
                "{}; {} whole, {} not",
                counted(h.fragments.fragments, "fragment"),
                counted(h.fragments.complete, "datagram"),
                grouped(h.fragments.incomplete().len() as u64)
            ),
        ));
    }
    let hints = h.tags.hints();
    if let Some(hint) = hints.first() {
        facts.push(("wrong VLAN?", hint_text(hint).to_string()));
    }
    facts
}

fn times(n: usize) -> String {
    match n {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

/// What the checksums of one kind are, over all senders.
fn checksums(info: &InfoResult, of: ChecksumOf) -> Option<String> {
    let total = info.health.checksums.total(of);
    let parts = [
        (total.right, "right"),
        (total.unfinished, "left to the card"),
        (total.joined, "joined by a card"),
        (total.wrong, "wrong"),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts
        .map(|(n, what)| format!("{} {what}", grouped(*n)))
        .collect();
    (!parts.is_empty()).then(|| format!("{} {}", of.name().to_uppercase(), parts.join(", ")))
}

fn drops(info: &InfoResult) -> String {
    let missing = info.captures.first().map_or(String::new(), |c| {
        format!("{} acknowledged but missing", bytes(c.missing_bytes))
    });
    let said = match (info.files.dropped_by_interface, info.files.dropped_by_os) {
        (None, None) => "the files do not say".to_owned(),
        (interface, os) => {
            let count = |n: Option<u64>| n.map_or("unknown".to_owned(), grouped);
            format!(
                "by the interface {}, by the system {}",
                count(interface),
                count(os)
            )
        }
    };
    format!("{said}; {missing}")
}

fn order(info: &InfoResult) -> String {
    let b = &info.backwards;
    match (b.packets, b.largest_at) {
        (0, _) | (_, None) => "strictly by time".to_owned(),
        (n, Some(at)) => format!(
            "{} earlier than the one before, by {} at most ({})",
            counted(n, "packet"),
            format_duration(b.largest_ns),
            frame(info, at)
        ),
    }
}

fn casts(info: &InfoResult) -> String {
    let known = info.casts.iter().filter(|(c, _)| *c != Cast::Unknown);
    let list = known.map(|(cast, amount)| {
        let name = match cast {
            Cast::Unicast => "one host",
            Cast::Multicast => "groups",
            Cast::Broadcast => "everybody",
            Cast::Unknown => "",
        };
        let part = share(amount.packets as i64, info.total.packets as i64);
        format!("{name} {} ({part})", counted(amount.packets, "packet"))
    });
    list.collect::<Vec<_>>().join(", ")
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn tables(info: &InfoResult) -> Vec<Section> {
    let whole = info.total.bytes as i64;
    let mut sections = Vec::new();
    if !info.kinds.is_empty() {
        let mut rows = vec![cells(["protocol", "packets", "bytes", "share"])];
        rows.extend(info.kinds.iter().map(|(kind, a)| {
            let name = match kind {
                model::SightKind::Ip(number) => format!("ip {number}"),
                kind => kind.name().to_owned(),
            };
            vec![
                name,
                grouped(a.packets),
                bytes(a.bytes),
                share(a.bytes as i64, whole),
            ]
        }));
        sections.push(Section {
            title: "Packets by protocol",
            rows,
            text: 1,
        });
    }
    if !info.spoken.is_empty() {
        let mut rows = vec![cells(["protocol", "calls", "whole"])];
        rows.extend(info.spoken.iter().map(|(protocol, s)| {
            vec![
                protocol.name().to_owned(),
                grouped(s.calls),
                grouped(s.whole),
            ]
        }));
        sections.push(Section {
            title: "Calls by protocol",
            rows,
            text: 1,
        });
    }
    let senders = info.health.floods.senders();
    if !senders.is_empty() {
        let mut rows = vec![cells([
            "from",
            "broadcasts",
            "bytes",
            "to groups",
            "mostly",
        ])];
        rows.extend(senders.iter().take(5).map(|s| {
            vec![
                hardware_text(s.hardware),
                grouped(s.broadcast.packets),
                bytes(s.broadcast.bytes),
                grouped(s.multicast.packets),
                s.holds().map_or("", |k| k.name()).to_owned(),
            ]
        }));
        sections.push(Section {
            title: match senders.len() > 5 {
                true => "Who sends most to everybody (of more)",
                false => "Who sends to everybody",
            },
            rows,
            text: 1,
        });
    }
    if !info.pairs.is_empty() {
        let mut rows = vec![cells([
            "hosts",
            "packets",
            "bytes out",
            "bytes back",
            "share",
        ])];
        rows.extend(info.pairs.iter().map(|p| {
            let [a, b] = p.hosts;
            let [out, back] = p.ways;
            vec![
                format!("{a} → {b}"),
                grouped(p.packets()),
                bytes(out.bytes),
                bytes(back.bytes),
                share(p.bytes() as i64, whole),
            ]
        }));
        sections.push(Section {
            title: match info.pair_count > info.pairs.len() as u64 {
                true => "Hosts that talk most (of more)",
                false => "Hosts that talk",
            },
            rows,
            text: 1,
        });
    }
    sections
}
