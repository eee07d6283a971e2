//! A stream of bytes that may be silent for hours into one that can be stopped and that says when nothing
//! comes: a thread of its own reads it.

use crate::waiting::Waiting;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is said that nothing came.
const BEAT: Duration = Duration::from_millis(100);

/// Bytes read at once, and how many such pieces wait at most.
const PIECE_BYTES: usize = 64 << 10;
const PIECES: usize = 16;

/// A capture cannot be told from fewer bytes: until then there is nothing to be silent about.
const HEAD_BYTES: usize = 64;

type Input = Box<dyn Read + Send>;

/// Where bytes come from.
enum From {
    Thread(Receiver<io::Result<Vec<u8>>>),
    /// Where no thread is to be had, silence is waited out.
    Here(Input),
}

pub(super) struct Pump {
    from: From,
    piece: Vec<u8>,
    read: usize,
    total: usize,
    stop: Arc<AtomicBool>,
}

impl Pump {
    /// The thread that reads goes on until the input ends; nobody waits for it.
    pub(super) fn new(input: Input, stop: Arc<AtomicBool>) -> Pump {
        let (send, pieces) = bounded(PIECES);
        let from = match Waiting::new(move |input| pump(input, &send)) {
            Some(thread) => {
                thread.start(input);
                From::Thread(pieces)
            }
            None => From::Here(input),
        };
        Pump {
            from,
            piece: Vec::new(),
            read: 0,
            total: 0,
            stop,
        }
    }
}

fn pump(mut input: Input, send: &Sender<io::Result<Vec<u8>>>) {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => Ok(piece.get(..n).unwrap_or_default().to_vec()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let failed = read.is_err();
        if send.send(read).is_err() || failed {
            break;
        }
    }
}

impl Read for Pump {
    /// [`TimedOut`](io::ErrorKind::TimedOut) when nothing came for a while.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.read >= self.piece.len() {
            let begun = self.total >= HEAD_BYTES;
            if self.stop.load(Ordering::Relaxed) {
                return match begun {
                    true => Err(io::ErrorKind::TimedOut.into()),
                    false => Ok(0),
                };
            }
            let pieces = match &mut self.from {
                From::Thread(pieces) => pieces,
                From::Here(input) => return input.read(into),
            };
            match pieces.recv_timeout(BEAT) {
                Ok(piece) => {
                    self.piece = piece?;
                    self.read = 0;
                }
                Err(RecvTimeoutError::Timeout) if !begun => {}
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let rest = self.piece.get(self.read..).unwrap_or_default();
        let n = rest.len().min(into.len());
        if let (Some(to), Some(from)) = (into.get_mut(..n), rest.get(..n)) {
            to.copy_from_slice(from);
        }
        self.read += n;
        self.total = self.total.saturating_add(n);
        Ok(n)
    }
}
