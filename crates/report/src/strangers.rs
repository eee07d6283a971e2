//! What strangers wrote, in every column of every output of rows, and that it does nothing there.
//!
//! Each column of text is listed here, by whether strangers write what stands in it: one that is declared and
//! not listed fails the test, and so does a table of columns that nobody writes rows of here.

use crate::calls::Calls;
use crate::conns::fields::{ConnRow, Conns};
use crate::followed::{self, Followed};
use crate::harmless::{Harmless, acts};
use crate::ops::Ops;
use crate::packets::{self, Packets};
use crate::page::{Page, on_page};
use crate::series::Series;
use crate::sql::Statements;
use crate::startup::{self, Waits};
use crate::stat::Intervals;
use crate::table::rows::{Form, RowWriter, nested};
use crate::table::{Cell, Column, ColumnKind, Get, Table, people};
use crate::text::Grid;
use crate::trace::rows::{self, TraceEvents, TraceStatements};
use crate::whatif::{self, Predictions};
use crate::{CallRow, TraceStyle, calls, conns, diagnosis_csv, ops, samples, series, sql, stat};
use analysis::findings::Owners;
use analysis::hops::CallHop;
use analysis::intervals::IntervalRow;
use analysis::ledgers::{Judged, SeenAtServer};
use analysis::pressure::Pressure;
use analysis::results::{KeyValue, SeriesRow, Side, Why};
use analysis::text::Text;
use analysis::trace_profile::Profiler;
use jiff::tz::TimeZone;
use ledger::Ledger;
use model::{
    Code, ConnectionId, Direction, Found, Interval, Mark, Name, Outcome, Protocol, Sql, SqlSession,
    Statement, Time,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::path::Path;
use std::sync::Arc;
use trace::host::Counter;

/// It fits into the shortest of texts, a database's code.
const EVIL: &str = "=1+e\u{1b}\u{9b}\n\u{202e}l";

/// Columns that strangers write, and those whose words are ours.
struct Columns<'a> {
    theirs: &'a [&'a str],
    ours: &'a [&'a str],
}

fn name<T: Table>(c: &Column<T>) -> String {
    format!(
        "{}{}{}",
        c.within,
        if c.within.is_empty() { "" } else { "." },
        c.name
    )
}

/// What a column says of a row, in its words.
fn said<'a, T: Table>(c: &Column<T>, row: &'a T::Row<'a>) -> String {
    let cell = match c.get {
        Get::Cell(get) => get(row),
        Get::Of(get) => get(row, c),
        Get::Plain(_) | Get::Json(_) | Get::Map(_) | Get::List(_) => {
            let mut out = Vec::new();
            nested(c, row, &mut out);
            String::from_utf8(out).expect("UTF-8").into()
        }
    };
    match cell {
        Cell::Text(text) => text.into_owned(),
        Cell::Hash(hash) => format!("{hash:016x}"),
        _ => String::new(),
    }
}

/// The cells of one row of CSV (RFC 4180 section 2).
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let (mut quoted, mut letters) = (false, line.chars().peekable());
    while let Some(c) = letters.next() {
        let cell = cells.last_mut().expect("one");
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    cells
}

/// That text holds nothing that acts, and no line of a stranger's.
fn assert_shows(text: &str) {
    let acting = |c: char| acts(c) && c != '\n';
    assert!(!text.contains(acting), "{text:?}");
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with([' ', 'l']) && line.trim_start().starts_with('l')),
        "{text}"
    );
}

/// That a row of CSV is one line of cells that no spreadsheet calculates.
fn assert_cells(line: &str) {
    assert_shows(line);
    assert_eq!(line.matches('\n').count(), 1, "{line:?}");
    for cell in cells(line.trim_end()) {
        let number = cell.parse::<f64>().is_ok();
        assert!(
            number || !cell.starts_with(['=', '+', '-', '@']),
            "{cell:?}"
        );
    }
}

fn row_of<'a, T: Table>(columns: &[Column<T>], form: Form, row: &'a T::Row<'a>) -> String {
    let mut out = Vec::new();
    RowWriter::of(columns, form).write(row, &mut out);
    String::from_utf8(out).expect("UTF-8")
}

