//! Comparisons of what is seen live: `op = READ and p99 > 20ms`, `server = 10.0.0.2 and rtt > 5ms`.
//!
//! A row is an operation, a statement or a connection, and has words of its own; what both have is of
//! operations, unless the expression names something that only the others have. An expression that could
//! never be true, as no row has all that it names, is refused.

use super::compared::{Unit, Value, compare, is_like, network, number, protocol, within};
use super::lexer::{TokenKind, tokens};
use super::{Comparison, Expression, Fault, FilterError, Operator, glob, nearest};
use crate::live::{ConnectionRow, Figures, SubjectRow};
use crate::text::{Text, text};
use model::{Endpoint, TimeClass};
use std::net::{IpAddr, SocketAddr};

/// A threshold: true of the rows that are beyond it.
#[derive(Clone, Debug)]
pub struct LiveFilter {
    expression: Expression<LiveTest>,
    kind: Rows,
    said: Text,
}

/// An expression with the addresses in it as values; one that names others is another's words.
fn said(expression: &str) -> Text {
    let names = |word: &str| {
        ["statement", "sql"]
            .iter()
            .any(|n| n.eq_ignore_ascii_case(word))
    };
    let tokens = tokens(expression).unwrap_or_default();
    let mut parts = Vec::new();
    let mut rest: String = expression.to_owned();
    for token in &tokens {
        match &token.kind {
            TokenKind::Quoted(_) => return quoted(expression),
            TokenKind::Word(word) if names(word) || word.contains('/') => {
                return quoted(expression);
            }
            TokenKind::Word(word) => {
                let address = word.parse().map(|a: IpAddr| text!("{host}", host = a));
                let end = word.parse().map(|e: SocketAddr| {
                    let (address, port) = (e.ip(), e.port());
                    text!("{end}", end = Endpoint { address, port })
                });
                if let (Ok(value), Some((before, behind))) =
                    (address.or(end), rest.split_once(word.as_str()))
                {
                    parts.extend([text!("{words}", words = before.to_owned()), value]);
                    rest = behind.to_owned();
                }
            }
            _ => {}
        }
    }
    parts.push(text!("{words}", words = rest));
    Text::list(parts, "")
}

fn quoted(expression: &str) -> Text {
    text!(
        "{expression}",
        expression = crate::text::Value::Quoted(expression.into())
    )
}

/// What rows an expression is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rows {
    Operations,
    Statements,
    Connections,
}

/// Parts of a million, as the ratio of what was sent again.
const MILLION: f64 = 1e6;

#[derive(Clone, Copy, Debug)]
enum Subject {
    /// Of operations and statements, over the window.
    Figure(fn(&Figures) -> f64, How),
    Op,
    Statement,
    /// Of connections.
    Flow(fn(&ConnectionRow) -> Option<f64>, How),
    End(fn(&ConnectionRow) -> Endpoint),
    Limit,
    /// Of both.
    Protocol,
    Both(fn(&Figures) -> f64, fn(&ConnectionRow) -> Option<f64>, How),
}

/// How a number may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Duration,
    /// Also with a fraction: rates, averages.
    Count,
    /// Bits per second.
    Bits,
    /// `1 %` or 1.
    Percent,
}

