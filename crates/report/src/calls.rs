//! A call into a row of `slowside calls`, and the fields of its protocol.

mod columns;

pub(crate) use columns::COLUMNS;

use crate::table::rows::{Form, RowWriter, hexadecimal, integer};
use crate::table::{Cell, ColumnKind, EachElement, EachValue, Part, Table};
use analysis::findings::Owners;
use analysis::hops::CallHop;
use analysis::ledgers::{Judged, Timed};
use analysis::pressure::Pressure;
use analysis::results::{Side, Why};
use analysis::tiers::Beneath;
use model::{Call, Endpoint, FieldKind, Mark, Protocol, SqlSession, Statement};
use std::io::Write;
use std::net::IpAddr;

/// The rows of `slowside calls`.
pub struct Calls;

impl Table for Calls {
    type Row<'a> = CallRow<'a>;
}

/// What a row is made from.
#[derive(Clone, Copy, Debug)]
pub struct CallRow<'a> {
    pub call: &'a Call,
    /// Names of the capture's files, by [`PacketRef::file`](model::PacketRef).
    pub files: &'a [String],
    /// Those of the server's capture, where there are two.
    pub server_files: &'a [String],
    /// What the judgement of its captures knows of it.
    pub judged: Option<&'a Judged>,
    /// Which findings own lines of its ledger.
    pub owners: &'a Owners,
    /// The path of its file, as far as it is known.
    pub path: Option<&'a str>,
    /// The number of its connection in `slowside conns`.
    pub connection: Option<u64>,
    /// Of two captures: why one alone has it.
    pub unpaired: Option<Why>,
    /// Its place among all rows as calls were over, from 1.
    pub order: u64,
    /// How much longer it took at each point of a path than at the next.
    pub hops: &'a [CallHop],
    /// How long of it, calls of its server's own were under way, where that makes any.
    pub beneath: Option<Beneath>,
    /// Counters of hosts that were high as it began, and that go with slow calls.
    pub pressures: &'a [Pressure],
}

impl RowWriter<Calls> {
    #[must_use]
    pub fn calls(form: Form) -> RowWriter<Calls> {
        RowWriter::of(&COLUMNS, form)
    }
}

impl CallRow<'_> {
    /// How long its application waited for it, by its own row.
    pub(crate) fn application(&self) -> Option<Timed> {
        self.judged.and_then(|j| j.application)
    }

    fn after_wire_ns(&self) -> Option<i64> {
        let application = self.application()?;
        let until_there = application.before_ns? + self.call.response_time_ns()?;
        Some(application.ns - until_there)
    }

    fn marks(&self) -> [Option<Mark>; 4] {
        let c = self.call;
        [
            c.request_first,
            c.request_last,
            c.response_first,
            c.response_last,
        ]
    }

    /// The file of its first packet. Frames are numbers within a file: the row names that one, and the
    /// detail those of packets that stand in another one.
    pub(crate) fn file(&self) -> Option<u16> {
        self.marks().iter().flatten().next().map(|m| m.packet.file)
    }

    /// Its packet of this number, from 0, in the server's capture.
    fn server(&self, which: usize) -> Option<Mark> {
        self.judged?.server?.marks.get(which).copied()
    }

    fn side(&self) -> Option<&'static str> {
        let ledger = &self.judged?.ledger;
        let divided = !ledger.charges().is_empty();
        divided.then(|| {
            ledger
                .side()
                .map_or(Side::Undetermined.name(), |side| side.name())
        })
    }

    /// Network out, server and network back of a matched call: they add up to its response time.
    fn parts(&self) -> Option<[i64; 3]> {
        let judged = self.judged?;
        let seen = judged.server?;
        let [_, asked, answers, _] = seen.marks;
        // What its server took while a message was passing is the server's, too.
        let [of_request, of_response] = seen.inner_ns;
        let whole = self.call.response_time_ns()?;
        let passed = asked.time - self.call.request_first?.time - judged.clock_offset_ns;
        let out = passed - of_request;
        let server = answers.time - asked.time + of_request + of_response;
        Some([out, server, whole - out - server])
    }

    /// A number of the stream's; datagrams have none, nor has what was not seen.
    fn on_stream(&self, seen: Option<Mark>, sequence: u32) -> Cell<'static> {
        let is_datagram = self.call.request_sequence == 0 && self.call.response_sequence == 0;
        let known = seen.is_some() && !is_datagram;
        known.then_some(sequence).into()
    }

    fn session(&self) -> Option<&SqlSession> {
        self.call.sql.as_deref().map(|sql| &*sql.session)
    }

    pub(crate) fn statement(&self) -> Option<&Statement> {
        self.call.sql.as_deref()?.statement.as_deref()
    }

    pub(crate) fn file_path(&self) -> Option<&str> {
        let name = self.call.text.as_deref();
        self.path
            .or(name.filter(|_| self.call.protocol == Protocol::Smb2))
    }

    pub(crate) fn file_name(&self, file: u16) -> Option<&str> {
        self.files.get(usize::from(file)).map(String::as_str)
    }
}

