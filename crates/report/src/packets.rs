//! Packets of SQL*Net, of a session in a capture or of a trace: a line each, the statement below it where it is another
//! one than before, and how large they were; and as rows for programs. Captures and traces have the same columns.

use crate::harmless::harmless;
use crate::page::Tone;
use crate::sql_text;
use crate::table::rows::{TakeRows, hand_over, json_list};
use crate::table::{Column, Table, columns};
use crate::text::{Grid, bytes, counted, grouped, tight, wrap};
use crate::value;
use analysis::packets::{ListedPacket, PacketList, Place, Way};
use analysis::sql::SqlResult;
use analysis::trace_profile::TraceResult;
use model::Time;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The rows of `slowside sql --packets` and `slowside trace --packets`.
pub(crate) struct Packets;

pub(crate) struct PacketRow<'a> {
    pub(crate) p: &'a ListedPacket,
    /// The file that it is in.
    pub(crate) file: Option<&'a str>,
    /// Whether its time is a trace's.
    pub(crate) local: bool,
}

impl Table for Packets {
    type Row<'a> = PacketRow<'a>;
}

type C = Column<Packets>;

pub(crate) const COLUMNS: &[C] = &columns! {
    "session" Integer "number of the session in a capture, of the connection in traces, from 1" |r| r.p.session;
    "time_ns" Time "when its first byte was captured; null in traces"
        |r| r.p.at.filter(|_| !r.local).map(|t| t.0) => or_null;
    "local_ns" Integer "of a trace: when the process had sent or read it, ns of local time, of which the zone is not known"
        |r| r.p.at.filter(|_| r.local).map(|t| t.0) => or_null;
    "direction" Text "to-server, to-client; of a trace that does not say whose it is sent, received"
        |r| r.p.way.name();
    "type" Text "the packet's type: connect, accept, data, marker, ..." |r| r.p.kind.name().as_str().to_owned();
    "bytes" Bytes "its length with its header; null where a trace's level does not show it" |r| r.p.bytes => or_null;
    "gap_ns" Duration "since the packet before of its session began" |r| r.p.gap_ns => or_null;
    "op" Text "operation of the call that it belongs to; null for none"
        |r| r.p.op.map(|op| op.as_str().to_owned()) => or_null;
    "statement" Text "hash of the normal form of the call's statement, 16 hexadecimal digits"
        |r| r.p.statement.as_ref().map(|s| format!("{:016x}", s.id)) => or_null;
    "sql" Text "its normal form, without literals; values of bind variables are never read"
        |r| r.p.statement.as_ref().map(|s| &*s.normal) => or_null;
    "file" Text "the file that it is in" |r| r.file => or_null;
    "first_frame" Ordinal "the packet of the capture that brought its first byte; null in traces"
        |r| frames(r.p).map(|(first, _)| first) => or_null;
    "last_frame" Ordinal "the one that brought its last" |r| frames(r.p).map(|(_, last)| last) => or_null;
    "line" Integer "of a trace, the line that tells of it" |r| line(r.p) => or_null;
};

fn frames(p: &ListedPacket) -> Option<(u32, u32)> {
    match p.place {
        Place::Frames(first, last) => Some((first.frame, last.frame)),
        Place::Line(..) => None,
    }
}

fn line(p: &ListedPacket) -> Option<u64> {
    match p.place {
        Place::Frames(..) => None,
        Place::Line(_, line) => Some(line),
    }
}

fn row<'a>(p: &'a ListedPacket, files: &[&'a str]) -> PacketRow<'a> {
    let (file, local) = match p.place {
        Place::Frames(first, _) => (usize::from(first.file), false),
        Place::Line(file, _) => (file, true),
    };
    PacketRow {
        p,
        file: files.get(file).copied(),
        local,
    }
}

fn rows<'a>(list: &'a PacketList, files: &[&'a str]) -> Vec<PacketRow<'a>> {
    list.packets.iter().map(|p| row(p, files)).collect()
}

/// The packets of the one session, if they are listed.
pub(crate) fn of_session(result: &SqlResult) -> Vec<PacketRow<'_>> {
    let captures = result.captures.first();
    let files: Vec<&str> =
        captures.map_or_else(Vec::new, |c| c.files.iter().map(String::as_str).collect());
    result
        .packets
        .as_ref()
        .map_or_else(Vec::new, |list| rows(list, &files))
}

/// Those of traces.
pub(crate) fn of_traces(result: &TraceResult) -> Vec<PacketRow<'_>> {
    let files: Vec<&str> = result.files.iter().map(|f| f.name.as_str()).collect();
    result
        .packets
        .as_ref()
        .map_or_else(Vec::new, |list| rows(list, &files))
}

