//! What stands behind a name: an operator and a value, read once by the kind of what the name stands for, so that
//! comparing parses nothing.

use super::{Fault, Operator, glob};
use model::{Endpoint, Protocol};
use std::net::IpAddr;

/// How the number of a comparison may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// `20ms`, `1.5s`; nanoseconds where the name says so (`wait_ns`).
    Duration,
    /// Bytes and counts: `64k` is 65,536.
    Binary,
    /// Rates: `100M` is 100,000,000.
    Decimal,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Number(Unit),
    /// With a fraction, compared in billionths.
    Fraction,
    Flag,
    Text,
    /// An address with or without a port, or a network.
    End,
}

impl Kind {
    fn has_order(self) -> bool {
        matches!(self, Kind::Number(_) | Kind::Fraction)
    }
}

/// An operator and a value.
#[derive(Clone, Debug)]
pub struct Compared {
    operator: Operator,
    value: Value,
}

impl Compared {
    /// # Errors
    /// When the operator or the value is none for what `name` stands for.
    pub fn new(name: &str, kind: Kind, operator: Operator, text: &str) -> Result<Compared, Fault> {
        use Operator::{Equal, Like, NotEqual};
        if !kind.has_order() && !matches!(operator, Equal | NotEqual | Like) {
            return Err(Fault::Operator(format!(
                "`{name}` has no order; use `=`, `!=` or `~`"
            )));
        }
        if operator == Like && !matches!(kind, Kind::Text | Kind::End) {
            return Err(Fault::Operator(format!(
                "`~` compares text, and `{name}` is a {}",
                if kind == Kind::Flag { "flag" } else { "number" }
            )));
        }
        let value = match kind {
            _ if operator == Like => Ok(Value::Text(text.to_owned())),
            Kind::Number(unit) => number(name, text, unit).map(Value::Number),
            Kind::Fraction => fraction(name, text).map(Value::Number),
            Kind::Flag => flag(name, text).map(Value::Number),
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::End => network(text),
        };
        let value = value.map_err(Fault::Value)?;
        Ok(Compared { operator, value })
    }

    /// Whether it is true of one of several values; `!=` asks that none is the one given. Of no value it is false.
    fn any<T>(&self, mut values: impl Iterator<Item = T>, is: impl Fn(T) -> bool) -> bool {
        match self.operator {
            Operator::NotEqual => match values.next() {
                Some(first) => !is(first) && !values.any(is),
                None => false,
            },
            _ => values.any(is),
        }
    }

    /// Whether it is true of one of these numbers.
    pub fn any_number(&self, values: impl Iterator<Item = i128>) -> bool {
        let Value::Number(wanted) = self.value else {
            return false;
        };
        let operator = match self.operator {
            Operator::NotEqual => Operator::Equal,
            operator => operator,
        };
        self.any(values, |n| compare(operator, n, wanted))
    }

    /// Whether it is true of one of these texts; letters match in either case.
    pub fn any_text<T: AsRef<str>>(&self, values: impl Iterator<Item = T>) -> bool {
        let Value::Text(wanted) = &self.value else {
            return false;
        };
        self.any(values, |text| match self.operator {
            Operator::Like => glob::matches(wanted, text.as_ref()),
            _ => wanted.eq_ignore_ascii_case(text.as_ref()),
        })
    }

