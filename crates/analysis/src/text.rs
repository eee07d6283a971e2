//! Sentences as data: a template that stands where its sentence is decided, and typed values for its
//! placeholders. So a name in a sentence becomes a pseudonym as the value that it is, and units are
//! written in one place: here, by `Display`, which is the last thing that happens to a sentence.
//!
//! A placeholder is `{name}`; `{name,}` writes a count with separators, `{name|was|were}` one of two
//! words, by whether the count is one. [`text!`] compares placeholders and values while it is compiled.

use crate::neighbours::{Hardware, hardware_text};
use crate::results::Side;
use crate::streams::word;
use model::{Code, Endpoint, Statement, counted, format_duration, grouped};
use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Characters of a statement that a sentence shows.
const STATEMENT: usize = 120;

/// A sentence, some sentences, or a part of one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Text {
    pub template: &'static str,
    /// By the names of their placeholders.
    pub values: Vec<(&'static str, Value)>,
}

/// What stands in a sentence.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Nanoseconds.
    Duration(i64),
    Count(u64),
    Bytes(u64),
    Percent(i64),
    /// Hundredths, with so many digits behind the point.
    Share(f64, usize),
    /// Of bytes, as large as they are on average.
    Size(f64),
    /// How many there are on average.
    Mean(f64),
    /// Nanoseconds, as seconds without their unit: "52 of the 61".
    Seconds(i64),
    /// Bits per second.
    Rate(i64),
    Side(Side),
    Address(IpAddr),
    Endpoint(Endpoint),
    Hardware(Hardware),
    /// By its id and normal form.
    Statement(Arc<Statement>),
    /// A user of a database.
    User(Arc<str>),
    /// A file, by its name.
    File(Arc<str>),
    /// A host, or what else a lookup asks for by its name.
    Host(Arc<str>),
    /// A database's code.
    Code(Code),
    /// What somebody else wrote, who may have named anybody.
    Quoted(Arc<str>),
    /// Words that name nobody.
    Words(Cow<'static, str>),
    Text(Text),
    /// Within another sentence, so that it begins with a small letter.
    Within(Box<Text>),
    /// And what stands between them.
    List(Vec<Text>, &'static str),
}

/// A [`Text`]: its template and the values of all its placeholders, `name = value`, or it does not compile.
#[macro_export]
macro_rules! text {
    ($template:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        const { $crate::text::check($template, &[$(stringify!($name)),*]) };
        $crate::text::Text {
            template: $template,
            values: vec![$((stringify!($name), $crate::text::Value::from($value))),*],
        }
    }};
}
pub use text;

/// Fails where a placeholder has no value, a value no placeholder, or a brace no partner.
#[doc(hidden)]
pub const fn check(template: &str, names: &[&str]) {
    let t = template.as_bytes();
    let mut used = 0_u64;
    let mut i = 0;
    while i < t.len() {
        assert!(t[i] != b'}', "a brace closes what was not opened");
        if t[i] == b'{' {
            let start = i + 1;
            let mut end = start;
            while !matches!(t[end], b'}' | b',' | b'|') {
                end += 1;
            }
            let mut n = 0;
            while !is_at(t, start, end, names[n].as_bytes()) {
                n += 1;
                assert!(n < names.len(), "a placeholder has no value");
            }
            used |= 1 << n;
            i = end;
            while t[i] != b'}' {
                i += 1;
            }
        }
        i += 1;
    }
    assert!(
        used.count_ones() as usize == names.len(),
        "a value has no placeholder"
    );
}

const fn is_at(text: &[u8], start: usize, end: usize, name: &[u8]) -> bool {
    let mut i = 0;
    while i < name.len() && start + i < end && text[start + i] == name[i] {
        i += 1;
    }
    i == name.len() && start + i == end
}

impl Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.template;
        while let Some((before, behind)) = rest.split_once('{') {
            f.write_str(before)?;
            let (place, after) = behind.split_once('}').unwrap_or((behind, ""));
            self.write(place, f)?;
            rest = after;
        }
        f.write_str(rest)
    }
}

