//! A diagnosis for people: the answer first, then where the time goes, what to do, and the proof.
//!
//! A page of 80 columns. Only commands that are meant to be copied may be wider.

mod budget;
pub(crate) mod captures;
pub(crate) mod files;
pub(crate) mod held;
mod joined;
pub(crate) mod tables;

pub(crate) use budget::{BudgetLine, Parts};

use crate::page::{Tone, columns, prose};
use crate::text::{bytes, grouped, overlap, quoted, rate, shell, wrap};
use crate::{concentrated, hops, hosts, layers, peers, tiers};
use analysis::results::{CostOf, Diagnosis, Evidence, Fact, Finding, Side, Verdict};
use jiff::tz::TimeZone;
use model::format_duration;
use std::io::{self, Write};

/// Frames and filters of one finding.
const FRAMES: usize = 8;
pub(crate) const EVIDENCE: usize = 3;

/// Writes the page; `zone` is where moments are shown.
///
/// # Errors
/// Those of `out`.
pub fn diagnosis_text(d: &Diagnosis, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    let sections = [
        answer(d, zone),
        peers::text(d),
        held::held_up(d).map_or_else(String::new, tables::OpTable::text),
        budget::budget(d),
        hops::text(d),
        tiers::text(d),
        layers::text(d),
        tables::response_times(&d.ops),
        tables::matched(&d.ops),
        tables::errors(&d.ops),
        tables::unmatched(&d.ops),
        files::files(d),
        d.app.as_ref().map_or_else(String::new, joined::joined),
        findings(d, zone),
        hosts::text(d),
        captures::captures(d, zone),
        d.notes
            .iter()
            .map(|n| wrap(&Tone::Notable.paint("Note: "), 6, &n.to_string()))
            .collect(),
    ];
    let mut first = true;
    for section in sections.iter().filter(|s| !s.is_empty()) {
        if !first {
            writeln!(out)?;
        }
        out.write_all(section.as_bytes())?;
        first = false;
    }
    Ok(())
}

fn answer(d: &Diagnosis, zone: &TimeZone) -> String {
    let confidence = confidence(d, zone);
    match confidence.is_empty() {
        true => verdict(&d.verdict),
        false => verdict(&d.verdict) + &wrap("", 0, &confidence),
    }
}

/// What it costs, unless that is said, on whom, and how sure it is.
pub(crate) fn confidence(d: &Diagnosis, zone: &TimeZone) -> String {
    let cause = d.verdict.cause;
    let finding = d.findings.iter().find(|f| Some(f.rule) == cause);
    let cost = finding.and_then(|f| Some((f.cost_ns?, f.cost_of(d))));
    let mut line = String::new();
    if let Some((cost, of)) = cost
        && !d
            .verdict
            .sentence
            .to_string()
            .contains(&format_duration(cost))
    {
        // What was never answered is not among the time of calls.
        let all = match of {
            CostOf::Calls | CostOf::Streams => {
                format!(" of {} of call time", format_duration(d.call_time_ns))
            }
            _ => String::new(),
        };
        line = format!(
            "Costs {}{all} in {}. ",
            format_duration(cost),
            format_duration(d.elapsed_ns)
        );
    }
    line.push_str(&concentrated::of_verdict(d, zone));
    let sure = match d.verdict.confidence {
        c if c >= 0.8 => "high",
        c if c >= 0.5 => "moderate",
        _ => "low",
    };
    if d.verdict.side != Side::Undetermined {
        let per_cent = d.verdict.confidence * 100.0;
        line.push_str(&format!("Confidence {sure} ({per_cent:.0} %). "));
    }
    if let Some(certain) = held::certain_per_cent(d) {
        line.push_str(&format!(
            "For {certain} % of the time it is certain whose it is. "
        ));
    }
    if d.streams_ledger.is_none() {
        line.push_str(&overlap(d.call_time_ns, d.elapsed_ns));
    }
    line.trim_end().to_owned()
}

