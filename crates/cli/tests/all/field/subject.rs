//! On whom a finding's cost must concentrate, or when (`lab/kit/expect.py`, `on`), against the `where` of findings.

use super::judge::{Range, object, pattern, range, strings, values};
use regex_lite::Regex;
use serde_json::Value;

pub(crate) struct Subject {
    findings: Vec<String>,
    /// By what the cost is divided, and the value; any of them will do.
    any: Vec<(String, Regex)>,
    share: Option<Range>,
    /// Of the durations that the value names, in seconds, each of them in order.
    durations: Vec<Range>,
}

impl Subject {
    pub(crate) fn read(value: &Value) -> Result<Subject, String> {
        let (mut findings, mut any) = (Vec::new(), Vec::new());
        let (mut share, mut durations) = (None, Vec::new());
        for (field, asked) in object(value)? {
            match field.as_str() {
                "of" => findings = strings(asked)?,
                "any" => {
                    for (by, text) in object(asked)? {
                        let text = text.as_str().ok_or("a value's pattern is no text")?;
                        any.push((by.clone(), pattern(text)?));
                    }
                }
                "share" => share = Some(range(asked)?),
                "durations_s" => {
                    durations = values(asked)?.iter().map(range).collect::<Result<_, _>>()?;
                }
                _ => return Err(format!("no such field of where: {field}")),
            }
        }
        if findings.is_empty() || any.is_empty() {
            return Err(format!("{value} names no finding or no subject"));
        }
        Ok(Subject {
            findings,
            any,
            share,
            durations,
        })
    }

    pub(crate) fn name(&self) -> String {
        let any = self.any.iter().map(|(by, value)| format!("{by} {value}"));
        let any: Vec<String> = any.collect();
        format!("{} on {}", self.findings.join(" or "), any.join(" or "))
    }

    /// What is said instead, where no entry of these findings holds.
    pub(crate) fn missed(&self, findings: &Value) -> Option<String> {
        let all = findings.as_array().into_iter().flatten();
        let mine = |f: &&Value| self.findings.iter().any(|code| f["code"] == code.as_str());
        let mine: Vec<&Value> = all.filter(mine).collect();
        let entries = mine.iter().filter_map(|f| f["where"].as_array()).flatten();
        let entries: Vec<&Value> = entries.collect();
        if entries.iter().any(|entry| self.holds(entry)) {
            return None;
        }
        if mine.is_empty() {
            return Some("no such finding".into());
        }
        let said = |e: &&Value| {
            format!(
                "{} {}, share {}",
                text(&e["by"]),
                text(&e["value"]),
                e["share"]
            )
        };
        let said: Vec<String> = entries.iter().map(said).collect();
        Some(if said.is_empty() {
            "on nobody".into()
        } else {
            format!("on {}", said.join("; "))
        })
    }

    fn holds(&self, entry: &Value) -> bool {
        let value = text(&entry["value"]);
        let named = durations(value);
        let mut pairs = self.durations.iter().zip(&named);
        self.any
            .iter()
            .any(|(by, pattern)| entry["by"] == by.as_str() && pattern.is_match(value))
            && self.share.as_ref().is_none_or(|s| s.holds(&entry["share"]))
            && (self.durations.is_empty()
                || self.durations.len() == named.len()
                    && pairs.all(|(range, seconds)| range.holds(&(*seconds).into())))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The durations that a text names, in seconds.
fn durations(text: &str) -> Vec<f64> {
    let pattern = Regex::new(r"(\d[\d,]*(?:\.\d+)?) ?(ns|µs|us|ms|s|min|h)\b").expect("a pattern");
    let seconds = |unit: &str| match unit {
        "ns" => 1e-9,
        "µs" | "us" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "h" => 3600.0,
        _ => 1.0,
    };
    let named = pattern.captures_iter(text);
    let number = |c: regex_lite::Captures<'_>| {
        let number: f64 = c[1].replace(',', "").parse().ok()?;
        Some(number * seconds(&c[2]))
    };
    named.filter_map(number).collect()
}
