//! What is answered, and how it is written within its time.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    Timeout,
    TooLarge,
}

impl Status {
    pub(crate) fn code(self) -> u16 {
        match self {
            Status::Ok => 200,
            Status::BadRequest => 400,
            Status::Unauthorized => 401,
            Status::NotFound => 404,
            Status::MethodNotAllowed => 405,
            Status::Timeout => 408,
            Status::TooLarge => 431,
        }
    }

    /// Behind the code: its name, and the header that it asks for.
    fn reason(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::BadRequest => "Bad Request",
            Status::Unauthorized => "Unauthorized\r\nWWW-Authenticate: Bearer",
            Status::NotFound => "Not Found",
            Status::MethodNotAllowed => "Method Not Allowed\r\nAllow: GET, HEAD",
            Status::Timeout => "Request Timeout",
            Status::TooLarge => "Request Header Fields Too Large",
        }
    }

    /// What a person reads who asked for something else.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Status::Ok => "",
            Status::BadRequest => "This is no request of HTTP/1.\n",
            Status::Unauthorized => {
                "Metrics are for those who send the token of --metrics-token-file.\n"
            }
            Status::NotFound => "Metrics are at /metrics.\n",
            Status::MethodNotAllowed => "Metrics can be read, by GET.\n",
            Status::Timeout => "The request took too long.\n",
            Status::TooLarge => "The request is too large.\n",
        }
    }
}

pub(crate) fn write(
    stream: &TcpStream,
    status: Status,
    content_type: &str,
    text: &[u8],
    is_head: bool,
    until: Instant,
) -> io::Result<()> {
    let content_type = match status {
        Status::Ok => content_type,
        _ => "text/plain; charset=utf-8",
    };
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        status.code(),
        status.reason(),
        text.len()
    );
    within(stream, head.as_bytes(), until)?;
    if !is_head {
        within(stream, text, until)?;
    }
    stream.shutdown(Shutdown::Write)
}

/// Who reads slowly has until then for all of it.
fn within(mut stream: &TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => bytes = bytes.get(written..).unwrap_or_default(),
        }
    }
    Ok(())
}
