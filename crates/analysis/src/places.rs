//! Calls' ledgers into where the cost of findings concentrates: on whom, on what, when.
//!
//! Findings are known only when calls were divided and summed; each is charged what is certain of the lines that it
//! owns, which was kept of each call.

use crate::account::{Account, Basis};
use crate::attributes::AllAttributes;
use crate::files::Exports;
use crate::half::OpTable;
use crate::results::{Concentrated, Finding, What};
use crate::sql::SqlResult;
use concentration::{By, Charge, Concentration, Place, Value};
use ledger::{Cause, Certain, Kept, Sums};
use model::{Direction, Time};

/// Which finding owns what is charged to a cause, by direction.
struct Owners([[Option<usize>; 2]; Cause::ALL.len()]);

impl Owners {
    fn of(findings: &[Finding], sums: &Sums) -> Owners {
        let mut owners = Owners([[None; 2]; Cause::ALL.len()]);
        for (account, finding) in findings.iter().enumerate() {
            let lines = match finding.cost_ns {
                Some(_) if finding.is_of_calls() => finding.lines(sums),
                _ => Vec::new(),
            };
            for line in lines.iter().map(|sum| sum.line) {
                for d in Direction::BOTH {
                    if line.cause.of(d) == (line.place, line.side) {
                        owners.0[line.cause as usize][d.index()].get_or_insert(account);
                    }
                }
            }
        }
        owners
    }

    fn is_empty(&self) -> bool {
        self.0.iter().flatten().all(Option::is_none)
    }
}

/// What calls lately had is at hand, by the last bits of its number: looking it up takes a hundred instructions.
const LATELY: usize = 64;

/// What those calls have that have this number, of either capture.
#[derive(Default)]
struct Attributes {
    set: Option<u64>,
    all: Vec<(By, u64)>,
}

/// What attributes' numbers mean.
pub(crate) struct Known<'a> {
    /// Of the client's capture or the only one, and of the server's.
    pub(crate) attributes: [&'a AllAttributes; 2],
    pub(crate) ops: &'a OpTable,
    pub(crate) sql: Option<&'a SqlResult>,
    pub(crate) exports: &'a Exports,
}

/// Each capture counts its connections by itself: those of the second have the highest bit turned.
fn told_apart(by: By, number: u64, of: usize) -> u64 {
    match (by, of) {
        (By::Connection, 1) => number ^ (1 << 63),
        _ => number,
    }
}

impl Known<'_> {
    /// Tells each finding where its cost concentrates.
    pub(crate) fn tell(
        &self,
        findings: &mut [Finding],
        account: &Account,
        certain: &Kept<Certain>,
    ) {
        let owners = Owners::of(findings, &account.sums);
        if account.basis == Basis::Streams || owners.is_empty() {
            return;
        }
        let mut concentration = Concentration::new(findings.len());
        let mut costs = Vec::new();
        let mut lately: Vec<Attributes> = Vec::new();
        lately.resize_with(LATELY, Attributes::default);
        certain.each(|call| {
            costs.clear();
            for &(cause, direction, least_ns) in call.charges() {
                let owner = owners.0[cause as usize][direction.index()];
                let Some(owner) = owner.filter(|_| least_ns > 0) else {
                    continue;
                };
                match costs.iter_mut().find(|(own, _)| *own == owner) {
                    Some((_, ns)) => *ns += least_ns,
                    None => costs.push((owner, least_ns)),
                }
            }
            let set = call.attributes << 1 | u64::from(call.is_at_server_alone);
            let attributes = &mut lately[set as usize % LATELY];
            if attributes.set != Some(set) {
                attributes.set = Some(set);
                self.tell_apart(call, &mut attributes.all);
            }
            concentration.charge(&Charge {
                at_ns: call.at_ns,
                response_ns: call.response_ns,
                costs: &costs,
                attributes: &attributes.all,
                set,
            });
        });
        for (account, finding) in findings.iter_mut().enumerate() {
            let places = concentration.finish(&[account]);
            let told = places.iter().filter_map(|place| self.concentrated(place));
            finding.places = told.collect();
        }
    }

    /// What a call has, in numbers that mean the same in both captures.
    fn tell_apart(&self, call: &Certain, into: &mut Vec<(By, u64)>) {
        let of = usize::from(call.is_at_server_alone);
        self.attributes[of].of(call.attributes, self.ops, self.exports, into);
        for (by, number) in into {
            *number = told_apart(*by, *number, of);
        }
    }

    fn what(&self, by: By, number: u64) -> Option<What> {
        self.attributes.iter().enumerate().find_map(|(of, known)| {
            known.what(
                by,
                told_apart(by, number, of),
                self.ops,
                self.sql,
                self.exports,
            )
        })
    }

    fn concentrated(&self, place: &Place) -> Option<Concentrated> {
        Some(Concentrated {
            what: match place.value {
                Value::Of(number) => self.what(place.by, number)?,
                Value::Since(ns) => What::Since(Time(ns)),
                Value::Until(ns) => What::Until(Time(ns)),
                Value::Between(from, to) => What::Between(Time(from), Time(to)),
                Value::Every {
                    period_ns,
                    for_ns,
                    times,
                } => What::Every {
                    period_ns,
                    for_ns,
                    times,
                },
            },
            calls: place.calls,
            cost_ns: place.cost_ns,
            share: place.share,
            rest_mean_ns: place.rest_mean_ns,
        })
    }
}