fn endpoint(end: Endpoint, out: &mut Vec<u8>) {
    match end.address {
        IpAddr::V4(address) => {
            for (i, octet) in address.octets().into_iter().enumerate() {
                if i > 0 {
                    out.push(b'.');
                }
                integer(octet, out);
            }
        }
        // Writing to memory cannot fail.
        IpAddr::V6(address) => drop(write!(out, "[{address}]")),
    }
    out.push(b':');
    integer(end.port, out);
}

/// The protocol's identifier as its own tools show it.
pub(crate) fn id(protocol: Protocol, id: u32, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Tns | Protocol::Pgsql | Protocol::Mysql | Protocol::Tcp => integer(id, out),
        _ => {
            out.extend_from_slice(b"0x");
            hexadecimal(id.into(), 8, out);
        }
    }
}

/// What a line of the ledger has.
const LINE: &[Part] = &[
    Part::new("place", ColumnKind::Text),
    Part::new("side", ColumnKind::Text),
    Part::new("cause", ColumnKind::Text),
    Part::new("lo_ns", ColumnKind::Duration),
    Part::new("hi_ns", ColumnKind::Duration),
    Part::new("finding", ColumnKind::Text),
];

/// The lines of the ledger, none where there is none.
fn ledger(row: &CallRow<'_>, each: &mut EachElement<'_>) {
    let Some(judged) = row.judged else {
        return;
    };
    // Turns that are only listed cost no finding anything.
    let owners = judged.in_diagnosis.then_some(row.owners);
    for line in judged.ledger.lines() {
        let finding = owners.and_then(|o| o.owner(&line));
        each(&[
            line.place.name().into(),
            line.side.name().into(),
            line.cause.name().into(),
            line.ns.lo_ns.into(),
            line.ns.hi_ns.into(),
            finding.map(|rule| rule.code()).into(),
        ]);
    }
}

/// What lies between two points of a path.
const HOP: &[Part] = &[
    Part::new("from", ColumnKind::Text),
    Part::new("to", ColumnKind::Text),
    Part::new("ns", ColumnKind::Duration),
];

fn hops(row: &CallRow<'_>, each: &mut EachElement<'_>) {
    for hop in row.hops {
        each(&[(&*hop.from).into(), (&*hop.to).into(), hop.ns.into()]);
    }
}

/// A counter of a host.
const PRESSURE: &[Part] = &[
    Part::new("side", ColumnKind::Text),
    Part::new("counter", ColumnKind::Text),
    Part::new("device", ColumnKind::Text),
];

fn pressures(row: &CallRow<'_>, each: &mut EachElement<'_>) {
    for p in row.pressures {
        each(&[
            p.side.name().into(),
            p.counter.name().into(),
            (&*p.device).into(),
        ]);
    }
}

