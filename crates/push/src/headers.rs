//! What is sent along with each request, from a file: it is where secrets are.

use crate::PushError;
use std::fmt;

/// What says how a request is to be read is ours to say.
const OURS: [&str; 6] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "transfer-encoding",
];

/// Lines of a request, each with its end.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Headers(pub(crate) String);

impl Headers {
    /// Of lines `NAME=VALUE`, or `NAME: VALUE`; empty ones and those behind `#` are none.
    ///
    /// # Errors
    /// With the number of the line that is none, and never with what it holds.
    pub fn new(bytes: &[u8]) -> Result<Headers, PushError> {
        let text = std::str::from_utf8(bytes).map_err(|_| PushError::Header(1))?;
        let mut headers = String::new();
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, value) = header(line).ok_or(PushError::Header(i + 1))?;
            headers += &format!("{name}: {value}\r\n");
        }
        Ok(Headers(headers))
    }
}

/// RFC 9110 section 5: a name is a token, a value is visible, with spaces.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_at_checked(line.find(['=', ':'])?)?;
    let (name, value) = (name.trim_end(), value.get(1..)?.trim_start());
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let is_ours = OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours));
    let is_header = !name.is_empty()
        && !is_ours
        && name.bytes().all(is_token)
        && value.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
    is_header.then_some((name, value))
}

/// Without what may be secret.
impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Headers")
    }
}