/// Hands over a row per packet of the one session.
///
/// # Errors
/// Those of `to`.
pub fn session_packets_rows(result: &SqlResult, to: &mut dyn TakeRows) -> io::Result<()> {
    hand_over(COLUMNS, &of_session(result), to)
}

/// Hands over a row per packet of traces.
///
/// # Errors
/// Those of `to`.
pub fn trace_packets_rows(result: &TraceResult, to: &mut dyn TakeRows) -> io::Result<()> {
    hand_over(COLUMNS, &of_traces(result), to)
}

/// Writes `,"packets":[…],"packet_sizes":[…]`, of an answer in JSON.
pub(crate) fn json(
    list: &PacketList,
    rows: &[PacketRow<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    out.write_all(b",\"packets\":")?;
    json_list(COLUMNS, rows, out)?;
    out.write_all(b",\"packets_left_out\":")?;
    value::write(out, &list.left_out.into())?;
    out.write_all(b",\"packet_sizes\":")?;
    let sizes: Vec<Value> = list
        .sizes()
        .iter()
        .map(|s| {
            json!({
                "direction": s.way.name(),
                "up_to_bytes": s.up_to_bytes,
                "packets": s.packets,
                "bytes": s.bytes,
            })
        })
        .collect();
    value::write(out, &sizes.into())
}

/// Writes the session, its packets and their sizes. `literals`: statements as they were sent.
///
/// # Errors
/// Those of `out`.
pub fn session_packets_text(
    result: &SqlResult,
    literals: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for session in &result.sessions {
        let (numbers, who) = sql_text::of_session(session);
        out.write_all(wrap("", 3, &format!("Session {numbers}")).as_bytes())?;
        out.write_all(wrap("   ", 3, &who).as_bytes())?;
    }
    match &result.packets {
        Some(list) => text(list, &of_session(result), literals, out),
        None => Ok(()),
    }
}

/// Writes the packets of traces and their sizes.
///
/// # Errors
/// Those of `out`.
pub fn trace_packets_text(
    result: &TraceResult,
    literals: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    match &result.packets {
        Some(list) if !list.packets.is_empty() => text(list, &of_traces(result), literals, out),
        _ => out.write_all(b"No packet of SQL*Net is in these traces.\n"),
    }
}

fn text(
    list: &PacketList,
    rows: &[PacketRow<'_>],
    literals: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let begun = rows.iter().find_map(|r| r.p.at);
    let several = rows
        .iter()
        .any(|r| Some(r.p.session) != rows.first().map(|r| r.p.session));
    let place = match rows.first().map(|r| r.p.place) {
        Some(Place::Line(..)) => "line",
        _ => "frames",
    };
    let mut heads = vec!["at", place, "direction", "type", "bytes", "gap", "call"];
    if several {
        heads.insert(2, "connection");
    }
    let heads: Vec<String> = heads.into_iter().map(str::to_owned).collect();
    let cells = rows.iter().map(|r| cells(r.p, begun, several));
    let grid = Grid::new(
        std::iter::once(heads).chain(cells).collect(),
        3 + usize::from(several),
    );
    let mut lines = grid.lines().into_iter();
    let head = lines.next().unwrap_or_default();
    out.write_all(format!("\n{head}\n").as_bytes())?;
    let mut before = None;
    for (line, r) in lines.zip(rows) {
        out.write_all(format!("{line}\n").as_bytes())?;
        let Some(s) = &r.p.statement else { continue };
        if before != Some(s.id) {
            let text = if literals { &s.text } else { &s.normal };
            let more = if s.truncated { " …" } else { "" };
            let text = wrap("      ", 6, &format!("{}{more}", harmless(text)));
            out.write_all(Tone::Faint.paint_lines(&text).as_bytes())?;
        }
        before = Some(s.id);
    }
    if list.left_out > 0 {
        let more = counted(list.left_out, "further packet");
        out.write_all(format!("… and {more}; their sizes are counted below\n").as_bytes())?;
    }
    out.write_all(self::sizes(list).as_bytes())?;
    let end = "at: since the first packet. gap: since the packet before began. Values of bind \
               variables and rows are never read.";
    out.write_all(Tone::Faint.paint_lines(&wrap("", 0, end)).as_bytes())
}

fn cells(p: &ListedPacket, begun: Option<Time>, several: bool) -> Vec<String> {
    let none = || "-".to_owned();
    let place = match p.place {
        Place::Frames(a, b) if a.file != b.file || a.frame == b.frame => a.frame.to_string(),
        Place::Frames(a, b) => format!("{}-{}", a.frame, b.frame),
        Place::Line(_, line) => line.to_string(),
    };
    let at = p.at.zip(begun);
    let mut cells = vec![
        at.map_or_else(none, |(at, begun)| {
            format!("{:+.6}s", (at - begun) as f64 / 1e9)
        }),
        place,
        p.way.name().to_owned(),
        p.kind.name().as_str().to_owned(),
        p.bytes.map_or_else(none, grouped),
        p.gap_ns.map_or_else(none, tight),
        p.op.map_or_else(none, |op| harmless(op.as_str())),
    ];
    if several {
        cells.insert(2, p.session.to_string());
    }
    cells
}

/// How large packets were, with a bar for each share.
pub(crate) fn sizes(list: &PacketList) -> String {
    let sizes = list.sizes();
    let all: u64 = sizes.iter().map(|s| s.packets).sum();
    if all == 0 {
        return String::new();
    }
    let heads = ["packets", "up to", "count", "bytes", "share"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for s in &sizes {
        let of_way = sizes.iter().filter(|o| o.way == s.way).map(|o| o.packets);
        let share = s.packets as f64 / of_way.sum::<u64>() as f64;
        let unit = list.sdu_bytes == Some(s.up_to_bytes);
        rows.push(vec![
            s.way.name().to_owned(),
            format!(
                "{} B{}",
                grouped(s.up_to_bytes),
                if unit { " = SDU" } else { "" }
            ),
            grouped(s.packets),
            bytes(s.bytes),
            format!("{:.0} %", share * 100.0),
        ]);
    }
    let mut text = format!("\n{}\n", Tone::Title.paint("Sizes of packets"));
    text.push_str(&Grid::new(rows, 1).text());
    if let Some(sdu) = list.sdu_bytes {
        let full: Vec<String> = [Way::ToServer, Way::ToClient, Way::Sent, Way::Received]
            .into_iter()
            .filter_map(|way| {
                let (full, all) = list.full(way)?;
                let packets = counted(all, "data packet");
                Some(format!("{} of {packets} {}", grouped(full), way.name()))
            })
            .collect();
        let line = format!(
            "The session data unit is {} B; as large are {}.",
            grouped(sdu),
            full.join(", ")
        );
        text.push_str(&wrap("", 0, &line));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use expect_test::expect;

    #[test]
    fn the_schemas_describe_the_columns() {
        for title in ["slowside.sql.1", "slowside.trace.1"] {
            schema::assert_described(title, "/$defs/packet", COLUMNS);
        }
    }

    #[test]
    fn packets_are_listed_with_their_call_and_without_its_values() {
        let result = samples::listed();
        let page = samples::written(|out| session_packets_text(&result, false, out));
        let (_, page) = page.split_once("\n\n").expect("a head");
        expect![[r#"
            at           frames   direction   type   bytes      gap      call
            +0.000000s       10   to-server   data     180        -   EXECUTE
                  select * from t where name = ?
            +0.025000s       13   to-client   data   8,192   25.0ms   EXECUTE

            Sizes of packets
            packets           up to count   bytes share
            to-server         256 B     1   180 B 100 %
            to-client 8,192 B = SDU     1 8.19 kB 100 %
            The session data unit is 8,192 B; as large are 0 of 1 data packet to-server, 1
            of 1 data packet to-client.
            at: since the first packet. gap: since the packet before began. Values of bind
            variables and rows are never read.
        "#]]
        .assert_eq(page);
        assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
        assert!(!page.contains("secret"), "{page}");
    }

    #[test]
    fn rows_of_csv_have_the_columns_of_its_header() {
        let text = samples::written(|out| {
            session_packets_rows(&samples::listed(), &mut samples::Csv(out))
        });
        expect![[r#"
            session,time_ns,local_ns,direction,type,bytes,gap_ns,op,statement,sql,file,first_frame,last_frame,line
            1,1700000000000000000,,to-server,data,180,,EXECUTE,445299c112c75ebf,select * from t where name = ?,client.pcap,10,10,
            1,1700000000025000000,,to-client,data,8192,25000000,EXECUTE,445299c112c75ebf,select * from t where name = ?,client.pcap,13,13,
        "#]].assert_eq(&text);
    }

    #[test]
    fn json_has_packets_and_their_sizes() {
        let result = samples::listed();
        let rows = of_session(&result);
        let list = result.packets.as_ref().expect("listed");
        let text = samples::written(|out| json(list, &rows, out));
        let text = format!("{{{}}}", text.trim_start_matches(','));
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["packets"][0]["type"], "data");
        assert_eq!(value["packets_left_out"], 0);
        assert_eq!(value["packet_sizes"][1]["up_to_bytes"], 8_192);
    }
}
