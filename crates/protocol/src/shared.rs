//! What the sessions of one thread share. Connections between the same two hosts always meet in the
//! same thread, so that a call sent again on a new connection finds its first sending here.

use crate::asked::Asked;
use crate::output::Output;
use crate::rpc::Shared as RpcShared;
use crate::sql::Statements;

/// Shared state by protocol; a protocol whose connections share nothing has no field.
#[derive(Default)]
pub struct Shared {
    pub rpc: RpcShared,
    pub statements: Statements,
    pub asked: Asked,
    pub buffers: Buffers,
}

/// Buffers that are lent for the time of a message, so that connections which say nothing hold none.
#[derive(Default)]
pub struct Buffers(Vec<Vec<u8>>);

impl Buffers {
    /// How many are kept, and how large they may be: large ones are rare.
    const KEPT: usize = 64;
    const BYTES: usize = 4_096;

    /// An empty buffer.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    pub fn give(&mut self, mut buffer: Vec<u8>) {
        let worth = (1..=Buffers::BYTES).contains(&buffer.capacity());
        if worth && self.0.len() < Buffers::KEPT {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

impl Shared {
    /// The capture is over and all connections are closed: gives up what was kept in case another
    /// connection came.
    pub fn finish(&mut self, output: &mut Output, order: u64) {
        self.rpc.finish(output, order);
    }
}
