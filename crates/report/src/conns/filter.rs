//! `--where` of `slowside conns`: a text such as `retransmitted_packets > 10 and rtt_p50 > 5ms` into a test of a
//! connection, by the columns of its rows.

use super::fields::{CONNECTION, ConnRow, Conns, DIRECTION, SESSION};
use crate::classes;
use crate::table::order::{self, number};
use crate::table::{Cell, Column, ColumnKind};
use analysis::filter::{
    Compared, Comparison, Expression, Fault, FilterError, Kind, Operator, Unit, nearest,
};
use analysis::results::{ConnectionResult, ConnsResult};
use model::{Direction, Endpoint};
use std::{fmt, slice};

/// Which connections are asked for.
#[derive(Clone, Debug)]
pub struct ConnFilter(Expression<Test>);

impl ConnFilter {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is not one; the error names the column and, for a name, close ones.
    pub fn parse(text: &str) -> Result<ConnFilter, FilterError> {
        Expression::parse(text).map(ConnFilter)
    }

    /// Whether the connection, whose captures `result` has, is asked for.
    #[must_use]
    pub fn matches(&self, result: &ConnsResult, c: &ConnectionResult) -> bool {
        let d = Direction::ToServer;
        self.0.matches(&ConnRow { result, c, d })
    }
}

/// One comparison, ready to be asked.
#[derive(Clone)]
struct Test {
    subject: Subject,
    compared: Compared,
}

impl fmt::Debug for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.compared.fmt(f)
    }
}

/// What it looks at.
#[derive(Clone, Copy)]
enum Subject {
    Host(Ends),
    Port(Ends),
    Connection(Column<Conns>),
    /// Of these directions.
    Direction(Column<Conns>, &'static [Direction]),
}

#[derive(Clone, Copy, PartialEq)]
enum Ends {
    Either,
    Client,
    Server,
}

impl Ends {
    fn of(self, c: &ConnectionResult) -> impl Iterator<Item = Endpoint> {
        let client = (self != Ends::Server).then_some(c.client);
        let server = (self != Ends::Client).then_some(c.server);
        client.into_iter().chain(server)
    }
}

const ENDS: [(&str, Subject); 8] = [
    ("host", Subject::Host(Ends::Either)),
    ("client", Subject::Host(Ends::Client)),
    ("client.address", Subject::Host(Ends::Client)),
    ("server", Subject::Host(Ends::Server)),
    ("server.address", Subject::Host(Ends::Server)),
    ("port", Subject::Port(Ends::Either)),
    ("client.port", Subject::Port(Ends::Client)),
    ("server.port", Subject::Port(Ends::Server)),
];

/// The column of that name as in CSV or in JSON, with or without its `_ns`.
fn column(columns: &[Column<Conns>], name: &str) -> Option<Column<Conns>> {
    order::column(columns, &name.to_ascii_lowercase().replace('.', "_"))
}

fn find(name: &str) -> Result<Subject, String> {
    let known = |(known, _): &&(&str, Subject)| known.eq_ignore_ascii_case(name);
    if let Some((_, subject)) = ENDS.iter().find(known) {
        return Ok(*subject);
    }
    let of = |d: &&Direction| {
        let prefix = name.split_once('.').map(|(prefix, _)| prefix);
        prefix.is_some_and(|p| p.eq_ignore_ascii_case(classes::direction(**d)))
    };
    let (directions, rest) = match Direction::BOTH.iter().find(of) {
        Some(d) => (slice::from_ref(d), name.split_once('.').map_or("", |n| n.1)),
        None => (&Direction::BOTH[..], name),
    };
    if directions.len() > 1
        && let Some(column) = column(CONNECTION, name).or_else(|| column(SESSION, name))
    {
        return Ok(Subject::Connection(column));
    }
    match column(&DIRECTION, rest) {
        Some(column) => Ok(Subject::Direction(column, directions)),
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> String {
    let columns = [CONNECTION, SESSION, &DIRECTION].map(order::sortable);
    let ends = ENDS.iter().map(|(name, _)| *name);
    let all = columns.iter().flatten().map(String::as_str).chain(ends);
    let near = nearest(name, all);
    match near.is_empty() {
        true => {
            format!("connections have no `{name}`; `slowside conns --fields` lists what they have")
        }
        false => format!(
            "connections have no `{name}`; did you mean `{}`?",
            near.join("`, `")
        ),
    }
}

fn kind(column: &Column<Conns>) -> Kind {
    match column.kind {
        ColumnKind::Duration => Kind::Number(Unit::Duration),
        ColumnKind::Rate => Kind::Number(Unit::Decimal),
        ColumnKind::Number => Kind::Fraction,
        ColumnKind::Flag => Kind::Flag,
        ColumnKind::Count
        | ColumnKind::Integer
        | ColumnKind::Ordinal
        | ColumnKind::Bytes
        | ColumnKind::Time => Kind::Number(Unit::Binary),
        _ => Kind::Text,
    }
}

impl Comparison for Test {
    type Of<'a> = ConnRow<'a>;
    const SUCH_AS: &'static str = "`client` or `retransmitted_packets`";

    fn known(name: &str) -> Result<(), String> {
        find(name).map(drop)
    }

    fn new(name: &str, operator: Operator, text: &str) -> Result<Test, Fault> {
        let subject = find(name).map_err(Fault::Name)?;
        let kind = match &subject {
            Subject::Host(_) => Kind::End,
            Subject::Port(_) => Kind::Number(Unit::Binary),
            Subject::Connection(column) | Subject::Direction(column, _) => kind(column),
        };
        let compared = Compared::new(name, kind, operator, text)?;
        Ok(Test { subject, compared })
    }

    fn matches(&self, r: &ConnRow<'_>) -> bool {
        let compared = &self.compared;
        let is = |column: &Column<Conns>, directions: &[Direction]| {
            let rows = directions.iter().map(|&d| ConnRow { d, ..*r });
            let rows: Vec<ConnRow<'_>> = rows.collect();
            let cells = || rows.iter().map(|row| order::cell(column, row));
            match kind(column) {
                Kind::Text => compared.any_text(cells().filter_map(Cell::text)),
                _ => compared.any_number(cells().filter_map(|cell| number(&cell))),
            }
        };
        match &self.subject {
            Subject::Host(ends) => {
                compared.any_end(ends.of(r.c).map(|e| (e.address, Some(e.port))))
            }
            Subject::Port(ends) => compared.any_number(ends.of(r.c).map(|e| e.port.into())),
            Subject::Connection(column) => is(column, &[r.d]),
            Subject::Direction(column, directions) => is(column, directions),
        }
    }
}
