//! What a client waited for, for programs: `slowside.startup/1`, and rows.

use crate::table::rows::{TakeRows, hand_over, json_list};
use crate::table::{Column, Table, columns, order};
use crate::value;
use analysis::startup::{ClientStartup, StartupResult, Sum, Waited, reason};
use model::Endpoint;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The rows of `slowside startup`.
pub(crate) struct Waits;

impl Table for Waits {
    type Row<'a> = WaitRow<'a>;
}

#[derive(Clone, Copy)]
pub(crate) struct WaitRow<'a> {
    pub(crate) w: &'a Waited,
    /// That of the packet that began it.
    file: Option<&'a str>,
}

type C = Column<Waits>;

const SAID: &[C] = &columns! {
    "kind" Text "what was waited for; client: nothing on the wire" |r| r.w.kind.name();
    "ending" Text "how it ended; itself: the client went on by itself" |r| r.w.ending.name();
    "server" Text "who was waited for; null: the client itself" |r| server(r.w.server) => or_null;
    "what" Text "what was asked: a name, or protocol, operation and, of a logon, its step as in calls"
        |r| r.w.what.to_string();
    "ended_by" Text "what ended it" |r| r.w.ended_by.to_string();
    "first_ns" Time "when it began, ns since the epoch" |r| r.w.first.0;
    "elapsed_ns" Duration "how long it lasted" |r| r.w.elapsed_ns;
    "cost_ns" Duration "what of that nothing else is charged with" |r| r.w.cost_ns;
};

/// For JSON, which has both in one list.
const FRAMES: C = C::json(
    "frames",
    "array",
    "the frames that began and ended it",
    |r, out| {
        out.extend(format!("[{},{}]", r.w.begun.frame, r.w.ended.frame).bytes());
    },
)
.only_json();

const WHERE: &[C] = &columns! {
    "filter" Text "a Wireshark display filter that shows them" |r| filter(r.w);
    "first_frame" Ordinal "the packet that began it" |r| r.w.begun.frame;
    "last_frame" Ordinal "the one that ended it" |r| r.w.ended.frame;
    "file" Text "the file of the first, as given" |r| r.file => or_null;
};

pub(crate) fn columns() -> Vec<C> {
    let columns = SAID.iter().chain([&FRAMES]).chain(WHERE);
    columns.copied().collect()
}

/// The columns that waits can be sorted by.
#[must_use]
pub fn startup_sortable() -> Vec<String> {
    order::sortable(&columns())
}

/// The client's waits in order of time, or as asked for, and as many of them.
pub(crate) fn rows(result: &StartupResult) -> Vec<WaitRow<'_>> {
    let files = result.captures.first().map(|c| c.files.as_slice());
    let file = |w: &Waited| files?.get(usize::from(w.begun.file)).map(String::as_str);
    let waits = result.client.iter().flat_map(|c| &c.waits);
    let rows: Vec<_> = waits.map(|w| WaitRow { w, file: file(w) }).collect();
    order::at(&rows, &order::places(&columns(), &rows, &result.order))
}

/// Hands over a row per wait of the client.
///
/// # Errors
/// Those of `to`.
pub fn startup_rows(result: &StartupResult, to: &mut dyn TakeRows) -> io::Result<()> {
    hand_over(&columns(), &rows(result), to)
}

/// Writes `slowside.startup/1`, a wait per line.
///
/// # Errors
/// Those of `out`.
pub fn startup_json(result: &StartupResult, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.startup/1\",\"client\":")?;
    match &result.client {
        None => out.write_all(b"null")?,
        Some(c) => {
            out.write_all(b"{")?;
            for (name, of_it) in client(c) {
                write!(out, "\"{name}\":")?;
                value::write(out, &of_it)?;
                out.write_all(b",")?;
            }
            out.write_all(b"\"waits\":")?;
            json_list(&columns(), &rows(result), out)?;
            out.write_all(b"}")?;
        }
    }
    let others = result.others.iter();
    let others: Vec<Value> = others
        .map(|(address, ns)| json!({ "address": address.to_string(), "waited_ns": ns }))
        .collect();
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    for (name, of_it) in [("others", others), ("captures", captures)] {
        write!(out, ",\"{name}\":")?;
        value::write(out, &of_it.into())?;
    }
    out.write_all(b"}\n")
}

/// What is said of a client before its waits.
fn client(c: &ClientStartup) -> [(&'static str, Value); 8] {
    let addresses: Vec<String> = c.addresses.iter().map(ToString::to_string).collect();
    let sums = |of: &[Sum]| of.iter().map(|s| sum(s, c)).collect::<Vec<_>>().into();
    [
        ("addresses", addresses.into()),
        ("first_ns", c.first.0.into()),
        ("last_ns", c.last.0.into()),
        ("elapsed_ns", c.elapsed_ns().into()),
        ("waited_ns", c.waited_ns().into()),
        ("goes_on", c.goes_on.into()),
        ("reasons", sums(&c.reasons)),
        ("servers", sums(&c.servers)),
    ]
}

/// An address has no port where port 0 stands for none.
fn server(end: Option<Endpoint>) -> Option<String> {
    end.map(|end| match end.port {
        0 => end.address.to_string(),
        _ => end.to_string(),
    })
}

fn sum(s: &Sum, c: &ClientStartup) -> Value {
    let worst = c.waits.get(s.worst);
    json!({
        "kind": s.kind.name(),
        "ending": s.ending.name(),
        "reason": reason(s.kind, s.ending),
        "server": server(s.server),
        "count": s.count,
        "cost_ns": s.cost_ns,
        "worst_frame": worst.map(|w| w.begun.frame),
    })
}

/// A display filter that shows the packets that began and ended a wait.
pub(crate) fn filter(w: &Waited) -> String {
    match w.begun == w.ended {
        true => format!("frame.number == {}", w.begun.frame),
        false => format!("frame.number in {{{}, {}}}", w.begun.frame, w.ended.frame),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.startup.1", "/$defs/wait", &columns());
    }

    #[test]
    fn json_lists_waits_as_rows_do() {
        let json = samples::written(|out| startup_json(&samples::startup(), out));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["schema"], "slowside.startup/1");
        let rows =
            samples::written(|out| startup_rows(&samples::startup(), &mut samples::Csv(out)));
        let waits = json["client"]["waits"].as_array().expect("waits");
        assert_eq!(waits.len(), rows.lines().count() - 1, "{rows}");
        assert_eq!(waits[0]["frames"][0], waits[0]["first_frame"]);
    }
}