/// The sentence; who is to blame stands in capitals.
fn verdict(v: &Verdict) -> String {
    let mut sentence = v.sentence.to_string();
    for side in ["CLIENT", "NETWORK", "SERVER"] {
        sentence = sentence.replace(side, &Tone::Accused.paint(side));
    }
    let text = wrap("", 0, &sentence);
    match v.side {
        Side::None => Tone::Fine.paint_lines(&text),
        Side::Undetermined => Tone::Notable.paint_lines(&text),
        _ => text,
    }
}

fn findings(d: &Diagnosis, zone: &TimeZone) -> String {
    if d.findings.is_empty() {
        return String::new();
    }
    let mut text = Tone::Title.paint("Findings") + "\n";
    for (i, f) in d.findings.iter().enumerate() {
        text.push_str(&finding(i + 1, f, d, zone));
    }
    text
}

fn finding(number: usize, f: &Finding, d: &Diagnosis, zone: &TimeZone) -> String {
    let cost = cost(f);
    let mut text = format!(
        "{number:<2} {}   {}   {}\n",
        Tone::Title.paint(f.rule.code()),
        f.side.name(),
        severity(f, d).map_or(cost.clone(), |tone| tone.paint(&cost)),
    );
    if columns(&text) > prose() {
        text = wrap("", 3, &text);
    }
    if !f.facts.is_empty() {
        let facts: Vec<String> = f.facts.iter().map(fact).collect();
        text.push_str(&Tone::Faint.paint_lines(&wrap("   ", 3, &facts.join(", "))));
    }
    for sentence in concentrated::sentences(f, d, zone) {
        text.push_str(&wrap("   ", 3, &sentence));
    }
    text.push_str(&wrap("   ", 3, &f.why.to_string()));
    for remedy in &f.remedy {
        text.push_str(&wrap("   Do: ", 7, &remedy.to_string()));
    }
    for e in f.evidence.iter().take(EVIDENCE) {
        text.push_str(&see(e, d));
    }
    if f.evidence.len() > EVIDENCE {
        let rest = (f.evidence.len() - EVIDENCE) as u64;
        text.push_str(&format!(
            "        … and {} more (--format json)\n",
            grouped(rest)
        ));
    }
    let more = format!("   More: slowside explain {}\n", f.rule);
    text.push_str(&Tone::Faint.paint_lines(&more));
    text
}

pub(crate) fn cost(f: &Finding) -> String {
    match (f.cost_ns, f.elapsed_cost_ns) {
        (Some(cost), Some(elapsed)) => {
            format!(
                "{} ({} elapsed)",
                format_duration(cost),
                format_duration(elapsed)
            )
        }
        (Some(cost), None) => format_duration(cost),
        (None, _) if f.fatal => "ends the work".to_owned(),
        (None, _) => "no cost of its own".to_owned(),
    }
}

/// How much of the time of calls a finding has: a quarter is severe, a twentieth worth a look.
fn severity(f: &Finding, d: &Diagnosis) -> Option<Tone> {
    let cost = f.cost_ns.unwrap_or(0);
    match d.call_time_ns {
        _ if f.fatal => Some(Tone::Severe),
        all if cost > 0 && cost >= all / 4 => Some(Tone::Severe),
        all if cost > 0 && cost >= all / 20 => Some(Tone::Notable),
        _ => None,
    }
}

/// A fact in words: `unloaded service time 4.11 ms`.
pub(crate) fn fact(f: &Fact) -> String {
    let (name, value) = if let Some(name) = f.name.strip_suffix("_ns") {
        (name, format_duration(f.value))
    } else if let Some(name) = f.name.strip_suffix("_bytes") {
        let size = bytes(f.value.unsigned_abs());
        (
            name,
            if f.value < 0 {
                format!("-{size}")
            } else {
                size
            },
        )
    } else if let Some(name) = f.name.strip_suffix("_ppm") {
        (name, format!("{} ppm", f.value))
    } else if let Some(name) = f.name.strip_suffix("_bps") {
        (name, rate(f.value.unsigned_abs()))
    } else {
        let sign = if f.value < 0 { "-" } else { "" };
        (f.name, format!("{sign}{}", grouped(f.value.unsigned_abs())))
    };
    format!("{} {value}", name.replace('_', " "))
}

