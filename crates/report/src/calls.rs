//! A call into a row of CSV or a line of JSON: the contract of `slowside calls`.
//!
//! Rows are built by hand into a buffer that the caller reuses: a capture has millions of calls, and
//! nothing here allocates per row. The columns' names and order stand once, in [`COLUMNS`].

use model::{Call, Endpoint, FieldKind, Mark, Protocol};
use std::io::Write;
use std::net::IpAddr;

/// Columns before `detail`, in order.
const COLUMNS: [&str; 23] = [
    "capture",
    "protocol",
    "op",
    "client",
    "server",
    "id",
    "request_first_frame",
    "request_last_frame",
    "response_first_frame",
    "response_last_frame",
    "request_first_ns",
    "request_last_ns",
    "response_first_ns",
    "response_last_ns",
    "response_time_ns",
    "request_transfer_ns",
    "wait_ns",
    "response_transfer_ns",
    "request_bytes",
    "response_bytes",
    "outcome",
    "outstanding",
    "retransmits",
];

/// The first line of the CSV, with its line end.
pub const CALLS_CSV_HEADER: &str = "capture,protocol,op,client,server,id,request_first_frame,\
request_last_frame,response_first_frame,response_last_frame,request_first_ns,request_last_ns,\
response_first_ns,response_last_ns,response_time_ns,request_transfer_ns,wait_ns,\
response_transfer_ns,request_bytes,response_bytes,outcome,outstanding,retransmits,detail\n";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Csv,
    Jsonl,
}

/// Writes calls as rows.
#[derive(Clone, Debug)]
pub struct CallWriter {
    form: Form,
    detail: Vec<u8>,
}

impl CallWriter {
    #[must_use]
    pub fn csv() -> CallWriter {
        CallWriter {
            form: Form::Csv,
            detail: Vec::new(),
        }
    }

    #[must_use]
    pub fn jsonl() -> CallWriter {
        CallWriter {
            form: Form::Jsonl,
            detail: Vec::new(),
        }
    }

    /// Appends the row of `call`, with its line end. `path` is that of its file, as far as it is known;
    /// `files` names the capture's files by
    /// [`PacketRef::file`](model::PacketRef).
    pub fn write(&mut self, call: &Call, path: Option<&str>, files: &[String], out: &mut Vec<u8>) {
        let marks = [
            call.request_first,
            call.request_last,
            call.response_first,
            call.response_last,
        ];
        // Frames are numbers within a file: the row names the file of its first packet, and the
        // detail those of packets that stand in another one.
        let file = marks.iter().flatten().next().map(|m| m.packet.file);
        self.detail.clear();
        detail(call, path, &marks, (file, files), &mut self.detail);

        let mut row = Row {
            form: self.form,
            column: 0,
            out,
        };
        row.text(file.and_then(|f| file_name(files, f)).unwrap_or_default());
        row.text(call.protocol.name());
        row.text(&call.op);
        row.plain(|out| endpoint(call.client, out));
        row.plain(|out| endpoint(call.server, out));
        row.plain(|out| id(call.protocol, call.id, out));
        for mark in marks {
            row.integer(mark.map(|m| m.packet.frame));
        }
        for mark in marks {
            row.integer(mark.map(|m| m.time.0));
        }
        row.integer(call.response_time_ns());
        row.integer(call.request_transfer_ns());
        row.integer(call.wait_ns());
        row.integer(call.response_transfer_ns());
        row.integer(Some(call.request_bytes));
        row.integer(Some(call.response_bytes));
        row.text(call.outcome.name());
        row.integer(Some(call.outstanding));
        row.integer(Some(call.retransmits));
        match self.form {
            Form::Csv => {
                out.push(b',');
                csv_field(&self.detail, out);
            }
            Form::Jsonl => {
                out.extend_from_slice(b",\"detail\":");
                out.extend_from_slice(&self.detail);
                out.push(b'}');
            }
        }
        out.push(b'\n');
    }
}

fn file_name(files: &[String], file: u16) -> Option<&str> {
    files.get(usize::from(file)).map(String::as_str)
}

/// The columns of one row, one after the other.
struct Row<'a> {
    form: Form,
    column: usize,
    out: &'a mut Vec<u8>,
}

impl Row<'_> {
    fn start(&mut self) {
        match self.form {
            Form::Csv if self.column == 0 => {}
            Form::Csv => self.out.push(b','),
            Form::Jsonl => {
                self.out.push(if self.column == 0 { b'{' } else { b',' });
                self.out.push(b'"');
                let name = COLUMNS.get(self.column).copied().unwrap_or_default();
                self.out.extend_from_slice(name.as_bytes());
                self.out.extend_from_slice(b"\":");
            }
        }
        self.column += 1;
    }

    fn text(&mut self, text: &str) {
        self.start();
        match self.form {
            Form::Csv => csv_field(text.as_bytes(), self.out),
            Form::Jsonl => json_string(text, self.out),
        }
    }

    /// Text that needs no quoting beyond JSON's quotation marks.
    fn plain(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.start();
        if self.form == Form::Jsonl {
            self.out.push(b'"');
        }
        write(self.out);
        if self.form == Form::Jsonl {
            self.out.push(b'"');
        }
    }

    fn integer(&mut self, value: Option<impl itoa::Integer>) {
        self.start();
        match value {
            Some(v) => integer(v, self.out),
            None if self.form == Form::Jsonl => self.out.extend_from_slice(b"null"),
            None => {}
        }
    }
}

