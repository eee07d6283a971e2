//! Profiles of traces: of what a database or its client wrote down, everything that somebody named gets
//! a pseudonym; releases, systems, wait events and numbers stay.

use super::{Anonymise, statements_of};
use analysis::trace_profile::{NetFacts, StatementRow, TraceFile, TraceResult};

use pseudonyms::{Anonymiser, NameKind};

impl Anonymise for TraceResult {
    fn anonymised(mut self, names: &Anonymiser) -> TraceResult {
        if let Some(database) = &mut self.database {
            database.statements = std::mem::take(&mut database.statements).anonymised(names);
        }
        statements_of(&mut self.packets, names);
        TraceResult {
            files: self.files.anonymised(names),
            problems: self.problems.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for StatementRow {
    fn anonymised(self, names: &Anonymiser) -> StatementRow {
        let Some(id) = self.id else {
            // No statement, but words for its lack.
            return self;
        };
        let normal = names.sql(&self.normal);
        StatementRow {
            id: Some(names.statement_id(id)),
            text: normal.clone(),
            normal,
            // A hash of the text, which anybody can make of a guess.
            sql_id: None,
            ..self
        }
    }
}

impl Anonymise for TraceFile {
    fn anonymised(self, names: &Anonymiser) -> TraceFile {
        let name = |kind, text: Option<String>| text.map(|t| names.name(kind, &t));
        TraceFile {
            name: names.name(NameKind::File, &self.name),
            host: name(NameKind::Host, self.host),
            instance: name(NameKind::Database, self.instance),
            service: name(NameKind::Database, self.service),
            module: name(NameKind::Program, self.module),
            driver: name(NameKind::Program, self.driver),
            net: self.net.anonymised(names),
            problems: self.problems.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for NetFacts {
    fn anonymised(self, names: &Anonymiser) -> NetFacts {
        NetFacts {
            descriptor: self.descriptor.map(|d| descriptor(names, &d)),
            peer: self.peer.map(|p| descriptor(names, &p)),
            ..self
        }
    }
}

/// `(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=db1)(PORT=1521)))` with pseudonyms for every value that
/// is not one of the protocol's own.
fn descriptor(names: &Anonymiser, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('=') {
        let (before, behind) = rest.split_at(at + 1);
        out.push_str(before);
        let end = behind.find(['(', ')', '=']).unwrap_or(behind.len());
        let (value, left) = behind.split_at(end);
        let key = before.trim_end_matches('=').trim_end();
        let key = key.rsplit(['(', ')']).next().unwrap_or_default().trim();
        out.push_str(&pseudonym(names, key, value));
        rest = left;
    }
    // Behind the last value stand parentheses, or what nobody can tell.
    if rest
        .chars()
        .all(|c| c == ')' || c.is_whitespace() || c == '…')
    {
        out.push_str(rest);
    }
    out
}

fn pseudonym(names: &Anonymiser, key: &str, value: &str) -> String {
    let bare = value.trim();
    let number = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
    let kind = match key.to_ascii_uppercase().as_str() {
        "PROTOCOL" | "SERVER" | "COMMAND" | "FAILOVER" | "LOAD_BALANCE" => return value.to_owned(),
        _ if number || bare.is_empty() => return value.to_owned(),
        "HOST" => {
            return match bare.parse() {
                Ok(address) => names.address(address).to_string(),
                Err(_) => names.name(NameKind::Host, bare),
            };
        }
        "PROGRAM" => NameKind::Program,
        "USER" => NameKind::User,
        _ => NameKind::Database,
    };
    names.name(kind, bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_keeps_its_shape_and_loses_its_names() {
        let names = Anonymiser::new(b"a key for tests");
        let plain = "(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=192.168.1.51)(PORT=1521))\
                     (CONNECT_DATA=(SERVICE_NAME=orcl.example.com)(SERVER=DEDICATED)\
                     (CID=(PROGRAM=C:\\app\\sqlplus.exe)(HOST=PC17)(USER=scott))))";
        let hidden = descriptor(&names, plain);
        for word in ["192.168.1.51", "orcl", "sqlplus", "PC17", "scott"] {
            assert!(!hidden.contains(word), "{hidden}");
        }
        for word in ["(PROTOCOL=tcp)", "(PORT=1521)", "(SERVER=DEDICATED)"] {
            assert!(hidden.contains(word), "{hidden}");
        }
        let shape = |text: &str| text.matches(['(', ')', '=']).collect::<String>();
        assert_eq!(shape(&hidden), shape(plain));
        // What is cut off may be half a name.
        assert!(!descriptor(&names, "(HOST=a)(scot").contains("scot"));
    }
}
