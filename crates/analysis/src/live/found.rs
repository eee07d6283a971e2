//! Diagnoses of the last packets, one after another, into findings with the time at which each appeared.

use crate::findings::Rule;
use crate::results::{Diagnosis, Side, Verdict};
use crate::text::Text;
use model::Time;

/// A finding of one of the diagnoses.
#[derive(Clone, Debug)]
pub struct FoundRow {
    pub rule: Rule,
    pub side: Side,
    /// What it costs in the packets that were looked at last.
    pub cost_ns: Option<i64>,
    pub why: Text,
    /// What to do first.
    pub remedy: Option<Text>,
    /// The ends of the packets in which it was first and last found.
    pub appeared: Time,
    pub last: Time,
    /// Whether the latest diagnosis has it.
    pub now: bool,
}

/// What was found so far: at most as many as there are codes.
#[derive(Clone, Default, Debug)]
pub struct Found {
    /// By when they appeared.
    rows: Vec<FoundRow>,
    verdict: Option<Verdict>,
}

impl Found {
    /// Takes in a diagnosis of packets up to `at`; gives the rules whose findings are new, or there again.
    pub fn add(&mut self, diagnosis: &Diagnosis, at: Time) -> Vec<Rule> {
        let mut new = Vec::new();
        for row in &mut self.rows {
            row.now &= diagnosis.findings.iter().any(|f| f.rule == row.rule);
        }
        let mut told: Vec<Rule> = Vec::new();
        for f in &diagnosis.findings {
            // Those of one code stand in order of cost: the first says most.
            if told.contains(&f.rule) {
                continue;
            }
            told.push(f.rule);
            let known = self.rows.iter().position(|r| r.rule == f.rule);
            let row = FoundRow {
                rule: f.rule,
                side: f.side,
                cost_ns: f.cost_ns,
                why: f.why.clone(),
                remedy: f.remedy.first().cloned(),
                appeared: at,
                last: at,
                now: true,
            };
            match known.and_then(|i| self.rows.get_mut(i)) {
                Some(known) => {
                    let again = !known.now;
                    let appeared = match again {
                        true => at,
                        false => known.appeared,
                    };
                    *known = FoundRow { appeared, ..row };
                    if again {
                        new.push(f.rule);
                    }
                }
                None => {
                    self.rows.push(row);
                    new.push(f.rule);
                }
            }
        }
        self.verdict = Some(diagnosis.verdict.clone());
        new
    }

    /// The same in other words.
    #[must_use]
    pub fn map(
        self,
        row: impl FnMut(FoundRow) -> FoundRow,
        verdict: impl FnOnce(Verdict) -> Verdict,
    ) -> Found {
        Found {
            rows: self.rows.into_iter().map(row).collect(),
            verdict: self.verdict.map(verdict),
        }
    }

    #[must_use]
    pub fn rows(&self) -> &[FoundRow] {
        &self.rows
    }

    /// Of the latest diagnosis.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }
}
