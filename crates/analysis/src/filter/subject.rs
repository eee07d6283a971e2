//! What a comparison looks at, and the comparison itself: names into getters, values into numbers,
//! addresses or text of the same kind, once, so that testing a call parses nothing.

use super::compared::{Unit, Value, compare, flag, is_like, network, number, protocol, within};
use super::{Comparison, Fault, Operator, glob, nearest};
use crate::results::field_text;
use model::{Call, Endpoint, Field, FieldKind, Mark, SqlSession};
use std::borrow::Cow;

#[derive(Clone, Copy, Debug)]
enum Subject {
    Number(fn(&Call) -> Option<i64>, Unit),
    Field(Field),
    Text(fn(&Call) -> Option<&str>),
    /// Comma-separated items: `=` asks for one of them or for all.
    List(fn(&Call) -> Option<&str>),
    Endpoint(fn(&Call) -> Endpoint),
    /// Frame numbers of a call's four packets: any of them.
    Frames,
}

fn ns(mark: Option<Mark>) -> Option<i64> {
    mark.map(|m| m.time.0)
}

fn frame(mark: Option<Mark>) -> Option<i64> {
    mark.map(|m| i64::from(m.packet.frame))
}

fn session(call: &Call) -> Option<&SqlSession> {
    call.sql.as_ref().map(|sql| &*sql.session)
}

fn bytes(n: u64) -> Option<i64> {
    i64::try_from(n).ok()
}

const SUBJECTS: &[(&str, Subject)] = {
    use Subject::{Endpoint, Frames, List, Number, Text};
    use Unit::{Binary, Duration};
    &[
        ("protocol", Text(|c| Some(c.protocol.name()))),
        ("op", Text(|c| Some(&c.op))),
        ("client", Endpoint(|c| c.client)),
        ("client.address", Endpoint(|c| c.client)),
        (
            "client.port",
            Number(|c| Some(c.client.port.into()), Binary),
        ),
        ("server", Endpoint(|c| c.server)),
        ("server.address", Endpoint(|c| c.server)),
        (
            "server.port",
            Number(|c| Some(c.server.port.into()), Binary),
        ),
        ("id", Number(|c| Some(c.id.into()), Binary)),
        ("frames", Frames),
        (
            "request_first_frame",
            Number(|c| frame(c.request_first), Binary),
        ),
        (
            "request_last_frame",
            Number(|c| frame(c.request_last), Binary),
        ),
        (
            "response_first_frame",
            Number(|c| frame(c.response_first), Binary),
        ),
        (
            "response_last_frame",
            Number(|c| frame(c.response_last), Binary),
        ),
        (
            "request_first_ns",
            Number(|c| ns(c.request_first), Duration),
        ),
        ("request_last_ns", Number(|c| ns(c.request_last), Duration)),
        (
            "response_first_ns",
            Number(|c| ns(c.response_first), Duration),
        ),
        (
            "response_last_ns",
            Number(|c| ns(c.response_last), Duration),
        ),
        ("response_time_ns", Number(Call::response_time_ns, Duration)),
        (
            "request_transfer_ns",
            Number(Call::request_transfer_ns, Duration),
        ),
        ("wait_ns", Number(Call::wait_ns, Duration)),
        (
            "response_transfer_ns",
            Number(Call::response_transfer_ns, Duration),
        ),
        ("request_bytes", Number(|c| bytes(c.request_bytes), Binary)),
        (
            "response_bytes",
            Number(|c| bytes(c.response_bytes), Binary),
        ),
        ("outcome", Text(|c| Some(c.outcome.name()))),
        ("reason", Text(|c| c.outcome.reason().map(|r| r.name()))),
        (
            "outstanding",
            Number(|c| Some(c.outstanding.into()), Binary),
        ),
        (
            "retransmits",
            Number(|c| Some(c.retransmits.into()), Binary),
        ),
        (
            "sql",
            Text(|c| {
                let sql = c.sql.as_ref()?;
                sql.statement.as_ref().map(|s| &*s.normal)
            }),
        ),
        ("user", Text(|c| session(c)?.user.as_deref())),
        ("database", Text(|c| session(c)?.database.as_deref())),
        ("program", Text(|c| session(c)?.program.as_deref())),
        (
            "hidden",
            Text(|c| session(c)?.hidden.map(|hidden| hidden.name())),
        ),
        ("operations", List(|c| c.text.as_deref())),
        ("name", Text(|c| c.text.as_deref())),
        ("text", List(|c| c.text.as_deref())),
    ]
};

/// The subject of that name, `_ns` left out or not; else a message that lists close names.
fn find(name: &str) -> Result<Subject, String> {
    let is = |known: &str| {
        known.eq_ignore_ascii_case(name)
            || known
                .strip_suffix("_ns")
                .is_some_and(|short| short.eq_ignore_ascii_case(name))
    };
    let field = || Field::ALL.iter().find(|f| is(f.name()));
    SUBJECTS
        .iter()
        .find(|(known, _)| is(known))
        .map(|(_, subject)| *subject)
        .or_else(|| field().map(|f| Subject::Field(*f)))
        .ok_or_else(|| {
            let names = SUBJECTS.iter().map(|(n, _)| *n);
            let all = names.chain(Field::ALL.iter().map(|f| f.name()));
            let near = nearest(name, all.clone());
            if near.is_empty() {
                let all: Vec<&str> = all.collect();
                format!("unknown field `{name}`; there are {}", all.join(", "))
            } else {
                format!(
                    "unknown field `{name}`; did you mean `{}`?",
                    near.join("`, `")
                )
            }
        })
}

