//! # What it says
//! A database broke calls off before they were done: sessions waited for each other
//! (a deadlock), a lock did not come within the time that a client allows
//! (lock_timeout, innodb_lock_wait_timeout, NOWAIT), a statement took longer than
//! it may (statement_timeout, max_execution_time), or somebody cancelled it.
//!
//! # Why it costs time
//! What such a call took was in vain, and whoever wants the result asks again. How
//! long it took is the limit, not the work.
//!
//! # How sure
//! The server says so with the code of its error. That is no time of its own: what
//! broke off for a lock waited for another session (lock-wait), and the rest stays
//! with whoever the packets show it with, as a server that works for too long is
//! slow. One code can mean two things: PostgreSQL says 57014 of a limit and of a
//! cancel, and 55P03 of a lock that nobody wanted to wait for (NOWAIT). Calls that
//! all took as long ended at a limit.
//!
//! # What to check next
//! A deadlock: the server's log, or SHOW ENGINE INNODB STATUS, names both
//! statements; let all transactions take their rows in one order. A lock: who held
//! it (pg_locks with pg_stat_activity, log_lock_waits, sys.innodb_lock_waits,
//! v$session), often a session that is idle in a transaction. A limit: the
//! statement's plan, before the limit. A cancel: pools and drivers cancel what
//! takes longer than their own timeout.
//!
//! # When it is wrong
//! Queues that are made of tables ask with NOWAIT and expect to be refused.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::broken_off::{Broken, Why};
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Text, Value, text};
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    code: "broken-off",
    title: "the server broke calls off: a deadlock, a lock, a limit, a cancel",
    side: None,
    of: Of::Calls,
    sure: [0.9, 0.9],
    page: page!("broken_off.rs"),
    check,
};

/// Its fact: how long they took in all.
const TOOK: &str = "took_ns";

/// As of a stall, a twentieth of the time is enough to say it.
const WORTH_SHARE: i64 = 20;

/// What ends at a limit takes as long as all others: the longest as long as the mean, but for so much of it.
const SAME: i64 = 20;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let capture = facts.at_client().or(facts.captures.first())?;
    let broken_off = &capture.broken_off;
    let ns = broken_off.ns();
    let is_worth = ns >= facts.account.total_ns / WORTH_SHARE && ns >= facts.thresholds.tail_ns;
    if !is_worth {
        return None;
    }
    let mut by_code: Vec<&Broken> = broken_off.by_code.iter().collect();
    by_code.sort_by_key(|b| Reverse(b.took.total_ns()));
    let most = by_code.first()?;
    let longest = broken_off.longest.exhibits.first()?.value_ns;
    let each = by_code.iter().map(|b| of_code(b)).collect();
    Some(Finding {
        title: text!(
            "The server broke {calls,} call{calls||s} off{mostly}, {why}",
            calls = broken_off.calls(),
            mostly = match by_code.iter().all(|b| b.why == most.why) {
                true => "",
                false => ", most of the time",
            },
            why = named(most.why),
        ),
        first: broken_off.longest.first,
        last: broken_off.longest.last,
        facts: numbers([
            ("calls", broken_off.calls() as i64),
            (TOOK, ns),
            ("longest_ns", longest),
        ]),
        evidence: evidence::of_calls(
            facts,
            &broken_off.longest,
            "the request, and the answer that says so, of those that took longest",
        ),
        why: text!(
            "{ns} of {total} went to calls that the server broke off: {each}.",
            ns = Value::Duration(ns),
            total = Value::Duration(facts.account.total_ns.max(ns)),
            each = Text::list(each, "; "),
        ),
        remedy: vec![remedy(most.why).into()],
        ..Rule::BrokenOff.finding()
    })
}

/// How long calls took that the server broke off, if that is what is found.
pub(crate) fn broken_off_ns(finding: &Finding) -> Option<i64> {
    let is_it = finding.rule == Rule::BrokenOff;
    let took = finding
        .facts
        .iter()
        .find(|fact| is_it && fact.name == TOOK)?;
    Some(took.value)
}

/// `10 at a deadlock (40P01), 1.00 s each`.
fn of_code(b: &Broken) -> Text {
    let count = b.took.count();
    let mean = b.took.total_ns() / count.max(1) as i64;
    let are_alike = b.took.max_ns() - mean <= mean / SAME;
    text!(
        "{count,} {why} ({code}), {each}",
        count = count,
        why = named(b.why),
        code = b.code.as_str().to_owned(),
        each = match (count, are_alike) {
            (1, _) => text!("after {mean}", mean = Value::Duration(mean)),
            (_, true) => text!("each after {mean}", mean = Value::Duration(mean)),
            _ => text!(
                "{mean} on average, {max} at most",
                mean = Value::Duration(mean),
                max = Value::Duration(b.took.max_ns()),
            ),
        },
    )
}

fn named(why: Why) -> &'static str {
    match why {
        Why::Deadlock => "in a deadlock",
        Why::Lock => "for a lock that others held",
        Why::Limit => "at a limit of time",
        Why::Cancel => "at a limit of time, or as somebody cancelled",
    }
}

fn remedy(why: Why) -> &'static str {
    match why {
        Why::Deadlock => {
            "let all transactions change their rows in one order; the server's log names the statements that waited for each other"
        }
        Why::Lock => {
            "see who holds what these calls want, and why he keeps it: often a session that is idle in a transaction"
        }
        Why::Limit | Why::Cancel => {
            "look at what these statements do until then, not at how long they took: that is the limit"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, found};
    use super::*;
    use crate::broken_off::BrokenOff;
    use crate::sql::tests::{call, sql};
    use model::{Code, Outcome, sql::op};

    fn broken_off(calls: &[(&str, i64)]) -> BrokenOff {
        let mut all = BrokenOff::default();
        for (code, ms) in calls {
            let mut c = call(
                op::EXECUTE,
                &sql("ann", Some("update t set n = 1")),
                0,
                *ms,
                0,
            );
            c.outcome = match *code {
                "" => Outcome::Ok,
                code => Outcome::Code(Code::public(code)),
            };
            all.call(&c, 0);
        }
        all
    }

    fn of(calls: &[(&str, i64)]) -> Option<Finding> {
        found(Rule::BrokenOff, |f| {
            f.captures[0].broken_off = broken_off(calls);
        })
    }

    #[test]
    fn what_a_server_broke_off_is_told_by_why_and_for_how_long() {
        let worth = TOTAL_NS / MS;
        let finding = of(&[("40P01", worth), ("57014", 2), ("57014", 2), ("", worth)]).unwrap();
        assert!(
            finding
                .why
                .to_string()
                .contains("1 in a deadlock (40P01), after"),
            "{}",
            finding.why
        );
        assert!(
            finding
                .why
                .to_string()
                .contains("2 at a limit of time, or as somebody cancelled (57014), each after"),
            "{}",
            finding.why
        );
        assert_eq!(finding.facts[0].value, 3);
        assert_eq!(finding.cost_ns, None);
    }

    #[test]
    fn other_errors_and_calls_that_were_answered_are_not_broken_off() {
        assert!(of(&[("42P01", TOTAL_NS / MS), ("", TOTAL_NS / MS)]).is_none());
    }

    #[test]
    fn a_twentieth_of_the_time_is_worth_telling() {
        let border = TOTAL_NS / WORTH_SHARE / MS;
        let took = broken_off(&[("ER-1205", border)]).ns() / MS;
        assert!(of(&[("ER-1205", border)]).is_some());
        assert!(of(&[("ER-1205", border - (took - border) - 1)]).is_none());
    }
}
