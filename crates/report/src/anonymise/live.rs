//! What `slowside live` tells, with pseudonyms.

use super::Anonymise;
use analysis::live::{
    ConnectionRow, Crossed, Crossing, Found, FoundRow, LiveResult, Moment, Opened, PastInterval,
    Silence, SlowestCall, StatementTotal, SubjectRow,
};
use analysis::results::Verdict;

use pseudonyms::{Anonymiser, NameKind};
use std::sync::Arc;

impl Anonymise for Verdict {
    fn anonymised(self, names: &Anonymiser) -> Verdict {
        Verdict {
            sentence: self.sentence.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for FoundRow {
    fn anonymised(self, names: &Anonymiser) -> FoundRow {
        FoundRow {
            why: self.why.anonymised(names),
            remedy: self.remedy.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for Found {
    fn anonymised(self, names: &Anonymiser) -> Found {
        self.map(|row| row.anonymised(names), |v| v.anonymised(names))
    }
}

impl Anonymise for SlowestCall {
    fn anonymised(self, names: &Anonymiser) -> SlowestCall {
        SlowestCall {
            client: names.endpoint(self.client),
            server: names.endpoint(self.server),
            ..self
        }
    }
}

impl Anonymise for PastInterval {
    fn anonymised(self, names: &Anonymiser) -> PastInterval {
        PastInterval {
            slowest: self.slowest.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for Opened {
    fn anonymised(self, names: &Anonymiser) -> Opened {
        Opened {
            intervals: self.intervals.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for SubjectRow {
    fn anonymised(self, names: &Anonymiser) -> SubjectRow {
        SubjectRow {
            statement: self.statement.map(|s| Arc::new(names.statement(&s))),
            worst: self.worst.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for ConnectionRow {
    fn anonymised(self, names: &Anonymiser) -> ConnectionRow {
        ConnectionRow {
            client: names.endpoint(self.client),
            server: names.endpoint(self.server),
            ..self
        }
    }
}

impl Anonymise for Silence {
    fn anonymised(self, names: &Anonymiser) -> Silence {
        Silence {
            client: names.endpoint(self.client),
            server: names.endpoint(self.server),
            ..self
        }
    }
}

impl Anonymise for Moment {
    fn anonymised(self, names: &Anonymiser) -> Moment {
        Moment {
            operations: self.operations.anonymised(names),
            statements: self.statements.anonymised(names),
            connections: self.connections.anonymised(names),
            silence: self.silence.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for Crossing {
    fn anonymised(self, names: &Anonymiser) -> Crossing {
        Crossing {
            when: self.when.anonymised(names),
            row: match self.row {
                Crossed::Subject(row) => Crossed::Subject(row.anonymised(names)),
                Crossed::Connection(row) => Crossed::Connection(row.anonymised(names)),
            },
        }
    }
}

impl Anonymise for StatementTotal {
    fn anonymised(self, names: &Anonymiser) -> StatementTotal {
        StatementTotal {
            statement: self.statement.map(|s| Arc::new(names.statement(&s))),
            ..self
        }
    }
}

impl Anonymise for LiveResult {
    fn anonymised(self, names: &Anonymiser) -> LiveResult {
        LiveResult {
            ops: self.ops.anonymised(names),
            statements: self.statements.anonymised(names),
            conns: self.conns.anonymised(names),
            findings: self.findings.anonymised(names),
            written: self
                .written
                .iter()
                .map(|f| names.name(NameKind::File, f))
                .collect(),
            verdict: self.verdict.anonymised(names),
            ..self
        }
    }
}
