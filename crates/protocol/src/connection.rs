//! One connection's way from bytes to calls: which protocol it speaks is found out from its first
//! bytes, ports only hint; then its driver and session take over.

use crate::driver::Driver;
use crate::list::PROTOCOLS;
use crate::session::{Context, Span};
use model::{Chunk, Close, Direction, Mark};

/// How many chunks of a connection are looked at before it is taken to speak nothing known.
const CHUNKS_LOOKED_AT: u32 = 256;

/// What a connection speaks, as far as known.
pub enum Conversation {
    Undecided { looked_at: u32 },
    Known(Box<Driver>),
    Unknown,
}

impl Default for Conversation {
    fn default() -> Conversation {
        Conversation::Undecided { looked_at: 0 }
    }
}

impl Conversation {
    #[cold]
    fn decide(&mut self, cx: &Context<'_>, d: Direction, bytes: &[u8]) {
        let Conversation::Undecided { looked_at } = self else {
            return;
        };
        *looked_at += 1;
        if let Some(protocol) = PROTOCOLS
            .iter()
            .find(|p| (p.probe)(cx.connection, d, bytes))
        {
            *self = Conversation::Known(Box::new(Driver::new((protocol.session)(cx.connection))));
        } else if *looked_at >= CHUNKS_LOOKED_AT {
            *self = Conversation::Unknown;
        }
    }

    /// The next bytes of a TCP direction.
    pub fn data(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>) {
        if let Conversation::Undecided { .. } = self {
            self.decide(cx, d, chunk.data);
        }
        if let Conversation::Known(driver) = self {
            driver.data(cx, d, chunk);
        }
    }

    /// Bytes of a TCP direction that the capture does not hold.
    pub fn gap(&mut self, cx: &mut Context<'_>, d: Direction, length: u64) {
        if let Conversation::Known(driver) = self {
            driver.gap(cx, d, length);
        }
    }

    /// One UDP datagram whose first fragment came with the packet `first`.
    pub fn datagram(&mut self, cx: &mut Context<'_>, d: Direction, chunk: &Chunk<'_>, first: Mark) {
        if let Conversation::Undecided { .. } = self {
            self.decide(cx, d, chunk.data);
        }
        if let Conversation::Known(driver) = self {
            let span = Span {
                first,
                last: chunk.mark,
                sequence: 0,
                bytes: chunk.data.len() as u64 + u64::from(chunk.cut),
                end_missing: false,
                first_held_since: None,
                last_held_since: None,
            };
            driver.session.datagram(cx, d, chunk.data, span);
        }
    }

    pub fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        if let Conversation::Known(driver) = self {
            driver.close(cx, why);
        }
    }
}