/// One comparison, ready to be asked.
#[derive(Clone, Debug)]
pub(super) struct Test {
    subject: Subject,
    operator: Operator,
    value: Value,
}

impl Comparison for Test {
    type Of<'a> = Call;
    const SUCH_AS: &'static str = "`op` or `response_time`";

    fn known(name: &str) -> Result<(), String> {
        find(name).map(drop)
    }

    fn new(name: &str, operator: Operator, text: &str) -> Result<Test, Fault> {
        use Operator::{Equal, Like, NotEqual};
        let subject = find(name).map_err(Fault::Name)?;
        let ordered = !matches!(operator, Equal | NotEqual | Like);
        let (is_number, is_text) = match subject {
            Subject::Number(..) | Subject::Frames => (true, false),
            Subject::Field(f) => match f.kind() {
                FieldKind::Integer => (true, false),
                _ => (false, true),
            },
            _ => (false, true),
        };
        if ordered && !is_number {
            return Err(Fault::Operator(format!(
                "`{name}` has no order; use `=`, `!=` or `~`"
            )));
        }
        if operator == Like && !is_text {
            return Err(Fault::Operator(format!(
                "`~` compares text, and `{name}` is a number"
            )));
        }
        let value = if operator == Like {
            Value::Text(text.to_owned())
        } else {
            value(name, subject, text).map_err(Fault::Value)?
        };
        Ok(Test {
            subject,
            operator,
            value,
        })
    }

    fn matches(&self, call: &Call) -> bool {
        match &self.value {
            Value::Number(wanted) => match self.subject {
                Subject::Number(get, _) => {
                    get(call).is_some_and(|v| compare(self.operator, v.into(), *wanted))
                }
                Subject::Field(f) => call
                    .detail
                    .get(f)
                    .is_some_and(|v| compare(self.operator, v.into(), *wanted)),
                Subject::Frames => self.any_frame(call, *wanted),
                _ => false,
            },
            Value::Text(wanted) => self.text_matches(call, wanted),
            Value::Network {
                address,
                bits,
                port,
            } => {
                let Subject::Endpoint(get) = self.subject else {
                    return false;
                };
                let end = get(call);
                let inside = within(end.address, *address, *bits)
                    && port.is_none_or(|port| port == end.port);
                inside == (self.operator == Operator::Equal)
            }
        }
    }
}

impl Test {
    /// `!=` asks that none of the frames is the one given, the others that some frame compares so.
    fn any_frame(&self, call: &Call, wanted: i128) -> bool {
        let marks = [
            call.request_first,
            call.request_last,
            call.response_first,
            call.response_last,
        ];
        let mut frames = marks
            .into_iter()
            .filter_map(frame)
            .map(i128::from)
            .peekable();
        match self.operator {
            Operator::NotEqual => frames.peek().is_some() && frames.all(|f| f != wanted),
            operator => frames.any(|f| compare(operator, f, wanted)),
        }
    }

    fn text_matches(&self, call: &Call, wanted: &str) -> bool {
        let text: Option<Cow<'_, str>> = match self.subject {
            Subject::Text(get) | Subject::List(get) => get(call).map(Cow::Borrowed),
            Subject::Field(f) => call.detail.get(f).map(|v| field_text(f, v).into()),
            Subject::Endpoint(get) => {
                return is_like(get(call), wanted);
            }
            Subject::Number(..) | Subject::Frames => None,
        };
        let Some(text) = text else { return false };
        let equal = || {
            text.eq_ignore_ascii_case(wanted)
                || matches!(self.subject, Subject::List(_))
                    && text
                        .split(',')
                        .any(|item| item.trim().eq_ignore_ascii_case(wanted))
        };
        match self.operator {
            Operator::Like => glob::matches(wanted, &text),
            Operator::NotEqual => !equal(),
            _ => equal(),
        }
    }
}

fn value(name: &str, subject: Subject, text: &str) -> Result<Value, String> {
    let field = match subject {
        Subject::Number(_, unit) => return number(name, text, unit).map(Value::Number),
        Subject::Frames => return number(name, text, Unit::Binary).map(Value::Number),
        Subject::Endpoint(_) => return network(text),
        Subject::Text(_) if name.eq_ignore_ascii_case("protocol") => {
            return protocol(text).map(Value::Text);
        }
        Subject::Text(_) | Subject::List(_) => return Ok(Value::Text(text.to_owned())),
        Subject::Field(field) => field,
    };
    match field.kind() {
        FieldKind::Integer => number(name, text, Unit::Binary).map(Value::Number),
        FieldKind::Hash => {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u64::from_str_radix(digits, 16)
                .map(|hash| Value::Number(hash.into()))
                .map_err(|_| format!("`{name}` is shown as 16 hexadecimal digits; `{text}` is not"))
        }
        FieldKind::Flag => flag(name, text).map(Value::Number),
        FieldKind::Word(words) => words
            .iter()
            .position(|w| w.eq_ignore_ascii_case(text))
            .map(|i| Value::Number(i as i128))
            .ok_or_else(|| format!("`{name}` is one of {}, not `{text}`", words.join(", "))),
    }
}
