//! Where texts are sent: `http://HOST[:PORT][/PATH]` (RFC 3986), of which the rest is refused with what to do instead.

use crate::PushError;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// What a path is where none is given: OTLP's for metrics.
const PATH: &str = "/v1/metrics";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Url {
    /// A name or an address, of version 6 without its brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With what is behind `?`.
    pub(crate) path: String,
}

impl Url {
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Host and port as they stand in a URL.
    pub(crate) fn authority(&self) -> String {
        match self.host.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]:{}", self.port),
            Err(_) => format!("{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.path)
    }
}

impl FromStr for Url {
    type Err = PushError;

    fn from_str(text: &str) -> Result<Url, PushError> {
        let (scheme, rest) = text.split_once("://").ok_or(PushError::NoUrl)?;
        if scheme.eq_ignore_ascii_case("https") {
            return Err(PushError::Https);
        }
        if !scheme.eq_ignore_ascii_case("http") || !rest.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(PushError::NoUrl);
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).ok_or(PushError::NoUrl)?;
        if authority.contains('@') {
            return Err(PushError::Secret);
        }
        if path.contains('#') {
            return Err(PushError::NoUrl);
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(bracketed) => {
                let (host, port) = bracketed.split_once(']').ok_or(PushError::NoUrl)?;
                host.parse::<Ipv6Addr>().map_err(|_| PushError::NoUrl)?;
                (host, port)
            }
            None => authority
                .split_at_checked(authority.find(':').unwrap_or(authority.len()))
                .ok_or(PushError::NoUrl)?,
        };
        let port = match port.strip_prefix(':') {
            // The scheme's own.
            None if port.is_empty() => 80,
            None => return Err(PushError::NoUrl),
            Some(port) => port.parse().map_err(|_| PushError::NoUrl)?,
        };
        if host.is_empty() || port == 0 {
            return Err(PushError::NoUrl);
        }
        let path = match path {
            "" | "/" => PATH.to_owned(),
            path if path.starts_with('?') => format!("/{path}"),
            path => path.to_owned(),
        };
        Ok(Url {
            host: host.to_owned(),
            port,
            path,
        })
    }
}
