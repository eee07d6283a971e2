//! One request over HTTP/1.1 (RFC 9112) and the beginning of its answer, within one time for all of it.
//!
//! Own code over hyper's parser, which is here anyway: minreq, the one client of a single crate, takes no addresses of
//! version 6 and reads bodies of any length; ureq without TLS brings nine crates along for this one request.

use crate::answer::Answer;
use crate::{Headers, PushError, Url};
use httparse::{EMPTY_HEADER, Response, Status};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// The longest answer that is looked at: what a collector says of a request are a few words.
const ANSWER_BYTES: usize = 64 << 10;
const HEADERS: usize = 64;

pub(crate) fn post(
    url: &Url,
    headers: &Headers,
    content_type: &str,
    body: &[u8],
    until: Instant,
) -> Result<Answer, PushError> {
    let stream = connect(url, until)?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: slowside/{}\r\nContent-Type: {content_type}\r\n\
         Accept: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n",
        url.path,
        url.authority(),
        env!("CARGO_PKG_VERSION"),
        body.len(),
        headers.0,
    );
    let sent = write(&stream, head.as_bytes(), until).and_then(|()| write(&stream, body, until));
    // Who refuses may say so before all has come.
    match (read(&stream, until), sent) {
        (Ok(answer), _) => Ok(answer),
        (Err(_), Err(e)) | (Err(e), Ok(())) => Err(failed(e)),
    }
}

fn failed(error: io::Error) -> PushError {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => PushError::Silent,
        _ => PushError::Broken(error),
    }
}

/// What is left; none at all would mean to wait forever.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

/// Its addresses are asked for each time: a collector may move.
fn connect(url: &Url, until: Instant) -> Result<TcpStream, PushError> {
    let unknown = |error| PushError::Unknown {
        host: url.host.clone(),
        error,
    };
    let addresses = (url.host.as_str(), url.port).to_socket_addrs();
    let mut last = ErrorKind::NotFound.into();
    for address in addresses.map_err(unknown)? {
        let connected = left(until).and_then(|left| TcpStream::connect_timeout(&address, left));
        match connected {
            Ok(stream) => return Ok(stream),
            Err(e) => last = e,
        }
    }
    Err(match failed(last) {
        PushError::Broken(error) => PushError::Connect(error),
        other => other,
    })
}

fn write(mut stream: &TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

fn read(mut stream: &TcpStream, until: Instant) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let read = match stream.read(&mut piece) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        let is_all = read == 0 || bytes.len() > ANSWER_BYTES;
        match parse(&bytes, is_all) {
            Some(answer) => return answer,
            None if is_all => return Err(ErrorKind::UnexpectedEof.into()),
            None => {}
        }
    }
}

/// `None`: there is more to come.
pub(crate) fn parse(mut bytes: &[u8], is_all: bool) -> Option<io::Result<Answer>> {
    // However many answers for the time being (RFC 9110 section 15.2) stand before the one that counts.
    loop {
        let mut headers = [EMPTY_HEADER; HEADERS];
        let mut response = Response::new(&mut headers);
        let body_at = match response.parse(bytes) {
            Ok(Status::Complete(at)) => at,
            Ok(Status::Partial) => return None,
            Err(_) => return Some(Err(io::Error::other("it does not speak HTTP/1.1"))),
        };
        let body = bytes.get(body_at..).unwrap_or_default();
        if !(100..200).contains(&response.code.unwrap_or_default()) {
            return answer(&response, body, is_all).map(Ok);
        }
        bytes = body;
    }
}

fn answer(response: &Response<'_, '_>, body: &[u8], is_all: bool) -> Option<Answer> {
    let header = |name: &str| {
        let mut all = response.headers.iter();
        let found = all.find(|h| h.name.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(found.value).ok()
    };
    let status = response.code.unwrap_or_default();
    let length = header("content-length").and_then(|text| text.trim().parse::<usize>().ok());
    let is_chunked = header("transfer-encoding").is_some();
    let (body, is_whole) = match length {
        _ if is_chunked => chunks(body),
        Some(length) => (
            body.get(..length).unwrap_or(body).to_vec(),
            body.len() >= length,
        ),
        None => (body.to_vec(), status == 204 || status == 304),
    };
    (is_whole || is_all).then(|| Answer {
        status,
        retry_after: header("retry-after").map(str::to_owned),
        body,
    })
}

/// What chunks hold, and whether the last is there or what follows is none.
fn chunks(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let (at, length) = match httparse::parse_chunk_size(bytes) {
            Ok(Status::Complete(found)) => found,
            Ok(Status::Partial) => return (body, false),
            Err(_) => return (body, true),
        };
        let chunk = bytes.get(at..).unwrap_or_default();
        if length == 0 {
            return (body, true);
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match chunk.split_at_checked(length) {
            Some((held, rest)) => {
                body.extend_from_slice(held);
                bytes = rest.strip_prefix(b"\r\n").unwrap_or(rest);
            }
            None => {
                body.extend_from_slice(chunk);
                return (body, false);
            }
        }
    }
}
