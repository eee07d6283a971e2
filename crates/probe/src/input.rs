//! Reading and writing a socket that may stall, trickle or end: everything has a deadline, and a
//! flag ends it early.
//!
//! The sockets have a short timeout of their own ([`TICK`]), so that deadline and flag are looked at
//! whatever the other side does. The deadline is of a whole message: a byte now and then does not
//! extend it.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a socket blocks before deadlines are looked at.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// What is held of unread bytes; padding is read and dropped in pieces of this.
const BUFFER_BYTES: usize = 65_536;

/// Why reading or writing ended early.
#[derive(Debug)]
pub(crate) enum Cut {
    /// The other side closed or reset the connection.
    Closed,
    /// The deadline passed.
    Late,
    /// The flag was set.
    Stopped,
    Failed(std::io::Error),
}

/// How long something may take.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    pub(crate) deadline: Instant,
    pub(crate) stop: &'a AtomicBool,
}

impl Until<'_> {
    fn check(&self) -> Result<(), Cut> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Cut::Stopped)
        } else if Instant::now() >= self.deadline {
            Err(Cut::Late)
        } else {
            Ok(())
        }
    }
}

/// The socket's own timeouts.
pub(crate) fn tick(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(TICK))
}

/// Bytes from a socket.
pub(crate) struct Input<'a> {
    reader: BufReader<&'a TcpStream>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(stream: &'a TcpStream) -> Input<'a> {
        Input {
            reader: BufReader::with_capacity(BUFFER_BYTES, stream),
        }
    }

    /// Whether there is a byte to read, after waiting for one a [`TICK`] at most.
    pub(crate) fn ready(&mut self) -> Result<bool, Cut> {
        match self.reader.fill_buf() {
            Ok([]) => Err(Cut::Closed),
            Ok(_) => Ok(true),
            Err(e) => wait(e).map(|()| false),
        }
    }

    /// Fills `buffer`.
    pub(crate) fn exact<const N: usize>(&mut self, until: Until<'_>) -> Result<[u8; N], Cut> {
        let mut buffer = [0; N];
        let mut rest = buffer.as_mut_slice();
        while !rest.is_empty() {
            match self.reader.read(rest) {
                Ok(0) => return Err(Cut::Closed),
                Ok(n) => rest = rest.get_mut(n..).unwrap_or_default(),
                Err(e) => wait(e)?,
            }
            if !rest.is_empty() {
                until.check()?;
            }
        }
        Ok(buffer)
    }

    /// Drops `n` bytes.
    pub(crate) fn skip(&mut self, n: u32, until: Until<'_>) -> Result<(), Cut> {
        let mut rest = n as usize;
        while rest > 0 {
            let here = match self.reader.fill_buf() {
                Ok([]) => return Err(Cut::Closed),
                Ok(bytes) => bytes.len().min(rest),
                Err(e) => wait(e).map(|()| 0)?,
            };
            self.reader.consume(here);
            rest -= here;
            if rest > 0 {
                until.check()?;
            }
        }
        Ok(())
    }
}

/// Writes all of `bytes`.
pub(crate) fn write(mut stream: &TcpStream, bytes: &[u8], until: Until<'_>) -> Result<(), Cut> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return Err(Cut::Closed),
            Ok(n) => rest = rest.get(n..).unwrap_or_default(),
            Err(e) => wait(e)?,
        }
        if !rest.is_empty() {
            until.check()?;
        }
    }
    Ok(())
}

/// A timeout of the socket is none of ours.
fn wait(error: std::io::Error) -> Result<(), Cut> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Err(Cut::Closed),
        _ => Err(Cut::Failed(error)),
    }
}

/// A message: its header, and padding that nothing on the way can compress.
///
/// What fits one buffer leaves in one write, as an application's message would.
pub(crate) struct Padded {
    buffer: Vec<u8>,
}

impl Padded {
    pub(crate) fn new() -> Padded {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let random = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        });
        Padded {
            buffer: random.take(BUFFER_BYTES).collect(),
        }
    }

    /// Writes `header` and padding, `total` bytes in all.
    pub(crate) fn write<const N: usize>(
        &mut self,
        stream: &TcpStream,
        header: [u8; N],
        total: u32,
        until: Until<'_>,
    ) -> Result<(), Cut> {
        if let Some(place) = self.buffer.first_chunk_mut() {
            *place = header;
        }
        let mut rest = total as usize;
        let mut skip = 0;
        while rest > 0 {
            let piece = self.buffer.get(skip..).unwrap_or_default();
            let piece = piece.get(..rest).unwrap_or(piece);
            write(stream, piece, until)?;
            rest -= piece.len();
            // Only the first piece has the header.
            skip = N;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let b = listener.accept().unwrap().0;
        tick(&a).unwrap();
        tick(&b).unwrap();
        (a, b)
    }

    #[test]
    fn large_messages_have_one_header_and_their_length() {
        let (a, mut b) = pair();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            b.set_read_timeout(None).unwrap();
            b.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let stop = AtomicBool::new(false);
        let until = Until {
            deadline: Instant::now() + Duration::from_secs(60),
            stop: &stop,
        };
        let mut padded = Padded::new();
        padded.write(&a, *b"headhead", 200_000, until).unwrap();
        drop(a);
        let bytes = reader.join().unwrap();
        assert_eq!(bytes.len(), 200_000);
        assert_eq!(bytes.windows(8).filter(|w| w == b"headhead").count(), 1);
    }

    #[test]
    fn trickling_bytes_do_not_extend_a_deadline() {
        let (mut a, b) = pair();
        let stop = AtomicBool::new(false);
        let until = Until {
            deadline: Instant::now() + Duration::from_millis(200),
            stop: &stop,
        };
        let writer = std::thread::spawn(move || {
            // As long as somebody reads.
            while a.write(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let cut = Input::new(&b).exact::<1_000>(until);
        assert!(matches!(cut, Err(Cut::Late)));
        drop(b);
        writer.join().unwrap();
    }

    #[test]
    fn the_flag_and_the_other_side_s_end_are_told() {
        let (a, b) = pair();
        let stop = AtomicBool::new(true);
        let until = Until {
            deadline: Instant::now() + Duration::from_secs(60),
            stop: &stop,
        };
        assert!(matches!(Input::new(&b).skip(10, until), Err(Cut::Stopped)));
        drop(a);
        assert!(matches!(Input::new(&b).skip(10, until), Err(Cut::Closed)));
    }
}