fn integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
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

/// The detail as a JSON object.
fn detail(
    call: &Call,
    path: Option<&str>,
    marks: &[Option<Mark>; 4],
    (file, files): (Option<u16>, &[String]),
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    let key = |name: &str, out: &mut Vec<u8>| {
        if out.last() != Some(&b'{') {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
    };
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
    if let Some(path) = path {
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
    for (name, mark) in names.into_iter().zip(marks) {
        let other = mark.map(|m| m.packet.file).filter(|f| Some(*f) != file);
        if let Some(other) = other.and_then(|f| file_name(files, f)) {
            key(name, out);
            json_string(other, out);
        }
    }
    out.push(b'}');
}

fn json_string(text: &str, out: &mut Vec<u8>) {
    // Nearly every text is an operation's name.
    if text.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing text to memory cannot fail.
        drop(serde_json::to_writer(out, text));
    }
}

/// A field as RFC 4180 section 2 quotes it: only where it must.
pub(crate) fn csv_field(field: &[u8], out: &mut Vec<u8>) {
    if !field.iter().any(|b| b",\"\r\n".contains(b)) {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for &b in field {
        if b == b'"' {
            out.push(b'"');
        }
        out.push(b);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;
    use model::{Outcome, Reason};

    fn row(mut writer: CallWriter, call: &Call) -> String {
        let files = ["a,1.pcap".to_owned(), "b.pcap".to_owned()];
        let mut out = Vec::new();
        writer.write(call, Some("/srv/a \"b\""), &files, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn header_is_the_columns_and_detail() {
        assert_eq!(CALLS_CSV_HEADER, format!("{},detail\n", COLUMNS.join(",")));
    }

    #[test]
    fn a_row_has_every_column() {
        expect![[r#"
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,12,13,1700000000000000000,1700000000001000000,1700000000021000000,1700000000025000000,25000000,1000000,20000000,4000000,180,65700,ok,4,0,"{""file"":""00000000deadbeef"",""offset"":1048576,""eof"":true,""stable"":""FILE_SYNC"",""operations"":""SEQUENCE,PUTFH,READ"",""path"":""/srv/a \""b\""""}"
        "#]].assert_eq(&row(CallWriter::csv(), &samples::call()));
        expect![[r#"
            {"capture":"a,1.pcap","protocol":"nfs4.1","op":"READ","client":"10.0.0.1:700","server":"[fe80::1]:2049","id":"0x4ecb8123","request_first_frame":10,"request_last_frame":11,"response_first_frame":12,"response_last_frame":13,"request_first_ns":1700000000000000000,"request_last_ns":1700000000001000000,"response_first_ns":1700000000021000000,"response_last_ns":1700000000025000000,"response_time_ns":25000000,"request_transfer_ns":1000000,"wait_ns":20000000,"response_transfer_ns":4000000,"request_bytes":180,"response_bytes":65700,"outcome":"ok","outstanding":4,"retransmits":0,"detail":{"file":"00000000deadbeef","offset":1048576,"eof":true,"stable":"FILE_SYNC","operations":"SEQUENCE,PUTFH,READ","path":"/srv/a \"b\""}}
        "#]].assert_eq(&row(CallWriter::jsonl(), &samples::call()));
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
            "a,1.pcap",nfs4.1,READ,10.0.0.1:700,[fe80::1]:2049,0x4ecb8123,10,11,,,1700000000000000000,1700000000001000000,,,,1000000,,,180,65700,no-response,4,0,"{""path"":""/srv/a \""b\"""",""reason"":""after-capture""}"
        "#]].assert_eq(&row(CallWriter::csv(), &call));
        let json: serde_json::Value =
            serde_json::from_str(&row(CallWriter::jsonl(), &call)).expect("JSON");
        assert!(json["response_time_ns"].is_null());
        assert_eq!(json["detail"]["reason"], "after-capture");
    }

    #[test]
    fn packets_in_another_file_say_so() {
        let mut call = samples::call();
        if let Some(mark) = &mut call.response_last {
            mark.packet.file = 1;
        }
        let json: serde_json::Value =
            serde_json::from_str(&row(CallWriter::jsonl(), &call)).expect("JSON");
        assert_eq!(json["detail"]["response_last_capture"], "b.pcap");
        assert!(json["detail"].get("response_first_capture").is_none());
    }
}