    /// Whether it is true of one of these hosts, with their ports.
    pub fn any_end(&self, values: impl Iterator<Item = (IpAddr, Option<u16>)>) -> bool {
        self.any(values, |(host, port)| match &self.value {
            Value::Network {
                address,
                bits,
                port: wanted,
            } => within(host, *address, *bits) && wanted.is_none_or(|wanted| Some(wanted) == port),
            Value::Text(wanted) => {
                let whole = || port.map(|port| std::net::SocketAddr::new(host, port).to_string());
                glob::matches(wanted, &host.to_string())
                    || whole().is_some_and(|whole| glob::matches(wanted, &whole))
            }
            Value::Number(_) => false,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i128),
    Text(String),
    Network {
        address: IpAddr,
        bits: u32,
        port: Option<u16>,
    },
}

pub(super) fn compare(operator: Operator, a: i128, b: i128) -> bool {
    match operator {
        Operator::Equal => a == b,
        Operator::NotEqual => a != b,
        Operator::Less => a < b,
        Operator::LessOrEqual => a <= b,
        Operator::Greater => a > b,
        Operator::GreaterOrEqual => a >= b,
        Operator::Like => false,
    }
}

pub(super) fn within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) => {
            let differ = a.to_bits() ^ n.to_bits();
            differ.checked_shr(32 - bits.min(32)).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(n)) => {
            let differ = a.to_bits() ^ n.to_bits();
            differ.checked_shr(128 - bits.min(128)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

pub(super) fn flag(name: &str, text: &str) -> Result<i128, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(1),
        "false" | "no" | "0" => Ok(0),
        _ => Err(format!("`{name}` is `true` or `false`, not `{text}`")),
    }
}

/// In billionths.
fn fraction(name: &str, text: &str) -> Result<i128, String> {
    let plain = text.parse::<f64>().ok().filter(|n| n.is_finite());
    plain
        .map(|n| (n * 1e9) as i128)
        .ok_or_else(|| format!("`{text}` is not a number that `{name}` can have"))
}

/// `10.0.0.1`, `10.0.0.1:2049`, `10.0.0.0/8`, `fe80::1`, `[fe80::1]:2049`, `fe80::/10`.
pub(super) fn network(text: &str) -> Result<Value, String> {
    let parsed = || {
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let bits: u32 = bits.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            return (bits <= most).then_some((address, bits, None));
        }
        let (address, port) = match text.parse::<std::net::SocketAddr>() {
            Ok(socket) => (socket.ip(), Some(socket.port())),
            Err(_) => {
                let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
                (bare.unwrap_or(text).parse().ok()?, None)
            }
        };
        Some((address, 128, port))
    };
    parsed()
        .map(|(address, bits, port)| Value::Network {
            address,
            bits,
            port,
        })
        .ok_or_else(|| {
            format!(
                "`{text}` is not an address; write 10.0.0.1, 10.0.0.1:2049, 10.0.0.0/8 or \
                 [fe80::1]:2049"
            )
        })
}

/// A decimal number with a unit that fits, exact to the last digit, or a hexadecimal one.
pub(super) fn number(name: &str, text: &str, unit: Unit) -> Result<i128, String> {
    let wrong = |what: &str| Err(format!("`{text}` is not {what} that `{name}` can have"));
    let says_ns = name.to_ascii_lowercase().ends_with("_ns");
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        return match u64::from_str_radix(hex, 16) {
            Ok(value) if unit != Unit::Duration || says_ns => {
                Ok(if negative { -1 } else { 1 } * i128::from(value))
            }
            Ok(_) => wrong("a duration (such as 20ms, 1.5s or 300us)"),
            Err(_) => wrong("a hexadecimal number"),
        };
    }
    let split = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at_checked(split).unwrap_or((digits, ""));
    let Some(factor) = factor(suffix.trim(), unit) else {
        return match unit {
            Unit::Duration => wrong("a duration (such as 20ms, 1.5s or 300us)"),
            Unit::Binary | Unit::Decimal => wrong("a number (such as 4096, 64k, 1M or 0x4ecb8123)"),
        };
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // 20 digits hold every u64; their product with the largest factor fits an i128.
    if whole.is_empty() && fraction.is_empty()
        || whole.len() > 20
        || fraction.len() > 9
        || fraction.contains('.')
    {
        return wrong("a number");
    }
    let integer = |digits: &str| digits.parse::<i128>().unwrap_or(0);
    let value =
        integer(whole) * factor + integer(fraction) * factor / 10i128.pow(fraction.len() as u32);
    let value = if negative { -value } else { value };
    // Milliseconds are meant by whoever leaves them out, and as nanoseconds 20 would be true of every call.
    let lacks_unit = unit == Unit::Duration && suffix.is_empty() && value != 0;
    if lacks_unit && !says_ns {
        return Err(format!(
            "`{text}` is without a unit: write `{text}ms`, or ns, us, s, m (minutes) or h"
        ));
    }
    Ok(value)
}

fn factor(suffix: &str, unit: Unit) -> Option<i128> {
    if suffix.is_empty() {
        return Some(1);
    }
    Some(match unit {
        Unit::Duration => match suffix {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        },
        Unit::Decimal => match suffix {
            "k" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            _ => return None,
        },
        Unit::Binary => match suffix.to_ascii_lowercase().as_str() {
            "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1 << 30,
            "t" | "tb" | "tib" => 1 << 40,
            _ => return None,
        },
    })
}

/// Whether an end's address, or that and its port, are like this.
pub(super) fn is_like(end: Endpoint, wanted: &str) -> bool {
    glob::matches(wanted, &end.address.to_string()) || glob::matches(wanted, &end.to_string())
}

/// A misspelt protocol would silently match nothing.
pub(super) fn protocol(text: &str) -> Result<String, String> {
    let names = || Protocol::ALL.iter().map(|p| p.name());
    if names().any(|n| n.eq_ignore_ascii_case(text)) {
        return Ok(text.to_owned());
    }
    let all: Vec<&str> = names().collect();
    Err(format!(
        "no protocol is called `{text}`; there are {} (`~ nfs*` takes several)",
        all.join(", ")
    ))
}
