//! Logons that failed, for people: from which host to which server, with which codes, as whom.

use super::{SqlStyle, shown};
use crate::harmless::harmless;
use crate::page::Tone;
use crate::text::{counted, grouped, wrap};
use analysis::sql::{LogonsResult, SqlResult};
use model::{Outcome, format_duration};

/// Hosts, and kinds of failures of each, that a page shows unless all are asked for.
const HOSTS: usize = 5;
const KINDS: usize = 6;

/// `ORA-00942 × 3`, the most frequent first.
pub(crate) fn codes(codes: &[(Outcome, u64)]) -> String {
    let each = codes
        .iter()
        .map(|(code, n)| format!("{} × {}", harmless(code.name()), grouped(*n)));
    each.collect::<Vec<_>>().join(", ")
}

/// Of each host a line of numbers, and one of codes and users; and what is said of those that are left out.
pub(crate) fn failed(result: &SqlResult, style: SqlStyle) -> (Vec<(String, String)>, String) {
    let all: Vec<&LogonsResult> = result.logons.iter().filter(|l| l.failed > 0).collect();
    let (some, more) = shown(&all, style, HOSTS);
    let lines = some.iter().map(|l| (numbers(l), kinds(l, style))).collect();
    let more = match more {
        0 => String::new(),
        n => format!(
            "… and {} (--all shows them)",
            counted(n as u64, "further host")
        ),
    };
    (lines, more)
}

fn numbers(l: &LogonsResult) -> String {
    let within = l.first.zip(l.last).map_or(0, |(a, b)| b - a);
    let within = match within {
        0 => String::new(),
        ns => format!(" within {}", format_duration(ns)),
    };
    format!(
        "{} → {} {}: {} of {} failed{within}, the calls that failed took {}",
        l.client,
        l.server,
        l.protocol,
        grouped(l.failed),
        counted(l.failed + l.succeeded, "logon"),
        format_duration(l.failed_ns),
    )
}

fn kinds(l: &LogonsResult, style: SqlStyle) -> String {
    let (some, more) = shown(&l.failures, style, KINDS);
    let named = |code| {
        l.failures
            .iter()
            .any(|f| f.code == code && f.user.is_some())
    };
    let each = some.iter().map(|f| {
        let user = match &f.user {
            Some(user) => format!(" as {}", harmless(user)),
            None if named(f.code) => " as others".to_owned(),
            None => String::new(),
        };
        format!("{}{user} × {}", harmless(f.code.name()), grouped(f.count))
    });
    let mut kinds = each.collect::<Vec<_>>().join(", ");
    if more > 0 {
        kinds.push_str(&format!(", … in all {}", codes(&l.codes())));
    }
    kinds
}

/// The section of a page; nothing where none failed.
pub(super) fn section(result: &SqlResult, style: SqlStyle) -> String {
    let (lines, more) = failed(result, style);
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", Tone::Title.paint("Failed logons"));
    for (numbers, kinds) in lines {
        text.push_str(&wrap("", 3, &numbers));
        text.push_str(&wrap("   ", 3, &kinds));
    }
    if !more.is_empty() {
        text.push_str(&format!("{more}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use analysis::sql::Failure;
    use model::{Code, Protocol, Time};

    #[test]
    fn failed_logons_say_from_where_as_whom_and_why() {
        let mut result = samples::profile();
        assert_eq!(
            section(
                &result,
                SqlStyle {
                    all: false,
                    literals: false
                }
            ),
            ""
        );
        let failure = |code: &str, user: &str, count| Failure {
            code: Outcome::Code(Code::public(code)),
            user: Some(user.into()),
            count,
        };
        let end = result.sessions[0].server;
        result.logons = vec![LogonsResult {
            protocol: Protocol::Tns,
            client: [10, 0, 0, 1].into(),
            server: end,
            succeeded: 12,
            failed: 688,
            burst: true,
            failed_ns: 7_400_000_000,
            first: Some(Time(0)),
            last: Some(Time(2_900_000_000)),
            failures: vec![
                failure("ORA-01017", "SYS", 672),
                failure("ORA-28000", "SCOTT", 16),
            ],
            users: 2,
            has_more_users: false,
            evidence: Vec::new(),
        }];
        expect_test::expect![[r#"

            Failed logons
            10.0.0.1 → [fe80::1]:2049 tns: 688 of 700 logons failed within 2.90 s, the calls
               that failed took 7.40 s
               ORA-01017 as SYS × 672, ORA-28000 as SCOTT × 16
        "#]]
        .assert_eq(&section(
            &result,
            SqlStyle {
                all: false,
                literals: false,
            },
        ));
    }
}
