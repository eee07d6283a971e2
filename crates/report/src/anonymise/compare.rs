//! Runs that are saved or compared: files, statements and what sentences name get pseudonyms; numbers and codes stay, so
//! that runs compare as they did.

use super::Anonymise;
use analysis::compare::result::{Cause, OpChange, Run, TierChange};
use analysis::compare::snapshot::{SavedCapture, Subject};
use analysis::compare::{Comparison, Kept, KeptTier, Snapshot};
use analysis::tiers::Tier;
use pseudonyms::{Anonymiser, NameKind};

impl Anonymise for Run {
    fn anonymised(mut self, names: &Anonymiser) -> Run {
        for file in self.captures.iter_mut().flat_map(|c| &mut c.files) {
            *file = names.name(NameKind::File, file);
        }
        self.verdict = self.verdict.anonymised(names);
        self
    }
}

/// A run as it is saved: compared with another one, statements are the same where the key is.
impl Anonymise for Kept {
    fn anonymised(self, names: &Anonymiser) -> Kept {
        Kept {
            whole: self.whole.anonymised(names),
            ends: self.ends.anonymised(names),
            tiers: self.tiers.anonymised(names),
            // How they were read is told by formats, not by names.
            layers: self.layers,
        }
    }
}

impl Anonymise for KeptTier {
    fn anonymised(self, names: &Anonymiser) -> KeptTier {
        KeptTier {
            tier: self.tier.anonymised(names),
            own: self.own.map(|own| own.anonymised(names)),
        }
    }
}

impl Anonymise for Tier {
    fn anonymised(self, names: &Anonymiser) -> Tier {
        Tier {
            host: names.address(self.host),
            below: names.endpoint(self.below),
            ..self
        }
    }
}

impl Anonymise for TierChange {
    fn anonymised(self, names: &Anonymiser) -> TierChange {
        TierChange {
            tiers: self.tiers.map(|tier| tier.map(|t| t.anonymised(names))),
            own: self.own.map(|own| Box::new(own.anonymised(names))),
        }
    }
}

impl Anonymise for Snapshot {
    fn anonymised(self, names: &Anonymiser) -> Snapshot {
        Snapshot {
            captures: self.captures.anonymised(names),
            verdict: String::new(),
            subjects: self.subjects.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for SavedCapture {
    fn anonymised(self, names: &Anonymiser) -> SavedCapture {
        let file = |f: &String| names.name(NameKind::File, f);
        SavedCapture {
            files: self.files.iter().map(file).collect(),
            ..self
        }
    }
}

impl Anonymise for Subject {
    fn anonymised(self, names: &Anonymiser) -> Subject {
        let statement = self.statement;
        Subject {
            statement: statement.map(|(id, normal)| (names.statement_id(id), names.sql(&normal))),
            ..self
        }
    }
}

impl Anonymise for Cause {
    fn anonymised(self, names: &Anonymiser) -> Cause {
        Cause {
            what: self.what.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for OpChange {
    fn anonymised(self, names: &Anonymiser) -> OpChange {
        OpChange {
            statement: self.statement.map(|s| names.sql(&s)),
            ..self
        }
    }
}

/// Metrics are known by ports and ways, findings by their codes.
impl Anonymise for Comparison {
    fn anonymised(self, names: &Anonymiser) -> Comparison {
        Comparison {
            runs: self.runs.map(|run| run.anonymised(names)),
            sentence: self.sentence.anonymised(names),
            notes: self.notes.anonymised(names),
            causes: self.causes.anonymised(names),
            ops: self.ops.anonymised(names),
            tiers: self.tiers.anonymised(names),
            ..self
        }
    }
}