/// What the protocol says of it.
fn detail(row: &CallRow<'_>, each: &mut EachValue<'_>) {
    let call = row.call;
    for (field, value) in call.detail.iter() {
        let word = |words: &'static [&'static str]| words.get(usize::try_from(value).ok()?);
        each(
            field.name(),
            match field.kind() {
                FieldKind::Integer => value.into(),
                FieldKind::Hash => Cell::Hash(value),
                FieldKind::Flag => (value != 0).into(),
                FieldKind::Word(words) => word(words).map_or(value.into(), |word| (*word).into()),
            },
        );
    }
    let mut text = |name: &str, text: Option<&str>| {
        if let Some(text) = text {
            each(name, text.into());
        }
    };
    let named = call.protocol.has_name();
    text(
        if named { "name" } else { "operations" },
        call.text.as_deref(),
    );
    if let Some(sql) = &call.sql {
        // Literals are nobody's business: the normal form has none.
        text("sql", sql.statement.as_ref().map(|s| &*s.normal));
        text("hidden", sql.session.hidden.map(|h| h.name()));
    }
    text("path", row.path);
    text("reason", call.outcome.reason().map(|r| r.name()));
    let names = [
        "request_first_capture",
        "request_last_capture",
        "response_first_capture",
        "response_last_capture",
    ];
    for (name, mark) in names.into_iter().zip(row.marks()) {
        let other = mark
            .map(|m| m.packet.file)
            .filter(|f| Some(*f) != row.file());
        text(name, other.and_then(|f| row.file_name(f)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use analysis::ledgers::SeenAtServer;
    use expect_test::expect;
    use model::{Outcome, Reason};

    fn of<'a>(call: &'a Call, files: &'a [String], owners: &'a Owners) -> CallRow<'a> {
        CallRow {
            call,
            files,
            server_files: &[],
            judged: None,
            owners,
            path: Some("/srv/a \"b\""),
            connection: Some(7),
            unpaired: None,
            order: 3,
            hops: &[],
            beneath: None,
            pressures: &[],
        }
    }

    fn row(form: Form, call: &Call) -> String {
        let files = &["a,1.pcap".to_owned(), "b.pcap".to_owned()];
        let mut out = Vec::new();
        let owners = Owners::default();
        RowWriter::calls(form).write(&of(call, files, &owners), &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn what_a_server_takes_inside_a_message_is_its_own_part() {
        let call = samples::call();
        let [asked, _, _, answered] = of(&call, &[], &Owners::default()).marks();
        let (asked, answered) = (asked.expect("seen"), answered.expect("seen"));
        let later = |by: i64| Mark {
            time: asked.time + by,
            ..asked
        };
        let parts = |inner_ns| {
            let judged = Judged {
                ledger: ledger::Ledger::default(),
                in_diagnosis: true,
                server: Some(SeenAtServer {
                    marks: [later(10), later(500), later(700), later(900)],
                    inner_ns,
                }),
                clock_offset_ns: 0,
                application: None,
            };
            let owners = Owners::default();
            let row = CallRow {
                judged: Some(&judged),
                ..of(&call, &[], &owners)
            };
            row.parts().expect("known")
        };
        let whole = answered.time - asked.time;
        assert_eq!(parts([0; 2]), [500, 200, whole - 700]);
        assert_eq!(parts([300, 0]), [200, 500, whole - 700]);
        assert_eq!(parts([0, 300]), [500, 500, whole - 1_000]);
    }

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.calls.1", "", &COLUMNS);
    }

    #[test]
    fn a_row_has_every_column() {
        expect![[r#"
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,12,13,1700000000000000000,1700000000001000000,1700000000021000000,1700000000025000000,25000000,1000000,20000000,4000000,180,65700,ok,4,0,"{""file"":""00000000deadbeef"",""offset"":1048576,""eof"":true,""stable"":""FILE_SYNC"",""operations"":""SEQUENCE,PUTFH,READ"",""path"":""/srv/a \""b\""""}",,,,,,,,false,,,,,,[],7,3,1,2,0,0,,,,,,,,"/srv/a ""b""",,,[],,,,,,[]
        "#]].assert_eq(&row(Form::Csv, &samples::call()));
        expect![[r#"
            {"capture":"a,1.pcap","protocol":"nfs4.1","op":"READ","client":"10.0.0.1:700","server":"[fe80::1]:2049","id":"0x4ecb8123","request_first_frame":10,"request_last_frame":11,"response_first_frame":12,"response_last_frame":13,"request_first_ns":1700000000000000000,"request_last_ns":1700000000001000000,"response_first_ns":1700000000021000000,"response_last_ns":1700000000025000000,"response_time_ns":25000000,"request_transfer_ns":1000000,"wait_ns":20000000,"response_transfer_ns":4000000,"request_bytes":180,"response_bytes":65700,"outcome":"ok","outstanding":4,"retransmits":0,"detail":{"file":"00000000deadbeef","offset":1048576,"eof":true,"stable":"FILE_SYNC","operations":"SEQUENCE,PUTFH,READ","path":"/srv/a \"b\""},"server_capture":null,"server_request_first_frame":null,"server_request_last_frame":null,"server_response_first_frame":null,"server_response_last_frame":null,"client_response_lo_ns":null,"client_response_hi_ns":null,"in_diagnosis":false,"network_out_ns":null,"server_ns":null,"network_back_ns":null,"server_request_first_ns":null,"server_response_last_ns":null,"ledger":[],"connection":7,"order":3,"request_sequence":1,"response_sequence":2,"request_held_ns":0,"response_held_ns":0,"server_request_last_ns":null,"server_response_first_ns":null,"statement":null,"sql":null,"user":null,"database":null,"program":null,"path":"/srv/a \"b\"","unmatched":null,"side":null,"hops":[],"beneath_lo_ns":null,"beneath_hi_ns":null,"application_ns":null,"before_wire_ns":null,"after_wire_ns":null,"host_pressure":[]}
        "#]].assert_eq(&row(Form::Jsonl, &samples::call()));
    }

    #[test]
    fn what_is_unknown_is_empty_in_csv_and_null_in_json() {
        let mut call = samples::call();
        call.response_first = None;
        call.response_last = None;
        call.detail = Default::default();
        call.text = None;
        call.outcome = Outcome::NoResponse(Reason::AfterCapture);
        expect![[r#"
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,,,1700000000000000000,1700000000001000000,,,,1000000,,,180,65700,no-response,4,0,"{""path"":""/srv/a \""b\"""",""reason"":""after-capture""}",,,,,,,,false,,,,,,[],7,3,1,,0,0,,,,,,,,"/srv/a ""b""",,,[],,,,,,[]
        "#]].assert_eq(&row(Form::Csv, &call));
        let json: serde_json::Value = serde_json::from_str(&row(Form::Jsonl, &call)).expect("JSON");
        assert!(json["response_time_ns"].is_null());
        assert_eq!(json["detail"]["reason"], "after-capture");
    }

    #[test]
    fn packets_in_another_file_say_so() {
        let mut call = samples::call();
        if let Some(mark) = &mut call.response_last {
            mark.packet.file = 1;
        }
        let json: serde_json::Value = serde_json::from_str(&row(Form::Jsonl, &call)).expect("JSON");
        assert_eq!(json["detail"]["response_last_capture"], "b.pcap");
        assert!(json["detail"].get("response_first_capture").is_none());
    }
}
