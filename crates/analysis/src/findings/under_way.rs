//! Findings about what messages waited for under way: what they have in common, which is all but
//! their words.

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{DirectionResult, Fact, Finding, Side};
use crate::streams::{DIRECTIONS, Longest, receiver, sender, word};
use model::{Direction, TimeClass};

/// One direction's waits of a class.
pub(super) struct UnderWay<'a> {
    facts: &'a Facts<'a>,
    class: TimeClass,
    pub direction: Direction,
    longest: Vec<Longest<'a>>,
}

/// What a finding says of such waits.
pub(super) struct Said<'a> {
    pub title: String,
    pub side: Side,
    pub cost_ns: Option<i64>,
    pub confidence: f64,
    pub numbers: &'a [(&'static str, i64)],
    /// What the packets named as evidence are.
    pub shows: &'a str,
    pub why: String,
    pub remedy: String,
}

impl<'a> UnderWay<'a> {
    /// Of the direction for which `ns` gives more.
    pub(super) fn most(
        facts: &'a Facts<'a>,
        class: TimeClass,
        ns: impl Fn(Direction) -> i64,
    ) -> Option<UnderWay<'a>> {
        let direction = DIRECTIONS.into_iter().max_by_key(|d| ns(*d))?;
        Some(UnderWay {
            facts,
            class,
            direction,
            longest: facts.streams.longest(direction, class),
        })
    }

    /// Of the direction that waited longer, if that may be accused; with how long it was.
    pub(super) fn guilty(facts: &'a Facts<'a>, class: TimeClass) -> Option<(UnderWay<'a>, i64)> {
        let waits = UnderWay::most(facts, class, |d| facts.under_way(d, class))?;
        let ns = facts.under_way(waits.direction, class);
        facts.holds_up(ns).then_some((waits, ns))
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        let stretches = |l: &Longest<'_>| self.of(l).account.stretches[self.class];
        self.longest.iter().map(|l| u64::from(stretches(l))).sum()
    }

    /// How long the window was closed, of connections that have such waits.
    pub(super) fn zero_window_ns(&self) -> i64 {
        let each = self.longest.iter();
        each.map(|l| self.of(l).account.zero_window_ns).sum()
    }

    /// The direction of the connection with the longest.
    pub(super) fn worst(&self) -> Option<&'a DirectionResult> {
        self.longest.first().map(|l| self.of(l))
    }

    fn of(&self, l: &Longest<'a>) -> &'a DirectionResult {
        &l.connection.directions[self.direction.index()]
    }

    pub(super) fn sender(&self) -> Side {
        sender(self.direction)
    }

    pub(super) fn receiver(&self) -> Side {
        receiver(self.direction)
    }

    /// The sender and the receiver, as words in a sentence.
    pub(super) fn words(&self) -> (&'static str, &'static str) {
        (word(self.sender()), word(self.receiver()))
    }

    pub(super) fn finding(&self, rule: &Rule, said: Said<'_>) -> Finding {
        let fact = |&(name, value): &(&'static str, i64)| Fact { name, value };
        Finding {
            code: rule.code,
            title: said.title,
            side: said.side,
            cost_ns: said.cost_ns,
            elapsed_cost_ns: None,
            fatal: false,
            confidence: said.confidence,
            first: self.longest.iter().map(|l| l.wait.first.time).min(),
            last: self.longest.iter().map(|l| l.wait.last.time).max(),
            facts: said.numbers.iter().map(fact).collect(),
            evidence: evidence::of_waits(self.facts, self.direction, self.class, said.shows),
            why: said.why,
            remedy: vec![said.remedy],
        }
    }
}