fn check<'a, T: Table>(columns: &[Column<T>], row: &'a T::Row<'a>, listed: &Columns<'_>) {
    let texts = columns
        .iter()
        .filter(|c| (c.csv || c.json) && (c.kind == ColumnKind::Text || c.kind.is_nested()));
    let (mut theirs, mut ours) = (BTreeSet::new(), BTreeSet::new());
    for c in texts {
        let said = said(c, row);
        let strange = said.contains("=1+e");
        match strange {
            true => theirs.insert(name(c)),
            false => ours.insert(name(c)),
        };
    }
    let list = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(theirs, list(listed.theirs), "columns that strangers write");
    assert_eq!(ours, list(listed.ours), "columns in our words");

    assert_cells(&row_of(columns, Form::Csv, row));
    let raw = Page {
        raw_cells: true,
        ..Page::PLAIN
    };
    let line = on_page(raw, || row_of(columns, Form::Csv, row));
    assert_shows(&line);
    let begins = columns.iter().filter(|c| {
        c.csv && matches!(c.get, Get::Cell(_) | Get::Of(_)) && said(c, row).starts_with("=1")
    });
    let raw = cells(line.trim_end());
    assert_eq!(
        raw.iter().filter(|cell| cell.starts_with("=1+e")).count(),
        begins.count(),
        "programs have them as they are: {raw:?}"
    );

    let json = row_of(columns, Form::Jsonl, row);
    assert_shows(&json);
    let object: Map<String, Value> = serde_json::from_str(&json).expect("JSON");
    for c in columns
        .iter()
        .filter(|c| c.json && !c.nested && c.within.is_empty())
    {
        if let (Value::String(value), Get::Cell(_) | Get::Of(_)) = (&object[c.name], &c.get) {
            assert_eq!(*value, said(c, row), "{} loses nothing", c.name);
        }
    }

    let shown = people::shown(columns, std::slice::from_ref(row));
    let mut out = Vec::new();
    let table = Grid::new(people::table(&shown, std::slice::from_ref(row)), 2).text();
    Harmless::new(&mut out)
        .write_all(table.as_bytes())
        .expect("memory");
    let table = String::from_utf8(out).expect("UTF-8");
    assert_shows(&table);
    assert_eq!(table.lines().count(), 2, "a row is one line: {table}");
}

fn statement() -> Arc<Statement> {
    Arc::new(Statement {
        id: 1,
        normal: EVIL.into(),
        text: EVIL.into(),
        truncated: false,
        found: Found::Structured,
    })
}

#[test]
fn in_rows_of_calls() {
    let mut call = samples::call();
    call.protocol = Protocol::Smb2;
    call.op = Name::of(EVIL);
    call.outcome = Outcome::Code(Code::new(EVIL));
    call.text = Some(EVIL.into());
    call.sql = Some(Arc::new(Sql {
        session: Arc::new(SqlSession {
            user: Some(EVIL.into()),
            database: Some(EVIL.into()),
            program: Some(EVIL.into()),
            ..SqlSession::default()
        }),
        statement: Some(statement()),
    }));
    let files = &[EVIL.to_owned()];
    let judged = Judged {
        ledger: Ledger::default(),
        in_diagnosis: true,
        server: Some(SeenAtServer {
            marks: [Mark::default(); 4],
            inner_ns: [0; 2],
        }),
        clock_offset_ns: 0,
        application: None,
    };
    let row = CallRow {
        call: &call,
        files,
        server_files: files,
        judged: Some(&judged),
        owners: &Owners::default(),
        path: Some(EVIL),
        connection: None,
        unpaired: Some(Why::Evicted),
        order: 1,
        hops: &[CallHop {
            from: EVIL.into(),
            to: EVIL.into(),
            ns: 1,
        }],
        beneath: None,
        pressures: &[Pressure {
            side: Side::Server,
            counter: Counter::DiskAwait,
            device: EVIL.into(),
        }],
    };
    let listed = Columns {
        theirs: &[
            "capture",
            "op",
            "outcome",
            "detail",
            "server_capture",
            "sql",
            "user",
            "database",
            "program",
            "path",
            "hops",
            "host_pressure",
        ],
        ours: &[
            "protocol",
            "client",
            "server",
            "id",
            "ledger",
            "statement",
            "unmatched",
            "side",
        ],
    };
    check::<Calls>(&calls::COLUMNS, &row, &listed);
}