const SUBJECTS: &[(&str, Subject)] = {
    use How::{Bits, Count, Duration, Percent};
    use Subject::{Both, End, Figure, Flow, Limit, Op, Protocol, Statement};
    &[
        ("protocol", Protocol),
        ("proto", Protocol),
        ("op", Op),
        ("statement", Statement),
        ("sql", Statement),
        ("rate", Figure(Figures::rate, Count)),
        ("p50", Figure(|f| f.stats.p50_ns as f64, Duration)),
        ("p90", Figure(|f| f.stats.p90_ns as f64, Duration)),
        ("p95", Figure(|f| f.stats.p95_ns as f64, Duration)),
        ("p99", Figure(|f| f.stats.p99_ns as f64, Duration)),
        (
            "calls",
            Both(|f| f.stats.count as f64, |c| Some(c.calls as f64), Count),
        ),
        (
            "mean",
            Both(
                |f| f.stats.mean_ns as f64,
                |c| Some(c.total_ns as f64 / c.calls.max(1) as f64),
                Duration,
            ),
        ),
        (
            "max",
            Both(
                |f| f.stats.max_ns as f64,
                |c| Some(c.max_ns as f64),
                Duration,
            ),
        ),
        (
            "errors",
            Both(|f| f.errors as f64, |c| Some(c.errors as f64), Count),
        ),
        (
            "outstanding",
            Both(
                Figures::outstanding,
                |c| Some(c.outstanding_most as f64),
                Count,
            ),
        ),
        ("client", End(|c| c.client)),
        ("server", End(|c| c.server)),
        ("rtt", Flow(|c| c.rtt_ns.map(|ns| ns as f64), Duration)),
        ("loss", Flow(|c| c.resent().map(|r| r * MILLION), Percent)),
        ("resent", Flow(|c| c.resent().map(|r| r * MILLION), Percent)),
        ("bps", Flow(|c| Some(c.bps() as f64), Bits)),
        (
            "silence",
            Flow(|c| c.silent_ns.map(|ns| ns as f64), Duration),
        ),
        ("limit", Limit),
    ]
};

fn find(name: &str) -> Result<Subject, String> {
    let is = |(known, _): &&(&str, Subject)| known.eq_ignore_ascii_case(name);
    SUBJECTS.iter().find(is).map(|s| s.1).ok_or_else(|| {
        let names = SUBJECTS.iter().map(|(n, _)| *n);
        let near = nearest(name, names.clone());
        if near.is_empty() {
            let all: Vec<&str> = names.collect();
            format!(
                "`{name}` is not among what is seen live; there are {}",
                all.join(", ")
            )
        } else {
            format!(
                "`{name}` is not among what is seen live; did you mean `{}`?",
                near.join("`, `")
            )
        }
    })
}

impl Subject {
    /// Whether rows of that kind have it.
    fn is_of(self, kind: Rows) -> bool {
        match self {
            Subject::Protocol | Subject::Both(..) => true,
            Subject::Op => kind == Rows::Operations,
            Subject::Statement => kind == Rows::Statements,
            Subject::Figure(..) => kind != Rows::Connections,
            Subject::Flow(..) | Subject::End(_) | Subject::Limit => kind == Rows::Connections,
        }
    }

    fn how(self) -> Option<How> {
        match self {
            Subject::Figure(_, how) | Subject::Flow(_, how) | Subject::Both(_, _, how) => Some(how),
            _ => None,
        }
    }
}

/// One comparison, ready to be asked.
#[derive(Clone, Debug)]
struct LiveTest {
    name: String,
    subject: Subject,
    operator: Operator,
    value: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Number(f64),
    Other(Value),
}

