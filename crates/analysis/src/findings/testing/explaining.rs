//! What the tests of rules share that explain an accused side by a counter of its host.

use super::{MS, TOTAL_NS, found, pressed};
use crate::findings::Rule;
use crate::results::{Finding, Fit, Side};
use ledger::Cause;
use trace::host::Counter;

pub(crate) struct Explains {
    pub rule: Rule,
    /// One that it takes, and one that it does not.
    pub counter: Counter,
    pub another: Counter,
}

impl Explains {
    /// The server has so much of the time for certain, and a counter of a side goes so with its calls.
    fn said(&self, own_ns: i64, side: Side, counter: Counter, fit: Fit) -> Option<Finding> {
        found(self.rule, |f| {
            f.charge(Cause::Service, own_ns);
            f.hosts = vec![pressed(side, counter, fit)];
        })
    }
}

pub(crate) fn is_said(by: &Explains) {
    let f = by.said(TOTAL_NS / 2, Side::Server, by.counter, Fit::Goes);
    let f = f.expect("the finding");
    assert_eq!((f.side, f.cost_ns, f.fatal), (Side::Server, None, false));
    let why = f.why.to_string();
    let took = "The server took 50.0 ms of a call that began then, and 2.00 ms of others";
    assert!(why.contains(took), "{why}");
    let mut numbers = f.facts.iter();
    assert!(numbers.any(|n| n.name == "mean_while_high_ns" && n.value == 50 * MS));
}

pub(crate) fn is_silent(by: &Explains) {
    let half = TOTAL_NS / 2;
    let goes = |side, counter| by.said(half, side, counter, Fit::Goes);
    assert!(goes(Side::Client, by.counter).is_none());
    assert!(goes(Side::Server, by.another).is_none());
    for fit in [
        Fit::NeverHigh,
        Fit::AlwaysHigh,
        Fit::TooFew,
        Fit::NotSlower,
        Fit::Elsewhere,
        Fit::Chance,
    ] {
        let said = by.said(half, Side::Server, by.counter, fit);
        assert!(said.is_none(), "{fit:?}");
    }
    assert!(found(by.rule, |_| ()).is_none());
}

pub(crate) fn has_a_border(by: &Explains) {
    let of = |ns| by.said(ns, Side::Server, by.counter, Fit::Goes);
    assert!(of(TOTAL_NS / 4).is_some());
    assert!(of(TOTAL_NS / 4 - 1).is_none());
}