#[test]
fn in_groups_of_calls() {
    let keys = ["client", "server", "connection", "file"];
    let mut result = samples::ops();
    result.groups.truncate(1);
    let group = &mut result.groups[0];
    group.op = Some(EVIL.into());
    group.path = Some(EVIL.into());
    group.keys = keys.map(|key| (key, KeyValue::Text(EVIL.into()))).into();
    let zone = TimeZone::UTC;
    let rows = ops::rows(&result, &zone);
    let listed = Columns {
        theirs: &["op", "client", "server", "connection", "file", "path"],
        ours: &["protocol", "histogram"],
    };
    check::<Ops>(&ops::columns(keys), &rows[0], &listed);
}

#[test]
fn in_statements() {
    let keys = ["client", "program", "user", "service", "connection"];
    let mut result = samples::profile();
    result.captures[0].files = vec![EVIL.into()];
    let line = &mut result.statements[0];
    line.statement = Some(statement());
    line.op = Some(EVIL.into());
    line.codes = vec![(Outcome::Code(Code::new(EVIL)), 1)];
    line.keys = keys.map(|key| (key, KeyValue::Text(EVIL.into()))).into();
    let rows = sql::rows(&result);
    let theirs = [
        "sql",
        "op",
        "client",
        "program",
        "user",
        "service",
        "connection",
        "worst",
        "error_codes",
    ];
    for literals in [false, true] {
        let theirs: Vec<&str> = theirs
            .into_iter()
            .chain(literals.then_some("text"))
            .collect();
        let listed = Columns {
            theirs: &theirs,
            ours: &["protocol", "statement"],
        };
        check::<Statements>(&sql::columns(&keys, literals), &rows[0], &listed);
    }
}

#[test]
fn in_calls_of_a_session_that_is_followed() {
    let mut result = samples::followed();
    let call = result.followed.iter_mut().flat_map(|f| &mut f.calls).next();
    let call = call.expect("samples");
    call.op = Name::of(EVIL);
    call.outcome = Outcome::Code(Code::new(EVIL));
    call.statement = Some(statement());
    let rows = followed::rows(&result);
    let listed = Columns {
        theirs: &["op", "outcome", "sql"],
        ours: &["statement", "step"],
    };
    check::<Followed>(followed::COLUMNS, &rows[0], &listed);
}

#[test]
fn in_packets_of_a_session() {
    let mut result = samples::listed();
    result.captures[0].files = vec![EVIL.into()];
    let list = result.packets.as_mut().expect("samples");
    let packet = list.packets.first_mut().expect("samples");
    packet.op = Some(Name::of(EVIL));
    packet.statement = Some(statement());
    let rows = packets::of_session(&result);
    let listed = Columns {
        theirs: &["op", "sql", "file"],
        ours: &["direction", "type", "statement"],
    };
    check::<Packets>(packets::COLUMNS, &rows[0], &listed);
}

#[test]
fn in_connections_and_their_intervals() {
    let mut result = samples::conns();
    for capture in &mut result.captures {
        capture.files = vec![EVIL.into()];
    }
    let c = result.connections.get(0).expect("samples");
    let row = ConnRow {
        result: &result,
        c: &c,
        d: Direction::ToServer,
    };
    let listed = Columns {
        theirs: &["directions"],
        ours: &[
            "client",
            "close",
            "direction",
            "protocol",
            "server",
            "top.class",
            "top.direction",
            "vantage",
            "vantage_from",
            "sqlnet.purpose",
        ],
    };
    check::<Conns>(&conns::fields::columns(), &row, &listed);
    let interval = SeriesRow {
        capture: 0,
        connection: &c,
        interval: Interval::holding(ConnectionId(0), Time(0), 1),
        width_ns: 1,
        outstanding: None,
    };
    let listed = Columns {
        theirs: &["capture"],
        ours: &["captured_at", "client", "server", "protocol"],
    };
    check::<Series>(&series::columns(), &(&result, &interval), &listed);
}

#[test]
fn in_intervals_of_packets() {
    let listed = Columns {
        theirs: &[],
        ours: &[],
    };
    let row = IntervalRow {
        start: Time(0),
        width_ns: 1,
        sizes: Default::default(),
        kinds: Default::default(),
        calls: 0,
        errors: 0,
        half_calls: 0,
        responses: Default::default(),
        deviation_ns: None,
    };
    check::<Intervals>(stat::COLUMNS, &row, &listed);
}

