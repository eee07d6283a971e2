//! A trace file into lines with their numbers and byte offsets: unpacked, without line ends, of bounded
//! length.

use crate::unpack::is_damage;
use model::Where;
use model::limits::TRACE_LINE_BYTES;
use std::borrow::Cow;
use std::io::{self, BufRead, Read};

pub(crate) struct Text {
    pub(crate) name: String,
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    /// The first bytes of the file.
    head: Vec<u8>,
    /// Of the line that was read last.
    line: u64,
    offset: u64,
    next_offset: u64,
}

/// What comes next.
pub(crate) enum Next {
    Line,
    /// A line of which only the beginning was kept.
    Cut,
    End,
    /// The packed file is damaged from here on.
    Damaged(io::Error),
}

impl Text {
    pub(crate) fn new(name: String, reader: Box<dyn BufRead>) -> Text {
        Text {
            name,
            reader,
            buffer: Vec::new(),
            head: Vec::new(),
            line: 0,
            offset: 0,
            next_offset: 0,
        }
    }

    pub(crate) fn next(&mut self) -> io::Result<Next> {
        self.buffer.clear();
        self.line += 1;
        self.offset = self.next_offset;
        let read = (&mut self.reader)
            .take(TRACE_LINE_BYTES as u64)
            .read_until(b'\n', &mut self.buffer)
            .and_then(|bytes| {
                let cut = bytes == TRACE_LINE_BYTES && !self.buffer.ends_with(b"\n");
                let rest = if cut {
                    self.reader.skip_until(b'\n')?
                } else {
                    0
                };
                Ok((bytes, rest))
            });
        if self.head.is_empty() {
            self.head.extend(self.buffer.iter().take(256));
        }
        match read {
            Ok((0, _)) => Ok(Next::End),
            Ok((bytes, rest)) => {
                self.next_offset += (bytes + rest) as u64;
                Ok(if rest > 0 { Next::Cut } else { Next::Line })
            }
            Err(error) if is_damage(&error) => Ok(Next::Damaged(error)),
            Err(error) => Err(error),
        }
    }

    /// The line, without its end.
    pub(crate) fn line(&self) -> Cow<'_, str> {
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line))
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether the line was ended, not cut off by the file's end.
    pub(crate) fn ended(&self) -> bool {
        self.buffer.ends_with(b"\n")
    }

    /// Where the line stands.
    pub(crate) fn place(&self) -> Where {
        Where {
            file: self.name.clone(),
            line: Some(self.line),
            offset: Some(self.offset),
            ..Where::default()
        }
    }

    /// Lines and bytes read.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.line.saturating_sub(1), self.next_offset)
    }
}
