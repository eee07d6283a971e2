//! Results into the same results with pseudonyms: the one seam through which everything passes that is
//! shown under `--anonymise`, whatever its format. [`pseudonyms::Anonymiser`] says how names become
//! pseudonyms and what stays.
//!
//! Sentences hold names as values, each of which becomes its pseudonym. Examples of what was wrong with the
//! input may hold anything that stood in it, and so may what others wrote: they are left out; their kinds,
//! counts and places stay.

mod compare;
mod live;
mod trace;

use analysis::connections::Connections;
use analysis::hops::Hop;
use analysis::info::InfoResult;
use analysis::metrics::MetricsResult;
use analysis::packets::PacketList;
use analysis::peers::Peer;
use analysis::results::{
    CaptureResult, Concentrated, ConnectionResult, ConnsResult, Diagnosis, Finding, GroupResult,
    KeyValue, OpsResult, Report, TraceJoinResult, What,
};
use analysis::sql::SqlResult;
use analysis::startup::StartupResult;
use analysis::text::{Text, Value};
use model::{Outcome, Problems};
use pseudonyms::{Anonymiser, NameKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What can be shown with pseudonyms in place of names.
pub trait Anonymise {
    /// The same with pseudonyms.
    #[must_use]
    fn anonymised(self, names: &Anonymiser) -> Self;
}

impl<T: Anonymise> Anonymise for Vec<T> {
    fn anonymised(self, names: &Anonymiser) -> Vec<T> {
        self.into_iter()
            .map(|item| item.anonymised(names))
            .collect()
    }
}

impl<T: Anonymise> Anonymise for Option<T> {
    fn anonymised(self, names: &Anonymiser) -> Option<T> {
        self.map(|item| item.anonymised(names))
    }
}

/// In place of what others wrote.
const LEFT_OUT: &str = "left out, as names may stand in it";

impl Anonymise for Problems {
    fn anonymised(self, names: &Anonymiser) -> Problems {
        let mut problems = Problems::default();
        for (kind, p) in self.iter() {
            problems.add(kind, p.damage, p.count, || {
                let mut first = p.first.clone();
                first.file = names.name(NameKind::File, &first.file);
                (LEFT_OUT.into(), first)
            });
        }
        problems
    }
}

impl Anonymise for CaptureResult {
    fn anonymised(self, names: &Anonymiser) -> CaptureResult {
        let file = |f: &String| names.name(NameKind::File, f);
        CaptureResult {
            files: self.files.iter().map(file).collect(),
            side_from: self.side_from.anonymised(names),
            problems: self.problems.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for InfoResult {
    fn anonymised(mut self, names: &Anonymiser) -> InfoResult {
        for file in &mut self.files.files {
            file.name = names.name(NameKind::File, &file.name);
        }
        for pair in &mut self.pairs {
            pair.hosts = pair.hosts.map(|host| names.address(host));
        }
        for limit in &mut self.worth.limits {
            limit.says = std::mem::take(&mut limit.says).anonymised(names);
        }
        self.worth.sentence = self.worth.sentence.anonymised(names);
        InfoResult {
            captures: self.captures.anonymised(names),
            vantage_from: self.vantage_from.anonymised(names),
            health: self.health.anonymised(names),
            ..self
        }
    }
}

/// Sentences whose names are values.
impl Anonymise for Text {
    fn anonymised(self, names: &Anonymiser) -> Text {
        let values = self.values.into_iter();
        Text {
            values: values
                .map(|(name, v)| (name, v.anonymised(names)))
                .collect(),
            ..self
        }
    }
}

impl Anonymise for Value {
    fn anonymised(self, names: &Anonymiser) -> Value {
        match self {
            Value::Address(address) => Value::Address(names.address(address)),
            Value::Endpoint(end) => Value::Endpoint(names.endpoint(end)),
            Value::Hardware(hardware) => Value::Hardware(names.mac(hardware)),
            Value::Statement(s) => Value::Statement(Arc::new(names.statement(&s))),
            Value::User(user) => Value::User(names.name(NameKind::User, &user).into()),
            Value::File(file) => Value::File(names.name(NameKind::File, &file).into()),
            Value::Host(host) => Value::Host(names.name(NameKind::Host, &host).into()),
            Value::Code(code) => {
                let outcome = names.outcome(Outcome::Code(code));
                Value::Words(outcome.name().to_owned().into())
            }
            Value::Quoted(_) => Value::Words(LEFT_OUT.into()),
            Value::Text(text) => Value::Text(text.anonymised(names)),
            Value::Within(text) => Value::Within(Box::new(text.anonymised(names))),
            Value::List(texts, between) => Value::List(texts.anonymised(names), between),
            plain @ (Value::Duration(_)
            | Value::Count(_)
            | Value::Bytes(_)
            | Value::Percent(_)
            | Value::Share(..)
            | Value::Size(_)
            | Value::Mean(_)
            | Value::Seconds(_)
            | Value::Rate(_)
            | Value::Side(_)
            | Value::Words(_)) => plain,
        }
    }
}

impl Anonymise for Concentrated {
    fn anonymised(self, names: &Anonymiser) -> Concentrated {
        let what = match self.what {
            What::Client(address) => What::Client(names.address(address)),
            What::Server(end) => What::Server(names.endpoint(end)),
            What::Connection(client, server) => {
                What::Connection(names.endpoint(client), names.endpoint(server))
            }
            What::User(name) => What::User(names.name(NameKind::User, &name).into()),
            What::Database(name) => What::Database(names.name(NameKind::Database, &name).into()),
            What::Program(name) => What::Program(names.name(NameKind::Program, &name).into()),
            What::Export(path) => What::Export(names.path(&path)),
            What::File(handle, path) => What::File(
                names.file_handle(handle),
                path.map(|path| names.path(&path)),
            ),
            What::Statement(s) => What::Statement(Arc::new(names.statement(&s))),
            plain @ (What::Operation(..)
            | What::Since(_)
            | What::Until(_)
            | What::Between(..)
            | What::Every { .. }) => plain,
        };
        Concentrated { what, ..self }
    }
}

/// What it shows is told by frames alone.
impl Anonymise for Finding {
    fn anonymised(self, names: &Anonymiser) -> Finding {
        Finding {
            title: self.title.anonymised(names),
            why: self.why.anonymised(names),
            remedy: self.remedy.anonymised(names),
            places: self.places.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for TraceJoinResult {
    fn anonymised(mut self, names: &Anonymiser) -> TraceJoinResult {
        for file in &mut self.files {
            file.handle = file.handle.map(|h| names.file_handle(h));
            file.path = file.path.take().map(|path| names.path(&path));
        }
        self
    }
}

impl Anonymise for Diagnosis {
    fn anonymised(mut self, names: &Anonymiser) -> Diagnosis {
        self.verdict.sentence = self.verdict.sentence.anonymised(names);
        for file in &mut self.files {
            file.file = names.file_handle(file.file);
            file.path = file.path.take().map(|path| names.path(&path));
        }
        if let Some(app) = &mut self.app {
            app.basis = std::mem::take(&mut app.basis).anonymised(names);
            app.join = app.join.take().anonymised(names);
        }
        if let Some(server) = &mut self.server_app {
            server.basis = std::mem::take(&mut server.basis).anonymised(names);
        }
        for host in &mut self.hosts {
            host.file = names.name(NameKind::File, &host.file);
            host.name = host
                .name
                .take()
                .map(|name| names.name(NameKind::Host, &name));
            // Volumes are called after what lies on them.
            for series in host.series.iter_mut().filter(|s| !s.device.is_empty()) {
                series.device = names.name(NameKind::File, &series.device);
            }
            for k in &mut host.connections {
                (k.client, k.server) = (names.endpoint(k.client), names.endpoint(k.server));
            }
        }
        for of in &mut self.tiers {
            of.tier = of.tier.clone().anonymised(names);
            of.below = of.below.take().map(|d| Box::new(d.anonymised(names)));
        }
        let peers = std::mem::take(&mut self.peers).into_iter();
        self.peers = peers
            .map(|peer| Peer {
                diagnosis: peer.diagnosis.anonymised(names),
                ..peer
            })
            .collect();
        let hops = std::mem::take(&mut self.hops).into_iter();
        self.hops = hops
            .map(|hop| Hop {
                diagnosis: hop.diagnosis.anonymised(names),
            })
            .collect();
        Diagnosis {
            captures: self.captures.anonymised(names),
            findings: self.findings.anonymised(names),
            notes: self.notes.anonymised(names),
            ..self
        }
    }
}

/// The values by which calls were grouped; what they are is told by the names of their keys.
fn key(names: &Anonymiser, (key, value): (&'static str, KeyValue)) -> (&'static str, KeyValue) {
    let named = |kind, text: &str| KeyValue::Text(names.name(kind, text).into());
    let value = match (key, value) {
        ("program", KeyValue::Text(text)) => named(NameKind::Program, &text),
        ("user", KeyValue::Text(text)) => named(NameKind::User, &text),
        ("service", KeyValue::Text(text)) => named(NameKind::Database, &text),
        (_, KeyValue::Address(address)) => KeyValue::Address(names.address(address)),
        (_, KeyValue::Connection(client, server)) => {
            KeyValue::Connection(names.endpoint(client), names.endpoint(server))
        }
        (_, KeyValue::File(handle)) => KeyValue::File(names.file_handle(handle)),
        (_, other) => other,
    };
    (key, value)
}

impl Anonymise for GroupResult {
    fn anonymised(self, names: &Anonymiser) -> GroupResult {
        GroupResult {
            keys: self.keys.into_iter().map(|k| key(names, k)).collect(),
            path: self.path.map(|path| names.path(&path)),
            ..self
        }
    }
}

/// Findings' codes and sides name nobody.
impl Anonymise for MetricsResult {
    fn anonymised(mut self, names: &Anonymiser) -> MetricsResult {
        for row in &mut self.calls {
            let keys = std::mem::take(&mut row.keys).into_iter();
            row.keys = keys.map(|k| key(names, k)).collect();
        }
        for row in &mut self.databases {
            row.server = row.server.map(|end| names.endpoint(end));
            row.error = row.error.map(|outcome| names.outcome(outcome));
        }
        if let Some(live) = &mut self.live {
            let servers = live.servers.iter_mut().map(|(server, _)| server);
            for server in servers.chain(live.outstanding.iter_mut().map(|(_, server, _)| server)) {
                *server = key(names, ("server", server.clone())).1;
            }
        }
        self
    }
}

impl Anonymise for StartupResult {
    fn anonymised(mut self, names: &Anonymiser) -> StartupResult {
        if let Some(client) = &mut self.client {
            for address in &mut client.addresses {
                *address = names.address(*address);
            }
            for sum in client.reasons.iter_mut().chain(&mut client.servers) {
                sum.server = sum.server.map(|end| names.endpoint(end));
            }
            for wait in &mut client.waits {
                wait.server = wait.server.map(|end| names.endpoint(end));
                wait.what = std::mem::take(&mut wait.what).anonymised(names);
                wait.ended_by = std::mem::take(&mut wait.ended_by).anonymised(names);
            }
        }
        for address in &mut self.asked {
            *address = names.address(*address);
        }
        for (address, _) in &mut self.others {
            *address = names.address(*address);
        }
        StartupResult {
            captures: self.captures.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for OpsResult {
    fn anonymised(self, names: &Anonymiser) -> OpsResult {
        OpsResult {
            captures: self.captures.anonymised(names),
            groups: self.groups.anonymised(names),
            ..self
        }
    }
}

impl Anonymise for ConnectionResult {
    fn anonymised(self, names: &Anonymiser) -> ConnectionResult {
        ConnectionResult {
            client: names.endpoint(self.client),
            server: names.endpoint(self.server),
            ..self
        }
    }
}

impl Anonymise for ConnsResult {
    fn anonymised(self, names: &Anonymiser) -> ConnsResult {
        ConnsResult {
            captures: self.captures.anonymised(names),
            connections: self
                .connections
                .iter()
                .map(|c| c.anonymised(names))
                .collect::<Connections>(),
            ..self
        }
    }
}

/// Pictures of connections hold no names.
impl Anonymise for Report {
    fn anonymised(self, names: &Anonymiser) -> Report {
        let end = |end| names.endpoint(end);
        Report {
            diagnosis: self.diagnosis.anonymised(names),
            charts: self.charts.renamed(end, |id| names.statement_id(id)),
            conns: self.conns.anonymised(names),
            sql: self.sql.anonymised(names),
            shown: self.shown.anonymised(names),
            ..self
        }
    }
}

/// Packets have the names of their calls' statements.
pub(super) fn statements_of(packets: &mut Option<PacketList>, names: &Anonymiser) {
    let mut known = BTreeMap::new();
    for p in packets.iter_mut().flat_map(|list| &mut list.packets) {
        if let Some(s) = &mut p.statement {
            // As it was sent it may be another one where the normal form is the same.
            let key = (s.id, Arc::clone(&s.text));
            let named = known
                .entry(key)
                .or_insert_with(|| Arc::new(names.statement(s)));
            *s = Arc::clone(named);
        }
    }
}

impl Anonymise for SqlResult {
    fn anonymised(mut self, names: &Anonymiser) -> SqlResult {
        for line in &mut self.statements {
            line.statement = line.statement.take().map(|s| Arc::new(names.statement(&s)));
            let keys = std::mem::take(&mut line.keys);
            line.keys = keys.into_iter().map(|k| key(names, k)).collect();
            for (code, _) in &mut line.codes {
                *code = names.outcome(*code);
            }
        }
        for call in self.followed.iter_mut().flat_map(|f| &mut f.calls) {
            call.outcome = names.outcome(call.outcome);
            let statement = call.statement.take();
            call.statement = statement.map(|s| Arc::new(names.statement(&s)));
        }
        statements_of(&mut self.packets, names);
        for logons in &mut self.logons {
            logons.client = names.address(logons.client);
            logons.server = names.endpoint(logons.server);
            for failure in &mut logons.failures {
                failure.code = names.outcome(failure.code);
                let user = failure.user.take();
                failure.user = user.map(|user| names.name(NameKind::User, &user).into());
            }
        }
        for session in &mut self.sessions {
            session.client = names.endpoint(session.client);
            session.server = names.endpoint(session.server);
            session.session = Arc::new(names.session(&session.session));
        }
        SqlResult {
            captures: self.captures.anonymised(names),
            notes: self.notes.anonymised(names),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use std::io::Write;

    fn names() -> Anonymiser {
        Anonymiser::new(b"a key for tests")
    }

    /// What an output writes of a result, plain and with pseudonyms.
    fn both<T: Anonymise + Clone>(
        result: &T,
        write: impl Fn(&T, &mut dyn Write) -> std::io::Result<()>,
    ) -> [String; 2] {
        [result.clone(), result.clone().anonymised(&names())]
            .map(|r| samples::written(|out| write(&r, out)))
    }

    /// None of the words that stand in the plain output stand in the other.
    fn gone(outputs: &[String; 2], words: &[&str]) {
        let [plain, hidden] = outputs;
        for word in words {
            assert!(
                plain.contains(word),
                "{word} is not in the plain output:\n{plain}"
            );
            assert!(!hidden.contains(word), "{word} is in\n{hidden}");
        }
    }

    #[test]
    fn no_name_is_left_in_any_output() {
        let zone = jiff::tz::TimeZone::UTC;
        let diagnosis = samples::diagnosis();
        let files = ["client.pcap", "server.pcap"];
        gone(
            &both(&diagnosis, |d, out| crate::diagnosis_json(d, out)),
            &files,
        );
        gone(
            &both(&diagnosis, |d, out| crate::diagnosis_text(d, &zone, out)),
            &files,
        );
        let mut concentrated = samples::diagnosis();
        concentrated.findings[0].places = samples::places();
        let named = [
            "10.0.0.1",
            "10.0.0.7",
            "10.0.0.2:",
            "undo01",
            "from t where",
        ];
        gone(
            &both(&concentrated, |d, out| crate::diagnosis_json(d, out)),
            &named,
        );
        let named = &named[..4];
        gone(
            &both(&concentrated, |d, out| crate::diagnosis_text(d, &zone, out)),
            named,
        );
        gone(
            &both(&concentrated, |d, out| {
                crate::diagnosis_markdown(d, &zone, out)
            }),
            named,
        );
        let conns = samples::conns();
        let hosts = ["10.0.0.1:", "2001:db8:1111:2222"];
        gone(&both(&conns, |c, out| crate::conns_json(c, out)), &hosts);
        gone(
            &both(&conns, |c, out| {
                crate::conns_rows(c, &mut samples::Csv(out))
            }),
            &hosts,
        );
        gone(
            &both(&conns, |c, out| crate::conns_text(c, true, out)),
            &["10.0.0.1:"],
        );
        let profile = samples::profile();
        let words = [
            "from t where",
            "name",
            "445299c112c75ebf",
            "scott",
            "orcl",
            "10.0.0.1:",
            "client.pcap",
        ];
        let sql = both(&profile, |p, out| crate::sql_json(p, true, out));
        gone(&sql, &words.map(|w| if w == "name" { "secret" } else { w }));
        assert!(sql[1].contains("select * from n"), "{}", sql[1]);
    }

    #[test]
    fn a_row_of_calls_and_the_profile_name_a_statement_alike() {
        let profile = samples::profile().anonymised(&names());
        let statement = profile.statements[0].statement.clone();
        let mut call = samples::call();
        let plain = call.clone();
        let session = Arc::clone(&samples::profile().sessions[0].session);
        call.sql = Some(Arc::new(model::Sql {
            session,
            statement: samples::profile().statements[0].statement.clone(),
        }));
        names().call(&mut call);
        let sql = call.sql.as_ref().expect("a statement");
        assert_eq!(sql.statement, statement);
        assert_eq!(call.client, profile.sessions[0].client);
        assert_eq!(call.response_time_ns(), plain.response_time_ns());
        let file = |c: &model::Call| c.detail.get(model::Field::File);
        assert_ne!(file(&call), file(&plain));
    }

    #[test]
    fn the_key_alone_decides_on_pseudonyms() {
        let [_, one] = both(&samples::ops(), |o, out| crate::ops_json(o, out));
        let [_, two] = both(&samples::ops(), |o, out| crate::ops_json(o, out));
        assert_eq!(one, two);
    }
}