#[test]
fn in_findings_and_in_traces() {
    let mut diagnosis = samples::diagnosis();
    for finding in &mut diagnosis.findings {
        finding.title = Text::from(EVIL);
        finding.why = Text::from(EVIL);
    }
    let csv = samples::written(|out| diagnosis_csv(&diagnosis, out));
    csv.split_inclusive('\n').for_each(assert_cells);
    assert_eq!(
        csv.matches("'=1+e").count(),
        2 * diagnosis.findings.len(),
        "{csv}"
    );

    let trace = "PARSING IN CURSOR #7 len=9 dep=0 uid=1 oct=3 lid=1 tim=1 hv=4 ad='b3' sqlid='EVIL'\nEVIL\n\
                 END OF STMT\nEXEC #7:c=1,e=10,p=1,cr=2,cu=0,mis=0,r=0,dep=0,og=1,plh=7,tim=20\n\
                 WAIT #7: nam='EVIL' ela= 600 file#=4 block#=20 blocks=1 obj#=1 tim=1900\n";
    let trace = trace.replace("EVIL", &EVIL.replace('\n', ""));
    let mut profiler = Profiler::default();
    let read = |r: trace::oracle::Record<'_>| profiler.record(&r);
    let mut read = read;
    let file = trace::oracle::read_from(EVIL.to_owned(), Cursor::new(trace), None, &mut read);
    profiler.file(file.expect("a trace"));
    let result = profiler.finish();
    let style = TraceStyle {
        by: None,
        order: analysis::results::Order::default(),
        show_literals: true,
        all: true,
    };
    let database = result.database.expect("an extended trace");
    let events = rows::events(&database, &style);
    let listed = Columns {
        theirs: &["event"],
        ours: &[],
    };
    let event = events.first().expect("a wait");
    check::<TraceEvents>(&rows::event_columns(), event, &listed);
    let statements = rows::statements(&database, &style);
    let listed = Columns {
        theirs: &["sql_id", "statement"],
        ours: &["id"],
    };
    let statement = statements.first().expect("a statement");
    check::<TraceStatements>(&rows::statement_columns(), statement, &listed);
}

/// Every type that rows are made of is in this file.
#[test]
fn no_table_is_left_out() {
    fn files(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("sources") {
            let path = entry.expect("sources").path();
            match path.is_dir() {
                true => files(&path, found),
                false => found.push(std::fs::read_to_string(path).expect("sources")),
            }
        }
    }
    let mut sources = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut sources,
    );
    let marks = ["impl Table ", "for "].concat();
    let here = include_str!("strangers.rs");
    let tables: Vec<&str> = sources
        .iter()
        // Those of tests stand in no output.
        .filter_map(|s| s.split("#[cfg(test)]").next())
        .flat_map(|s| s.split(&*marks).skip(1))
        .filter_map(|rest| rest.split_whitespace().next())
        .collect();
    assert!(tables.len() > 5, "{tables:?}");
    for table in tables {
        assert!(
            here.contains(&format!("check::<{table}>")),
            "no rows of {table} here"
        );
    }
}

#[test]
fn in_waits_of_a_startup() {
    let mut result = samples::startup();
    result.captures[0].files = vec![EVIL.into()];
    let client = result.client.as_mut().expect("samples");
    let wait = client.waits.first_mut().expect("samples");
    wait.what = EVIL.into();
    wait.ended_by = EVIL.into();
    let rows = startup::rows(&result);
    let listed = Columns {
        theirs: &["what", "ended_by", "file"],
        ours: &["kind", "ending", "server", "frames", "filter"],
    };
    check::<Waits>(&startup::columns(), &rows[0], &listed);
}

#[test]
fn in_predictions() {
    let mut profile = samples::profile();
    for of in &mut profile.statements {
        (of.statement, of.op) = (Some(statement()), Some(EVIL.into()));
    }
    let result = analysis::whatif::replay(&profile, analysis::whatif::Change::default());
    let rows = whatif::rows(&result);
    let listed = Columns {
        theirs: &["sql", "op"],
        ours: &["statement"],
    };
    check::<Predictions>(&whatif::columns(), &rows[0], &listed);
}
