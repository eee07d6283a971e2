//! A diagnosis as Markdown: the verdict, where the time goes, the findings with what to do, the captures.

use super::{code, escaped, sections, table, write};
use crate::diagnosis_text::held::held_up;
use crate::diagnosis_text::tables::{OpTable, errors, matched_table, response_table, unmatched};
use crate::diagnosis_text::{EVIDENCE, Parts, captures, confidence, cost, fact, files, shown};
use crate::hosts::{self, COUNTERS, KERNEL};
use crate::text::{Sorted, Unit, as_shown, problem, share};
use crate::{concentrated, hops, layers, peers, tiers};
use analysis::results::{CaptureResult, Diagnosis, Finding};
use jiff::tz::TimeZone;
use std::io::{self, Write};

/// Writes the page; `zone` is where moments are shown.
///
/// # Errors
/// Those of `out`.
pub fn diagnosis_markdown(d: &Diagnosis, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    write(out, || {
        let notes = d
            .notes
            .iter()
            .map(|n| format!("- Note: {}\n", escaped(&n.to_string())));
        let answer = [
            format!("**{}**", escaped(&d.verdict.sentence.to_string())),
            escaped(&confidence(d, zone)),
            budget(d),
            listed(peers::table(d)),
            listed(hops::table(d)),
            tiers(d),
            layers(d),
        ];
        let tables = [held_up(d), response_table(&d.ops), matched_table(&d.ops)];
        let tables = tables.into_iter().flatten().map(op_table);
        let rest = [
            escaped(&one_line(&errors(&d.ops))),
            escaped(&one_line(&unmatched(&d.ops))),
            all_files(d),
            findings(d, zone),
            hosts(d),
            all_captures(d, zone),
            notes.collect(),
        ];
        sections(answer.into_iter().chain(tables).chain(rest))
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn budget(d: &Diagnosis) -> String {
    let Some(parts) = Parts::of(d) else {
        return String::new();
    };
    let unit = Unit::for_duration(parts.total_ns);
    let mut rows = vec![["part", unit.name, "share"].map(str::to_owned).to_vec()];
    for part in &parts.lines {
        let name = match part.name.starts_with(' ') {
            true => format!("– {}", part.name.trim()),
            false => part.name.clone(),
        };
        rows.push(match part.ns {
            Ok(ns) => vec![name, unit.number(ns), share(ns, parts.total_ns)],
            Err(unknown) => vec![format!("{name}: {unknown}"), String::new(), String::new()],
        });
    }
    let rows = table(&rows, 1, |_| false);
    let notes = escaped(&parts.notes().join(" "));
    format!("### {}\n\n{rows}\n{notes}", escaped(&parts.title))
}

/// A table with its title, where there is one.
fn listed(of: Option<(String, Vec<Vec<Sorted>>)>) -> String {
    of.map_or_else(String::new, |(title, rows)| {
        let rows = table(&as_shown(rows), 1, |_| false);
        format!("### {title}\n\n{rows}")
    })
}

fn tiers(d: &Diagnosis) -> String {
    let each = tiers::all(d).into_iter().map(|t| {
        let said = tiers::said(t).join("\n\n");
        let table = t.below.as_ref().and_then(|d| held_up(d)).map(op_table);
        format!("{}\n\n{}", escaped(&said), table.unwrap_or_default())
    });
    match d.tiers.is_empty() {
        true => String::new(),
        false => format!("### {}\n\n{}", tiers::TITLE, each.collect::<String>()),
    }
}

fn layers(d: &Diagnosis) -> String {
    layers::table(d).map_or_else(String::new, |(title, rows)| {
        let rows = table(&rows, 1, |i| i == 5);
        format!("### {title}\n\n{rows}\n{}", layers::caution(d))
    })
}

fn hosts(d: &Diagnosis) -> String {
    if d.hosts.is_empty() {
        return String::new();
    }
    let said = d
        .hosts
        .iter()
        .map(hosts::said)
        .chain(hosts::contradicted(d));
    let said: String = said.map(|s| format!("- {}\n", escaped(&s))).collect();
    let tables = [(COUNTERS, hosts::counters(d)), (KERNEL, hosts::kernel(d))];
    let tables = tables.into_iter().filter_map(|(title, rows)| {
        let rows = rows?
            .into_iter()
            .map(|row| row.iter().map(|c| c.trim().to_owned()).collect());
        Some(format!(
            "\n### {title}\n\n{}",
            table(&rows.collect::<Vec<Vec<String>>>(), 1, |_| false)
        ))
    });
    said + &tables.collect::<String>()
}

/// The group of a column stands before its name: `client mean`.
fn op_table(mut op: OpTable) -> String {
    let names = op.groups.iter().flat_map(|(name, n)| vec![*name; *n]);
    if let Some(heads) = op.rows.first_mut() {
        for (head, name) in heads.iter_mut().skip(1).zip(names) {
            *head = format!("{name} {head}").trim().to_owned();
        }
    }
    let rows = table(&op.rows, 1, |_| false);
    format!(
        "### {}\n\n{rows}\n{}",
        escaped(&op.title),
        escaped(&op.more)
    )
}

fn all_files(d: &Diagnosis) -> String {
    let Some(mut files) = files::table(d) else {
        return String::new();
    };
    // What a row is about stands first.
    files.rows.iter_mut().for_each(|row| row.rotate_right(1));
    let rows = table(&files.rows, 1, |_| false);
    format!("### {}\n\n{rows}", escaped(&files.title))
}

fn findings(d: &Diagnosis, zone: &TimeZone) -> String {
    let mut text = String::new();
    for (number, f) in (1..).zip(&d.findings) {
        if number == 1 {
            text.push_str("### Findings\n\n");
        }
        text.push_str(&finding(number, f, d, zone));
    }
    text
}

fn finding(number: usize, f: &Finding, d: &Diagnosis, zone: &TimeZone) -> String {
    let mut text = format!(
        "{number}. {}, {}: **{}**\n",
        code(f.rule.code(), false),
        f.side.name(),
        cost(f)
    );
    let mut item = |line: String| text.push_str(&format!("   - {line}\n"));
    for sentence in concentrated::sentences(f, d, zone) {
        item(escaped(&sentence));
    }
    item(escaped(&f.why.to_string()));
    if !f.facts.is_empty() {
        let facts: Vec<String> = f.facts.iter().map(fact).collect();
        item(escaped(&facts.join(", ")));
    }
    for remedy in &f.remedy {
        item(format!("Do: {}", escaped(&remedy.to_string())));
    }
    for e in f.evidence.iter().take(EVIDENCE) {
        let (what, command) = shown(e, d);
        let command = command.map_or_else(String::new, |c| format!(": {}", code(&c, false)));
        item(format!("See: {}{command}", escaped(&what)));
    }
    text
}

fn all_captures(d: &Diagnosis, zone: &TimeZone) -> String {
    let mut text = String::from("### Captures\n\n");
    for c in &d.captures {
        text.push_str(&capture(c, zone));
    }
    for line in captures::clocks(d, zone) {
        text.push_str(&format!("- Clocks: {}\n", escaped(&line)));
    }
    text
}

fn capture(c: &CaptureResult, zone: &TimeZone) -> String {
    let (name, side) = captures::name(c);
    let mut text = format!("- {}: {}\n", code(&name, false), escaped(&side));
    let mut item = |line: &str| text.push_str(&format!("  - {}\n", escaped(line)));
    item(&captures::facts(c, zone));
    captures::lacks(c).iter().for_each(|line| item(line));
    for (kind, p) in c.problems.iter() {
        let head = if p.damage { "damaged" } else { "note" };
        item(&format!("{head}: {}", problem(kind, p)));
    }
    text
}