/// The packets that prove it, and a command that shows them.
fn see(e: &Evidence, d: &Diagnosis) -> String {
    let (what, command) = shown(e, d);
    let mut text = wrap("   See: ", 8, &what);
    if let Some(command) = command {
        text.push_str(&format!("        {}\n", Tone::Faint.paint(&command)));
    }
    text
}

/// Frames and what they show; the command.
pub(crate) fn shown(e: &Evidence, d: &Diagnosis) -> (String, Option<String>) {
    let file = d
        .captures
        .get(e.capture)
        .and_then(|c| c.files.get(e.file))
        .map_or("?", String::as_str);
    let mut what = file.to_owned();
    if !e.frames.is_empty() {
        let frames: Vec<String> = e.frames.iter().take(FRAMES).map(u32::to_string).collect();
        what.push_str(if frames.len() == 1 {
            " frame "
        } else {
            " frames "
        });
        what.push_str(&frames.join(", "));
        if e.frames.len() > FRAMES {
            what.push_str(", …");
        }
    }
    if !e.shows.is_empty() {
        what.push_str(&format!(": {}", e.shows));
    }
    let command = match file {
        _ if e.filter.is_empty() => None,
        "-" => Some(format!("Wireshark display filter {}", e.filter)),
        file => Some(format!(
            "tshark -r {} -Y {}",
            shell(file),
            quoted(&e.filter)
        )),
    };
    (what, command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    fn page(d: &Diagnosis) -> String {
        let text = samples::written(|out| diagnosis_text(d, &TimeZone::UTC, out));
        assert!(
            text.lines()
                .all(|l| l.chars().count() <= 80 || l.contains("tshark")),
            "{text}"
        );
        text
    }

    #[test]
    fn two_captures() {
        expect![[r#"
            The SERVER is slow: of 33.2 ms per call it holds 33.1 ms, mostly queueing; it
            works on about 4 calls at a time while 32 wait (server-concurrency-cap).
            Costs 75.1 s of 86.3 s of call time in 2.70 s. Confidence high (95 %). For 99 %
            of the time it is certain whose it is. Calls overlap, some 32 at a time: all of
            it passed in 2.70 s.

            What held 2,600 calls up for 86.3 s, 33.2 ms each
                            a call  at least  at most  calls
            server         33.1 ms    86.0 s   86.1 s
              queue        29.0 ms    75.3 s   75.4 s  2,600
              service      4.11 ms    10.7 s           2,600
            network: path  80.0 µs    208 ms   286 ms  2,600

            Where a call's 33.2 ms go (2,600 calls)
              client host     not seen on the wire (give the application's times with --app)
              network out        0.05 ms  ▏
              server            33.07 ms  █████████████████████████████████████████████████▉
                service          4.11 ms  ██████▎
                queue           28.96 ms  ███████████████████████████████████████████▋
              network back       0.06 ms  ▏

            Response times in ms
                   --- client ---------------  --- server ---------------
            op     calls   mean    p50    p99  calls   mean    p50    p99
            READ   1,834  33.19  32.86  36.51  1,836  33.08  32.75  36.39
            WRITE    766  33.17  32.84  36.49    768  33.06  32.73  36.37

            The same calls in both captures, in ms
                          --- mean -----------  --- p50 ------------
            op     calls  client  server  diff  client  server  diff
            READ   1,834   33.19   33.08  0.11   33.19   33.08  0.11
            WRITE    766   33.17   33.06  0.11   33.17   33.06  0.11

            Not matched: 4 calls: 4 outside the time that both captures cover.

            Files that took most time, in ms
              share  calls   mean  file
              81%    2,100  33.19  /srv/db/undo01.dbf

            Findings
            1  server-concurrency-cap   server   75.1 s (2.30 s elapsed)
               cap 4, unloaded service time 4.11 ms
               Replies leave in fours every 4.1 ms; time in the server grows by 1.03 ms with
               each further call outstanding; below 4 outstanding a call takes 4.2 ms.
               Do: raise the server's NFS threads (Linux: /proc/fs/nfsd/threads; illumos:
                   sharectl set -p servers=N nfs), or find what the 4 are waiting for.
               See: server.pcap frames 812, 845, 901: three replies that left together
                    tshark -r server.pcap -Y 'rpc.xid==0x4ecb8123'
               More: slowside explain server-concurrency-cap
            2  client-concurrency-cap   client   no cost of its own
               cap 32
               Each new call waits for a reply.
               More: slowside explain client-concurrency-cap

            Captures
              client.pcap: taken at the client (stated)
                2.70 s from 2023-11-14 22:13:20 +00:00, 6,793 packets, 1.74 MB, snaplen 256,
                none dropped, 1 connection, 2,600 calls
              server.pcap: taken at the server (SYN timing)
                2.70 s from 2023-11-14 22:13:20 +00:00, 6,793 packets, 1.74 MB, snaplen 256,
                drops unknown, 1 connection, 2,600 calls
                4 calls seen by half: 3 after-capture, 1 before-capture
                damaged: cut-in-mid-record, 1: the file ends within a packet (server.pcap,
                  packet 6794, byte offset 1900000)
              Clocks: nothing contradicts that they agree (assumed synchronised; the offset
                cannot be known better than ±50.0 µs)

            Note: What the application waited before it called is not on the wire.
        "#]]
        .assert_eq(&page(&samples::diagnosis()));
    }

    #[test]
    fn one_capture() {
        let mut d = samples::diagnosis();
        d.captures.truncate(1);
        d.findings.clear();
        d.clock = None;
        d.notes.clear();
        d.budget = Default::default();
        d.verdict.cause = None;
        for o in &mut d.ops {
            o.server = None;
            o.matched = None;
        }
        expect![[r#"
            The SERVER is slow: of 33.2 ms per call it holds 33.1 ms, mostly queueing; it
            works on about 4 calls at a time while 32 wait (server-concurrency-cap).
            Confidence high (95 %). For 99 % of the time it is certain whose it is. Calls
            overlap, some 32 at a time: all of it passed in 2.70 s.

            What held 2,600 calls up for 86.3 s, 33.2 ms each
                            a call  at least  at most  calls
            server         33.1 ms    86.0 s   86.1 s
              queue        29.0 ms    75.3 s   75.4 s  2,600
              service      4.11 ms    10.7 s           2,600
            network: path  80.0 µs    208 ms   286 ms  2,600

            Response times in ms
            op     calls   mean    p50    p99
            READ   1,834  33.19  32.86  36.51
            WRITE    766  33.17  32.84  36.49

            Captures
              client.pcap: taken at the client (stated)
                2.70 s from 2023-11-14 22:13:20 +00:00, 6,793 packets, 1.74 MB, snaplen 256,
                none dropped, 1 connection, 2,600 calls
        "#]]
        .assert_eq(&page(&d));
    }

    #[test]
    fn facts_are_words_with_units() {
        for (name, value, text) in [
            ("cap", 16, "cap 16"),
            ("request_path_ns", 51_000, "request path 51.0 µs"),
            ("window_bytes", 65_535, "window 65.5 kB"),
            ("rate_bps", 1_000_000, "rate 1.00 Mbit/s"),
        ] {
            assert_eq!(fact(&Fact { name, value }), text);
        }
    }
}
