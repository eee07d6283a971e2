//! A call into a row: the columns of `slowside calls`, and the fields of its protocol.

use crate::table::rows::{Form, RowWriter, integer, json_string, key};
use crate::table::{Column, ColumnKind, Table};
use analysis::ledgers::Judged;
use model::{Call, Endpoint, FieldKind, Mark, Protocol};
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
    /// The path of its file, as far as it is known.
    pub path: Option<&'a str>,
}

impl RowWriter<Calls> {
    #[must_use]
    pub fn calls(form: Form) -> RowWriter<Calls> {
        RowWriter::of(&COLUMNS, form)
    }
}

type C = Column<Calls>;

pub(crate) const COLUMNS: [C; 38] = [
    C::new(
        "capture",
        ColumnKind::Text,
        "the file of the call's first packet, as given",
        |r| {
            r.file()
                .and_then(|f| r.file_name(f))
                .unwrap_or_default()
                .into()
        },
    ),
    C::new(
        "protocol",
        ColumnKind::Text,
        "what it carries: nfs3, nfs4.1, smb2, tns, pgsql, mysql, dns, mdns, llmnr, nbns, dhcp, tcp, …",
        |r| r.call.protocol.name().into(),
    ),
    C::new("op", ColumnKind::Text, "the operation", |r| {
        r.call.op.as_str().into()
    }),
    C::plain("client", "address:port of who asked", |r, out| {
        endpoint(r.call.client, out)
    }),
    C::plain("server", "address:port of who answered", |r, out| {
        endpoint(r.call.server, out)
    }),
    C::plain(
        "id",
        "the protocol's own id; an RPC XID as 0x%08x",
        |r, out| id(r.call.protocol, r.call.id, out),
    ),
    C::new(
        "request_first_frame",
        ColumnKind::Frame,
        "frame number of the request's first packet, from 1 in its file",
        |r| r.call.request_first.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "request_last_frame",
        ColumnKind::Frame,
        "frame number of the request's last packet, from 1 in its file",
        |r| r.call.request_last.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "response_first_frame",
        ColumnKind::Frame,
        "frame number of the response's first packet, from 1 in its file",
        |r| r.call.response_first.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "response_last_frame",
        ColumnKind::Frame,
        "frame number of the response's last packet, from 1 in its file",
        |r| r.call.response_last.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "request_first_ns",
        ColumnKind::Time,
        "when the request's first byte passed, ns since the epoch",
        |r| r.call.request_first.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "request_last_ns",
        ColumnKind::Time,
        "when the request's last byte passed, ns since the epoch",
        |r| r.call.request_last.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_first_ns",
        ColumnKind::Time,
        "when the response's first byte passed, ns since the epoch",
        |r| r.call.response_first.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_last_ns",
        ColumnKind::Time,
        "when the response's last byte passed, ns since the epoch",
        |r| r.call.response_last.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_time_ns",
        ColumnKind::Duration,
        "response_last_ns − request_first_ns: the three parts below",
        |r| r.call.response_time_ns().into(),
    )
    .or_null(),
    C::new(
        "request_transfer_ns",
        ColumnKind::Duration,
        "first to last byte of the request",
        |r| r.call.request_transfer_ns().into(),
    )
    .or_null(),
    C::new(
        "wait_ns",
        ColumnKind::Duration,
        "from there to the response's first byte",
        |r| r.call.wait_ns().into(),
    )
    .or_null(),
    C::new(
        "response_transfer_ns",
        ColumnKind::Duration,
        "first to last byte of the response",
        |r| r.call.response_transfer_ns().into(),
    )
    .or_null(),
    C::new("request_bytes", ColumnKind::Bytes, "length of the request", |r| {
        r.call.request_bytes.into()
    }),
    C::new(
        "response_bytes",
        ColumnKind::Bytes,
        "length of the response",
        |r| r.call.response_bytes.into(),
    ),
    C::new(
        "outcome",
        ColumnKind::Text,
        "ok, the protocol's error name, no-response, no-request or incomplete",
        |r| r.call.outcome.name().into(),
    ),
    C::new(
        "outstanding",
        ColumnKind::Count,
        "calls of the connection sent and not yet answered when it was sent, itself included",
        |r| r.call.outstanding.into(),
    ),
    C::new(
        "retransmits",
        ColumnKind::Count,
        "how often the request was sent again",
        |r| r.call.retransmits.into(),
    ),
    C::json(
        "detail",
        "object",
        "fields of the protocol, those that are known",
        detail,
    ),
    C::new(
        "server_capture",
        ColumnKind::Text,
        "of a pair: the file of the call's first packet in the server's capture, as given",
        |r| {
            let file = r.server(0).map(|m| usize::from(m.packet.file));
            file.and_then(|f| r.server_files.get(f)).map(String::as_str).into()
        },
    )
    .or_null(),
    C::new(
        "server_request_first_frame",
        ColumnKind::Frame,
        "frame number of the request's first packet in the server's capture, of a pair",
        |r| r.server(0).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_request_last_frame",
        ColumnKind::Frame,
        "frame number of the request's last packet in the server's capture, of a pair",
        |r| r.server(1).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_response_first_frame",
        ColumnKind::Frame,
        "frame number of the response's first packet in the server's capture, of a pair",
        |r| r.server(2).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_response_last_frame",
        ColumnKind::Frame,
        "frame number of the response's last packet in the server's capture, of a pair",
        |r| r.server(3).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "client_response_lo_ns",
        ColumnKind::Duration,
        "what the client waited for the call at least; at the client, and of a pair, the response time",
        |r| r.judged.map(|j| j.ledger.response.lo_ns).into(),
    )
    .or_null(),
    C::new(
        "client_response_hi_ns",
        ColumnKind::Duration,
        "and at most; unknown where there is no bound",
        |r| r.judged.and_then(|j| j.ledger.response.hi_ns).into(),
    )
    .or_null(),
    C::new(
        "in_diagnosis",
        ColumnKind::Flag,
        "whether diagnose judges it; turns beside calls of known protocols are only listed",
        |r| r.judged.is_some_and(|j| j.in_diagnosis).into(),
    ),
    C::new(
        "network_out_ns",
        ColumnKind::Duration,
        "of a pair: the server's last byte of the request − the client's first",
        |r| r.parts().map(|[out, _, _]| out).into(),
    )
    .or_null(),
    C::new(
        "server_ns",
        ColumnKind::Duration,
        "of a pair: the server's first byte of the response − its last of the request",
        |r| r.parts().map(|[_, server, _]| server).into(),
    )
    .or_null(),
    C::new(
        "network_back_ns",
        ColumnKind::Duration,
        "of a pair: the client's last byte of the response − the server's first",
        |r| r.parts().map(|[_, _, back]| back).into(),
    )
    .or_null(),
    C::new(
        "server_request_first_ns",
        ColumnKind::Time,
        "when the request's first byte passed at the server, by its clock, ns since the epoch",
        |r| r.server(0).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "server_response_last_ns",
        ColumnKind::Time,
        "when the response's last byte did, ns since the epoch",
        |r| r.server(3).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::json(
        "ledger",
        "array",
        "what held it up: place, side, cause, lo_ns and hi_ns (null: no bound) of each line; docs/ledger.md",
        ledger,
    ),
];

impl CallRow<'_> {
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
    fn file(&self) -> Option<u16> {
        self.marks().iter().flatten().next().map(|m| m.packet.file)
    }

    /// Its packet of this number, from 0, in the server's capture.
    fn server(&self, which: usize) -> Option<Mark> {
        self.judged?.server?.get(which).copied()
    }

    /// Network out, server and network back of a matched call: they add up to its response time.
    fn parts(&self) -> Option<[i64; 3]> {
        let judged = self.judged?;
        let [_, asked, answers, _] = judged.server?;
        let whole = self.call.response_time_ns()?;
        let out = asked.time - self.call.request_first?.time - judged.clock_offset_ns;
        let server = answers.time - asked.time;
        Some([out, server, whole - out - server])
    }

    fn file_name(&self, file: u16) -> Option<&str> {
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

fn hexadecimal(value: u64, digits: u32, out: &mut Vec<u8>) {
    for i in (0..digits).rev() {
        let nibble = (value >> (4 * i) & 15) as u8;
        out.push(nibble + if nibble < 10 { b'0' } else { b'a' - 10 });
    }
}

/// The ledger as a JSON list, empty where there is none.
fn ledger(row: &CallRow<'_>, out: &mut Vec<u8>) {
    out.push(b'[');
    let lines = row.judged.map_or_else(Vec::new, |j| j.ledger.lines());
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        out.push(b'{');
        for (name, word) in [
            ("place", line.place.name()),
            ("side", line.side.name()),
            ("cause", line.cause.name()),
        ] {
            key(name, out);
            json_string(word, out);
        }
        key("lo_ns", out);
        integer(line.ns.lo_ns, out);
        key("hi_ns", out);
        match line.ns.hi_ns {
            Some(hi) => integer(hi, out),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }
    out.push(b']');
}

/// The detail as a JSON object.
fn detail(row: &CallRow<'_>, out: &mut Vec<u8>) {
    let call = row.call;
    out.push(b'{');
    for (field, value) in call.detail.iter() {
        key(field.name(), out);
        match field.kind() {
            FieldKind::Integer => integer(value, out),
            FieldKind::Hash => {
                out.push(b'"');
                hexadecimal(value, 16, out);
                out.push(b'"');
            }
            FieldKind::Flag => out.extend_from_slice(if value == 0 { b"false" } else { b"true" }),
            FieldKind::Word(words) => {
                match usize::try_from(value).ok().and_then(|i| words.get(i)) {
                    Some(word) => json_string(word, out),
                    None => integer(value, out),
                }
            }
        }
    }
    if let Some(text) = &call.text {
        let named = call.protocol.has_name();
        key(if named { "name" } else { "operations" }, out);
        json_string(text, out);
    }
    if let Some(sql) = &call.sql {
        let hidden = sql.session.hidden.map(|h| h.name());
        // Literals are nobody's business: the normal form has none.
        let normal = sql.statement.as_ref().map(|s| &*s.normal);
        for (name, text) in [("sql", normal), ("hidden", hidden)] {
            if let Some(text) = text {
                key(name, out);
                json_string(text, out);
            }
        }
    }
    if let Some(path) = row.path {
        key("path", out);
        json_string(path, out);
    }
    if let Some(reason) = call.outcome.reason() {
        key("reason", out);
        json_string(reason.name(), out);
    }
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
        if let Some(other) = other.and_then(|f| row.file_name(f)) {
            key(name, out);
            json_string(other, out);
        }
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use expect_test::expect;
    use model::{Outcome, Reason};

    fn row(form: Form, call: &Call) -> String {
        let files = &["a,1.pcap".to_owned(), "b.pcap".to_owned()];
        let mut out = Vec::new();
        let row = CallRow {
            call,
            files,
            server_files: &[],
            judged: None,
            path: Some("/srv/a \"b\""),
        };
        RowWriter::calls(form).write(&row, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.calls.1", "", &COLUMNS);
    }

    #[test]
    fn a_row_has_every_column() {
        expect![[r#"
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,12,13,1700000000000000000,1700000000001000000,1700000000021000000,1700000000025000000,25000000,1000000,20000000,4000000,180,65700,ok,4,0,"{""file"":""00000000deadbeef"",""offset"":1048576,""eof"":true,""stable"":""FILE_SYNC"",""operations"":""SEQUENCE,PUTFH,READ"",""path"":""/srv/a \""b\""""}",,,,,,,,false,,,,,,[]
        "#]].assert_eq(&row(Form::Csv, &samples::call()));
        expect![[r#"
            {"capture":"a,1.pcap","protocol":"nfs4.1","op":"READ","client":"10.0.0.1:700","server":"[fe80::1]:2049","id":"0x4ecb8123","request_first_frame":10,"request_last_frame":11,"response_first_frame":12,"response_last_frame":13,"request_first_ns":1700000000000000000,"request_last_ns":1700000000001000000,"response_first_ns":1700000000021000000,"response_last_ns":1700000000025000000,"response_time_ns":25000000,"request_transfer_ns":1000000,"wait_ns":20000000,"response_transfer_ns":4000000,"request_bytes":180,"response_bytes":65700,"outcome":"ok","outstanding":4,"retransmits":0,"detail":{"file":"00000000deadbeef","offset":1048576,"eof":true,"stable":"FILE_SYNC","operations":"SEQUENCE,PUTFH,READ","path":"/srv/a \"b\""},"server_capture":null,"server_request_first_frame":null,"server_request_last_frame":null,"server_response_first_frame":null,"server_response_last_frame":null,"client_response_lo_ns":null,"client_response_hi_ns":null,"in_diagnosis":false,"network_out_ns":null,"server_ns":null,"network_back_ns":null,"server_request_first_ns":null,"server_response_last_ns":null,"ledger":[]}
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
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,,,1700000000000000000,1700000000001000000,,,,1000000,,,180,65700,no-response,4,0,"{""path"":""/srv/a \""b\"""",""reason"":""after-capture""}",,,,,,,,false,,,,,,[]
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
