//! How sure a finding is: of one that owns lines of the ledger, what is certain of these against what may be
//! theirs at most; of others, what its rule says.

use super::{Of, Rule};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use ledger::Sum;

/// Packets may lie.
const MOST: f64 = 0.99;

/// What names no side, or rests on averages alone.
const HARDLY: f64 = 0.5;

pub(super) fn of(finding: &Finding, facts: &Facts<'_>) -> f64 {
    let lines = match finding.cost_ns {
        Some(_) if finding.is_of_calls() => finding.lines(&facts.account.sums),
        _ => Vec::new(),
    };
    // A hundredth is more than it is worth.
    (share_of(&lines).unwrap_or_else(|| of_rule(finding, facts)) * 100.0).round() / 100.0
}

/// What is certain of these lines, of what may be theirs; none of it where nothing bounds that.
fn share_of(lines: &[Sum]) -> Option<f64> {
    let lo = lines.iter().map(|s| s.line.ns.lo_ns);
    let lo = lo.fold(0i64, i64::saturating_add);
    let mut hi = lines.iter().map(|s| s.line.ns.hi_ns);
    let hi = hi.try_fold(0i64, |sum, ns| Some(sum.saturating_add(ns?)));
    match hi {
        _ if lines.is_empty() => None,
        Some(hi) if hi > 0 => Some((lo as f64 / hi as f64).min(MOST)),
        _ => Some(0.0),
    }
}

fn of_rule(finding: &Finding, facts: &Facts<'_>) -> f64 {
    let [both, one] = finding.rule.entry().sure;
    let sure = match facts.captures.len() {
        2 => both,
        _ => one,
    };
    let is_matched = facts.app.is_some_and(|app| app.matched > 0);
    let needs_application = matches!(
        finding.rule,
        Rule::ClientConcurrencyCap | Rule::ClientHostSlow
    );
    match finding.side {
        Side::Undetermined if finding.rule.of() == Of::Connects || finding.fatal => {
            sure.min(HARDLY)
        }
        _ if needs_application && !is_matched => sure.min(HARDLY),
        _ => sure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{Bounds, Cause, Ledger, Sums};
    use model::Direction;

    fn sums(ns: &[Bounds]) -> Sums {
        let mut sums = Sums::new();
        let mut ledger = Ledger::default();
        for ns in ns {
            ledger.clear(Bounds::exactly(100));
            ledger.charge(Cause::Service, Direction::ToServer, *ns);
            sums.add(&ledger);
        }
        sums
    }

    #[test]
    fn it_is_what_is_certain_of_what_may_be_theirs() {
        let share = |ns: &[Bounds]| share_of(&sums(ns).lines());
        assert_eq!(share(&[Bounds::exactly(10)]), Some(MOST));
        let wide = [Bounds::between(10, 40), Bounds::between(20, 20)];
        assert_eq!(share(&wide), Some(0.5));
        let unbounded = Bounds {
            lo_ns: 10,
            hi_ns: None,
        };
        assert_eq!(share(&[unbounded]), Some(0.0));
        assert_eq!(share(&[]), None);
    }
}