impl Text {
    /// One after the other.
    #[must_use]
    pub fn list(texts: Vec<Text>, between: &'static str) -> Text {
        text!("{list}", list = Value::List(texts, between))
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.template.is_empty()
    }

    /// As it stands within a sentence.
    pub(crate) fn decapitalised(&self) -> Text {
        Text {
            values: vec![("sentence", Value::Within(Box::new(self.clone())))],
            template: "{sentence}",
        }
    }

    fn write(&self, place: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = place.split([',', '|']).next().unwrap_or(place);
        let value = self.values.iter().find(|(n, _)| *n == name);
        let rest = place.strip_prefix(name).unwrap_or_default();
        match (
            value,
            rest.strip_prefix('|').and_then(|w| w.split_once('|')),
        ) {
            (Some((_, value)), Some((one, _))) if value.is_one() => f.write_str(one),
            (_, Some((_, many))) => f.write_str(many),
            (Some((_, Value::Count(n))), None) if rest == "," => f.write_str(&grouped(*n)),
            (Some((_, value)), None) => value.fmt(f),
            (None, None) => write!(f, "{{{place}}}"),
        }
    }
}

/// Means that differ by less from whole numbers are these.
const WHOLE: f64 = 0.05;

impl Value {
    fn is_one(&self) -> bool {
        match self {
            Value::Count(n) => *n == 1,
            Value::Mean(n) => (n - 1.0).abs() < WHOLE,
            _ => false,
        }
    }
}

/// Three digits: "64.0 kB".
fn size(bytes: f64) -> String {
    let digits = |value: f64| match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    };
    match bytes {
        b if b < 999.5 => format!("{b:.0} B"),
        b if b < 999.5e3 => format!("{} kB", digits(b / 1e3)),
        b if b < 999.5e6 => format!("{} MB", digits(b / 1e6)),
        b => format!("{} GB", digits(b / 1e9)),
    }
}

fn seconds(ns: i64) -> String {
    match ns.abs() as f64 / 1e9 {
        s if s >= 99.95 => grouped(s.round() as u64),
        s if s >= 9.995 => format!("{s:.1}"),
        s if s >= 0.9995 => format!("{s:.2}"),
        s => format!("{s:.3}"),
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Duration(ns) => f.write_str(&format_duration(*ns)),
            Value::Count(n) => n.fmt(f),
            Value::Bytes(n) => f.write_str(&counted(*n, "byte")),
            Value::Percent(n) => write!(f, "{n} %"),
            Value::Share(n, digits) => write!(f, "{n:.digits$} %"),
            Value::Size(bytes) => f.write_str(&size(*bytes)),
            Value::Mean(n) if (n - n.round()).abs() < WHOLE => write!(f, "{n:.0}"),
            Value::Mean(n) => write!(f, "{n:.1}"),
            Value::Seconds(ns) => f.write_str(&seconds(*ns)),
            Value::Rate(bps) => write!(f, "{:.1} Mbit/s", *bps as f64 / 1e6),
            Value::Side(side) => f.write_str(word(*side)),
            Value::Address(address) => address.fmt(f),
            Value::Endpoint(end) => end.fmt(f),
            Value::Hardware(hardware) => f.write_str(&hardware_text(*hardware)),
            Value::Statement(s) => {
                let short = s.normal.char_indices().nth(STATEMENT);
                let shown = short.and_then(|(end, _)| s.normal.get(..end));
                let (shown, more) = shown.map_or((&*s.normal, ""), |shown| (shown, "…"));
                // The quotation marks stand nowhere else.
                let shown = shown.replace(['“', '”'], "\"");
                write!(f, "Statement {:016x}: “{shown}{more}”", s.id)
            }
            Value::User(name) | Value::File(name) | Value::Host(name) | Value::Quoted(name) => {
                f.write_str(name)
            }
            Value::Code(code) => f.write_str(code.as_str()),
            Value::Words(words) => f.write_str(words),
            Value::Text(text) => text.fmt(f),
            Value::Within(text) => {
                let text = text.to_string();
                let mut letters = text.chars();
                let first = letters.next().into_iter().flat_map(char::to_lowercase);
                first.chain(letters).try_for_each(|c| f.write_char(c))
            }
            Value::List(texts, between) => {
                for (i, text) in texts.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { between })?;
                    text.fmt(f)?;
                }
                Ok(())
            }
        }
    }
}

