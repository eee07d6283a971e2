//! Bytes of a connection into what is asked for.

use crate::HEAD_BYTES;
use crate::answer::Status;
use httparse::{EMPTY_HEADER, Request};
use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

/// Headers that are looked at; Prometheus sends six.
const HEADERS: usize = 64;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Asked {
    pub(crate) is_get: bool,
    pub(crate) is_head: bool,
    /// Without what is behind `?`.
    pub(crate) path: String,
    /// What stands behind `Bearer` in the header `Authorization`.
    pub(crate) bearer: Option<Vec<u8>>,
}

/// Reads the head of one request.
pub(crate) fn read(mut stream: &TcpStream, until: Instant) -> Result<Asked, Status> {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // No time at all would mean to wait forever.
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Err(Status::Timeout);
        }
        let read = stream.read(&mut piece).map_err(|_| Status::Timeout)?;
        head.extend_from_slice(piece.get(..read).unwrap_or_default());
        match parse(&head) {
            Some(asked) => return asked,
            None if read == 0 => return Err(Status::BadRequest),
            None if head.len() > HEAD_BYTES => return Err(Status::TooLarge),
            None => {}
        }
    }
}

/// `None`: there is more to come.
pub(crate) fn parse(head: &[u8]) -> Option<Result<Asked, Status>> {
    let mut headers = [EMPTY_HEADER; HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Err(Status::TooLarge)),
        Err(_) => return Some(Err(Status::BadRequest)),
    }
    let method = request.method.unwrap_or_default();
    let path = request.path.unwrap_or_default();
    let mut given = request.headers.iter();
    let authorization = given.find(|h| h.name.eq_ignore_ascii_case("authorization"));
    Some(Ok(Asked {
        is_get: method == "GET",
        is_head: method == "HEAD",
        path: path
            .split_once('?')
            .map_or(path, |(path, _)| path)
            .to_owned(),
        bearer: authorization.and_then(|h| bearer(h.value)),
    }))
}

/// RFC 9110 section 11.1: the scheme is told without regard to case.
fn bearer(value: &[u8]) -> Option<Vec<u8>> {
    const SCHEME: usize = "bearer ".len();
    let (scheme, token) = value.split_at_checked(SCHEME)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii().to_vec())
}
