//! Calls of databases that the server broke off, by the code of its error: a lock that did not come in time, a deadlock, a
//! limit of time, a cancel.
//!
//! Codes are those of PostgreSQL (appendix A, SQLSTATE), of MySQL and MariaDB (their error references), and of Oracle
//! (Database Error Messages).

use crate::stats::Distribution;
use crate::worst::{Exhibit, Worst};
use model::{Call, Code, Outcome};

/// Why a server breaks a call off.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// Sessions waited for each other.
    Deadlock,
    /// What another session held did not come as soon as was asked.
    Lock,
    /// It had worked, or waited, for as long as it may.
    Limit,
    /// Somebody asked it to, or a limit: the code is the same.
    Cancel,
}

impl Why {
    /// Whether it waited for what another session held.
    #[must_use]
    pub fn is_of_lock(self) -> bool {
        matches!(self, Why::Deadlock | Why::Lock)
    }
}

const CODES: [(&str, Why); 21] = [
    ("40P01", Why::Deadlock),
    ("ER-1213", Why::Deadlock),
    ("ORA-00060", Why::Deadlock),
    ("ORA-04020", Why::Deadlock),
    ("ER-1614", Why::Deadlock),
    ("55P03", Why::Lock),
    ("ER-3572", Why::Lock),
    ("ER-1205", Why::Lock),
    ("ORA-30006", Why::Lock),
    ("ORA-00054", Why::Lock),
    ("ORA-02049", Why::Lock),
    ("ORA-04021", Why::Lock),
    ("25P04", Why::Limit),
    ("ER-3024", Why::Limit),
    ("ER-1969", Why::Limit),
    ("ORA-00040", Why::Limit),
    ("ORA-02393", Why::Limit),
    ("57014", Why::Cancel),
    ("ER-1317", Why::Cancel),
    ("ORA-01013", Why::Cancel),
    ("ORA-00028", Why::Cancel),
];

/// Why the server broke this one off, if it did, and with which code it says so.
#[must_use]
pub fn why(call: &Call) -> Option<(Why, Code)> {
    let Outcome::Code(code) = call.outcome else {
        return None;
    };
    let known = CODES.iter().find(|(name, _)| *name == code.as_str());
    known.map(|(_, why)| (*why, code))
}

/// Whether the server says that this one waited for what another session held.
#[must_use]
pub fn is_of_lock(call: &Call) -> bool {
    why(call).is_some_and(|(why, _)| why.is_of_lock())
}

/// Such calls of one capture.
#[derive(Default)]
pub struct BrokenOff {
    /// By code, in the order in which they came.
    pub by_code: Vec<Broken>,
    pub longest: Worst,
}

/// Those with one code.
pub struct Broken {
    pub code: Code,
    pub why: Why,
    /// From request to answer.
    pub took: Distribution,
}

impl BrokenOff {
    /// Takes a call of this capture, if it is one.
    pub fn call(&mut self, call: &Call, capture: usize) {
        if let Some((why, code)) = why(call) {
            self.add(call, (why, code), capture);
        }
    }

    #[cold]
    fn add(&mut self, call: &Call, (why, code): (Why, Code), capture: usize) {
        let (Some(request), Some(response)) = (call.request_first, call.response_last) else {
            return;
        };
        let known = self.by_code.iter().position(|b| b.code == code);
        let at = known.unwrap_or_else(|| {
            let took = Distribution::default();
            self.by_code.push(Broken { code, why, took });
            self.by_code.len() - 1
        });
        let took = response.time - request.time;
        if let Some(broken) = self.by_code.get_mut(at) {
            broken.took.add(took);
        }
        self.longest
            .add(Exhibit::of(took, capture, request, response));
    }

    /// How long they took.
    #[must_use]
    pub fn ns(&self) -> i64 {
        let each = self.by_code.iter().map(|b| b.took.total_ns());
        each.fold(0, i64::saturating_add)
    }

    /// How many.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.by_code.iter().map(|b| b.took.count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::{call, sql};
    use model::sql::op;

    fn ended(code: &str, ms: i64) -> Call {
        Call {
            outcome: Outcome::Code(Code::public(code)),
            ..call(op::EXECUTE, &sql("ann", Some("select 1")), 0, ms, 0)
        }
    }

    #[test]
    fn why_a_call_was_broken_off_is_in_its_code() {
        assert_eq!(why(&ended("40P01", 1)).unwrap().0, Why::Deadlock);
        assert_eq!(why(&ended("ER-1205", 1)).unwrap().0, Why::Lock);
        assert_eq!(why(&ended("57014", 1)).unwrap().0, Why::Cancel);
        assert!(is_of_lock(&ended("ORA-00060", 1)) && !is_of_lock(&ended("ER-3024", 1)));
        // A table that is not there, and an answer.
        assert!(why(&ended("42P01", 1)).is_none());
        assert!(why(&call(op::EXECUTE, &sql("ann", None), 0, 1, 0)).is_none());
    }

    #[test]
    fn calls_are_told_by_their_code() {
        let mut all = BrokenOff::default();
        for (code, ms) in [("57014", 100), ("40P01", 1_000), ("57014", 200)] {
            all.call(&ended(code, ms), 0);
        }
        let each = all
            .by_code
            .iter()
            .map(|b| (b.code.as_str().to_owned(), b.took.count()));
        assert_eq!(
            each.collect::<Vec<_>>(),
            [("57014".to_owned(), 2), ("40P01".to_owned(), 1)]
        );
        // The request takes 1 ms, the answer 2.
        assert_eq!((all.calls(), all.ns()), (3, 1_309_000_000));
        assert_eq!(all.longest.exhibits[0].value_ns, 1_003_000_000);
    }
}
