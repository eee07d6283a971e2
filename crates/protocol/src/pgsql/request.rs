//! What a client says, of which only what calls need is read.

use super::message::{Header, Reader, Short};

/// A message of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request<'a> {
    Query(Text<'a>),
    Parse {
        name: &'a [u8],
        text: Text<'a>,
    },
    Bind {
        portal: &'a [u8],
        statement: &'a [u8],
    },
    /// A prepared statement or a portal.
    Describe {
        statement: bool,
        name: &'a [u8],
    },
    /// A prepared statement or a portal.
    Close {
        statement: bool,
        name: &'a [u8],
    },
    Execute {
        portal: &'a [u8],
        rows: u32,
    },
    Flush,
    Sync,
    /// A function, by its object identifier.
    Function(u32),
    CopyDone,
    CopyFail,
    /// An answer to a request for authentication.
    Password,
    Terminate,
}

/// A statement, as far as it was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Text<'a> {
    pub bytes: &'a [u8],
    pub whole: bool,
}

fn text<'a>(reader: &mut Reader<'a>) -> Text<'a> {
    match reader.string() {
        Ok(bytes) => Text { bytes, whole: true },
        Err(Short) => Text {
            bytes: reader.0,
            whole: false,
        },
    }
}

/// How much of a message [`parse`] wants to see: the statement, as far as it is kept; or names, which
/// have 63 bytes each in PostgreSQL and may be longer with poolers.
pub(super) fn wanted(header: Header) -> usize {
    let most = match header.tag {
        b'Q' | b'P' => Header::BYTES + 128 + model::limits::SQL_BYTES,
        b'B' | b'C' | b'D' | b'E' => Header::BYTES + 512,
        b'F' => Header::BYTES + 4,
        _ => Header::BYTES,
    };
    header.bytes.min(most as u64) as usize
}

/// Reads a message from its tag and its body, as far as that was captured. CopyData is not read, and
/// so are messages of which too little is there.
pub(super) fn parse(tag: u8, body: &[u8]) -> Option<Request<'_>> {
    let mut r = Reader(body);
    Some(match tag {
        b'Q' => Request::Query(text(&mut r)),
        b'P' => Request::Parse {
            name: r.string_or_rest(),
            text: text(&mut r),
        },
        b'B' => Request::Bind {
            portal: r.string_or_rest(),
            statement: r.string_or_rest(),
        },
        b'D' => Request::Describe {
            statement: r.byte().ok()? == b'S',
            name: r.string_or_rest(),
        },
        b'C' => Request::Close {
            statement: r.byte().ok()? == b'S',
            name: r.string_or_rest(),
        },
        b'E' => Request::Execute {
            portal: r.string_or_rest(),
            rows: r.int32().map_or(0, |n| n.max(0)) as u32,
        },
        b'H' => Request::Flush,
        b'S' => Request::Sync,
        b'F' => Request::Function(r.int32().unwrap_or(0) as u32),
        b'c' => Request::CopyDone,
        b'f' => Request::CopyFail,
        b'p' => Request::Password,
        b'X' => Request::Terminate,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_names_are_read() {
        let query = Text {
            bytes: b"select 1",
            whole: true,
        };
        assert_eq!(parse(b'Q', b"select 1\0"), Some(Request::Query(query)));
        assert_eq!(
            parse(b'P', b"s1\0select 1\0\0\x01\0\0\0\x17"),
            Some(Request::Parse {
                name: b"s1",
                text: query
            })
        );
        assert_eq!(
            parse(b'B', b"\0s1\0\0\0\0\0\0\0"),
            Some(Request::Bind {
                portal: b"",
                statement: b"s1"
            })
        );
        assert_eq!(
            parse(b'E', b"p\0\0\0\0\x64"),
            Some(Request::Execute {
                portal: b"p",
                rows: 100
            })
        );
        assert_eq!(
            parse(b'C', b"Ss1\0"),
            Some(Request::Close {
                statement: true,
                name: b"s1"
            })
        );
        // lo_read.
        assert_eq!(
            parse(b'F', &[0, 0, 3, 186, 0, 1, 0, 1]),
            Some(Request::Function(954))
        );
        assert_eq!(parse(b'S', b""), Some(Request::Sync));
        assert_eq!(parse(b'd', b"data"), None);
    }

    #[test]
    fn a_statement_that_was_cut_says_so() {
        let cut = Text {
            bytes: b"select",
            whole: false,
        };
        assert_eq!(parse(b'Q', b"select"), Some(Request::Query(cut)));
        // A text that does not end within what is kept.
        let header = Header {
            tag: b'Q',
            bytes: 1 << 20,
        };
        assert!(wanted(header) <= model::limits::HEAD_BYTES);
        assert!(wanted(header) > model::limits::SQL_BYTES);
    }
}