/// A row of either kind.
enum Row<'a> {
    Subject(&'a SubjectRow),
    Connection(&'a ConnectionRow),
}

impl Comparison for LiveTest {
    type Of<'a> = Row<'a>;
    const SUCH_AS: &'static str = "`op` or `p99`";

    fn known(name: &str) -> Result<(), String> {
        find(name).map(drop)
    }

    fn new(name: &str, operator: Operator, text: &str) -> Result<LiveTest, Fault> {
        use Operator::{Equal, Like, NotEqual};
        let subject = find(name).map_err(Fault::Name)?;
        let value = match subject.how() {
            Some(_) if operator == Like => {
                return Err(Fault::Operator(format!(
                    "`~` compares text, and `{name}` is a number"
                )));
            }
            Some(how) => Wanted::Number(number_of(name, text, how).map_err(Fault::Value)?),
            None if !matches!(operator, Equal | NotEqual | Like) => {
                return Err(Fault::Operator(format!(
                    "`{name}` has no order; use `=`, `!=` or `~`"
                )));
            }
            None => Wanted::Other(match subject {
                Subject::End(_) if operator != Like => network(text).map_err(Fault::Value)?,
                Subject::Protocol if operator != Like => {
                    Value::Text(protocol(text).map_err(Fault::Value)?)
                }
                Subject::Limit if operator != Like => {
                    Value::Text(limit(text).map_err(Fault::Value)?)
                }
                _ => Value::Text(text.to_owned()),
            }),
        };
        Ok(LiveTest {
            name: name.to_owned(),
            subject,
            operator,
            value,
        })
    }

    fn matches(&self, row: &Row<'_>) -> bool {
        let is_not = self.operator == Operator::NotEqual;
        let number = match (self.subject, row) {
            (Subject::Figure(get, _) | Subject::Both(get, ..), Row::Subject(r)) => {
                Some(get(&r.window))
            }
            (Subject::Flow(get, _) | Subject::Both(_, get, _), Row::Connection(c)) => get(c),
            (Subject::Protocol, Row::Subject(r)) => {
                return self.is_text(r.protocol.name()) != is_not;
            }
            (Subject::Protocol, Row::Connection(c)) => {
                return c.protocol.is_some_and(|p| self.is_text(p.name()) != is_not);
            }
            (Subject::Op, Row::Subject(r)) => return self.is_text(&r.op) != is_not,
            (Subject::Statement, Row::Subject(r)) => {
                let text = r.statement.as_ref();
                return text.is_some_and(|s| self.is_text(&s.normal) != is_not);
            }
            (Subject::End(get), Row::Connection(c)) => return self.is_end(get(c)) != is_not,
            (Subject::Limit, Row::Connection(c)) => {
                let class = c.limit.map_or(NO_LIMIT, |l| l.class.name());
                return self.is_text(class) != is_not;
            }
            _ => None,
        };
        match (&self.value, number) {
            // Durations and counts beyond 2^53 are not met.
            (Wanted::Number(wanted), Some(n)) => compare(self.operator, scaled(n), scaled(*wanted)),
            _ => false,
        }
    }
}

/// What limits a connection that nothing does.
const NO_LIMIT: &str = "none";

/// A misspelt one would silently match nothing.
fn limit(text: &str) -> Result<String, String> {
    let classes = TimeClass::ALL.into_iter().map(TimeClass::name);
    let all: Vec<&str> = classes.chain([NO_LIMIT]).collect();
    match all.iter().any(|name| name.eq_ignore_ascii_case(text)) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`limit` is one of {}, not `{text}`",
            all.join(", ")
        )),
    }
}

/// A number in the unit in which rows have it.
fn number_of(name: &str, text: &str, how: How) -> Result<f64, String> {
    let wrong = |what: &str| Err(format!("`{text}` is not {what} that `{name}` can have"));
    let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    match how {
        How::Duration => number(name, text, Unit::Duration).map(|ns| ns as f64),
        How::Count => match plain(text.trim_end_matches("/s")) {
            Some(n) => Ok(n),
            None => number(name, text, Unit::Binary).map(|n| n as f64),
        },
        How::Percent => match plain(text.trim_end_matches('%')) {
            Some(n) => Ok(n / 100.0 * MILLION),
            None => wrong("a percentage (such as 1%)"),
        },
        How::Bits => {
            let text = text.trim_end_matches("/s").to_ascii_lowercase();
            let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)];
            let with = units
                .iter()
                .find_map(|(unit, factor)| Some(plain(text.strip_suffix(unit)?)? * factor));
            match with.or_else(|| plain(&text)) {
                Some(n) => Ok(n),
                None => wrong("a bandwidth (such as 100Mbit)"),
            }
        }
    }
}

impl LiveTest {
    fn is_text(&self, text: &str) -> bool {
        match (&self.value, self.operator) {
            (Wanted::Other(Value::Text(wanted)), Operator::Like) => glob::matches(wanted, text),
            (Wanted::Other(Value::Text(wanted)), _) => wanted.eq_ignore_ascii_case(text),
            _ => false,
        }
    }

    fn is_end(&self, end: Endpoint) -> bool {
        match &self.value {
            Wanted::Other(Value::Network {
                address,
                bits,
                port,
            }) => within(end.address, *address, *bits) && port.is_none_or(|port| port == end.port),
            Wanted::Other(Value::Text(wanted)) => is_like(end, wanted),
            _ => false,
        }
    }
}