/// Of a sentence without placeholders.
impl From<&'static str> for Text {
    fn from(template: &'static str) -> Text {
        Text {
            template,
            values: Vec::new(),
        }
    }
}

macro_rules! from {
    ($($type:ty: $value:ident => $made:expr;)+) => {
        $(impl From<$type> for Value {
            fn from($value: $type) -> Value {
                $made
            }
        })+
    };
}

from! {
    u16: n => Value::Count(n.into());
    u32: n => Value::Count(n.into());
    u64: n => Value::Count(n);
    usize: n => Value::Count(n as u64);
    Side: side => Value::Side(side);
    IpAddr: address => Value::Address(address);
    Ipv4Addr: address => Value::Address(address.into());
    Endpoint: end => Value::Endpoint(end);
    Hardware: hardware => Value::Hardware(hardware);
    &Arc<Statement>: s => Value::Statement(Arc::clone(s));
    &'static str: words => Value::Words(words.into());
    String: words => Value::Words(words.into());
    Text: text => Value::Text(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_their_names_do_with_their_units() {
        let said = text!(
            "{calls,} call{calls||s} {calls|was|were} held for {time} by the {side}, {each} each, {share}, {rate}{more}",
            calls = 1_234_u64,
            time = Value::Duration(2_500_000),
            side = Side::Server,
            each = Value::Bytes(8_156),
            share = Value::Percent(12),
            rate = Value::Rate(1_500_000),
            more = Value::List(vec!["; a".into(), "b".into()], " and "),
        );
        assert_eq!(
            said.to_string(),
            "1,234 calls were held for 2.50 ms by the server, 8,156 bytes each, 12 %, 1.5 Mbit/s; a and b"
        );
        let means = text!(
            "{one} row{one||s}, {few} row{few||s}, {size}, {share}, {s} s",
            one = Value::Mean(1.04),
            few = Value::Mean(2.5),
            size = Value::Size(64_036.0),
            share = Value::Share(0.256, 2),
            s = Value::Seconds(61_000_000_000),
        );
        assert_eq!(
            means.to_string(),
            "1 row, 2.5 rows, 64.0 kB, 0.26 %, 61.0 s"
        );
        let one = text!("{calls} call{calls||s} {calls|was|were}", calls = 1_u64);
        assert_eq!(one.to_string(), "1 call was");
    }

    #[test]
    fn a_statement_is_shortened_between_quotation_marks_of_its_own() {
        let said = |normal: &str| {
            let statement = Arc::new(Statement {
                id: 0xc0ffee,
                normal: normal.into(),
                text: "".into(),
                truncated: false,
                found: model::Found::default(),
            });
            text!("{s}", s = &statement).to_string()
        };
        assert_eq!(
            said("select ”é“"),
            "Statement 0000000000c0ffee: “select \"é\"”"
        );
        assert!(said(&"é".repeat(121)).ends_with("é…”"));
        assert!(said(&"é".repeat(120)).ends_with("é”"));
    }

    #[test]
    fn what_does_not_fit_its_template_is_refused() {
        let refused = |template: &'static str, names: &'static [&'static str]| {
            std::panic::catch_unwind(|| check(template, names)).is_err()
        };
        assert!(!refused("{a} {a,} {a|one|many} {b}", &["a", "b"]));
        for template in ["{a}", "{a} {b} {c}", "{a} {b", "{a} {b} }", "{ab} {b}"] {
            assert!(refused(template, &["a", "b"]), "{template}");
        }
        assert!(refused("{a}", &[]));
    }
}
