//! What the sessions of one thread share. Connections between the same two hosts always meet in the
//! same thread, so that a call sent again on a new connection finds its first sending here.

use crate::output::Output;
use crate::rpc::Shared as RpcShared;
use crate::sql::Statements;

/// Shared state by protocol; a protocol whose connections share nothing has no field.
#[derive(Default)]
pub struct Shared {
    pub rpc: RpcShared,
    pub statements: Statements,
}

impl Shared {
    /// The capture is over and all connections are closed: gives up what was kept in case another
    /// connection came.
    pub fn finish(&mut self, output: &mut Output, order: u64) {
        self.rpc.finish(output, order);
    }
}