/// With three decimals, so that numbers with a fraction have the comparisons of whole ones.
fn scaled(n: f64) -> i128 {
    (n * 1e3).round() as i128
}

impl LiveFilter {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is not one, or nothing has all that it names; the error names the column and, for
    /// a name, close ones.
    pub fn parse(text: &str) -> Result<LiveFilter, FilterError> {
        let expression: Expression<LiveTest> = Expression::parse(text)?;
        let kinds = [Rows::Operations, Rows::Statements, Rows::Connections];
        let fits = |kind: &Rows| {
            let mut all = true;
            expression.each(&mut |test| all &= test.subject.is_of(*kind));
            all
        };
        let kind = kinds.into_iter().find(fits);
        let Some(kind) = kind else {
            let mut of_calls = None;
            let mut of_connections = None;
            expression.each(&mut |t| {
                let place = match t.subject.is_of(Rows::Connections) {
                    true => &mut of_connections,
                    false => &mut of_calls,
                };
                if !matches!(t.subject, Subject::Protocol | Subject::Both(..)) {
                    place.get_or_insert_with(|| t.name.clone());
                }
            });
            let message = match (of_calls, of_connections) {
                (Some(call), Some(connection)) => format!(
                    "`{connection}` is said of connections and `{call}` of operations, so nothing \
                     has both; use one kind, or --when twice (--where looks at one server alone)"
                ),
                _ => "`op` is said of operations and `statement` of statements; use one of them"
                    .to_owned(),
            };
            return Err(FilterError { column: 1, message });
        };
        Ok(LiveFilter {
            expression,
            kind,
            said: said(text),
        })
    }

    /// The expression as it was given.
    #[must_use]
    pub fn said(&self) -> &Text {
        &self.said
    }

    /// Whether it names statements, not operations.
    pub(crate) fn is_about_statements(&self) -> bool {
        self.kind == Rows::Statements
    }

    /// Whether an operation or statement is beyond it.
    pub(crate) fn matches_subject(&self, row: &SubjectRow) -> bool {
        self.kind != Rows::Connections && self.expression.matches(&Row::Subject(row))
    }

    /// Whether a connection is beyond it.
    pub(crate) fn matches_connection(&self, row: &ConnectionRow) -> bool {
        self.kind == Rows::Connections && self.expression.matches(&Row::Connection(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_never_be_true_is_refused() {
        for wrong in ["protocol = nsf3 and p99 > 20ms", "limit = bandwith"] {
            assert!(LiveFilter::parse(wrong).is_err(), "{wrong}");
        }
        for right in [
            "protocol = NFS3 and p99 > 20ms",
            "protocol ~ nsf*",
            "limit = none",
            "limit = small-window",
        ] {
            assert!(LiveFilter::parse(right).is_ok(), "{right}");
        }
    }

    #[test]
    fn an_expression_is_said_as_it_was_given_with_its_names_as_values() {
        use crate::text::Value as V;
        fn values(text: &Text) -> Vec<V> {
            let each = text.values.iter().flat_map(|(_, v)| match v {
                V::List(texts, _) => texts.iter().flat_map(values).collect(),
                V::Text(text) => values(text),
                other => vec![other.clone()],
            });
            each.collect()
        }
        for (expression, names) in [
            ("p99 > 20ms and rate>=5", 0),
            ("(client = 10.0.0.1 or server=fe80::1) and rtt > 5ms", 2),
            ("server = 10.0.0.2:2049", 1),
            ("server = 10.0.0.0/24", 1),
            ("statement ~ '*users*'", 1),
        ] {
            let filter = LiveFilter::parse(expression).expect("an expression");
            assert_eq!(filter.said().to_string(), expression);
            let named = values(filter.said());
            let named = named.iter().filter(|v| !matches!(v, V::Words(_))).count();
            assert_eq!(named, names, "{expression}");
        }
    }
}
