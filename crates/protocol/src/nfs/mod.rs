//! NFS: arguments and results of NFSv2 (RFC 1094), v3 (RFC 1813), v4.0 (RFC 7530), v4.1 (RFC 8881)
//! and v4.2 (RFC 7862, extended attributes of RFC 8276), of NFSACL and of the NFSv4 callbacks, into
//! operation names, fields and outcomes.
//!
//! Operations are named as in the RFCs, without the prefix that all of them share (`READ`, not
//! `NFSPROC3_READ`); numbers that no RFC names stay numbers. A version that does not exist is
//! answered by the RPC layer (`PROG_MISMATCH`), so it is protocol `rpc` here.

mod acl;
mod callback;
mod compound;
mod handle;
mod names;
mod naming;
mod operation;
mod status;
mod v2;
mod v3;
mod v4_arguments;
mod v4_results;

pub use acl::Acl;
pub use callback::CALLBACK;
pub(crate) use callback::is_cb_compound;
pub(crate) use handle::hash as handle_hash;
pub(crate) use naming::entries;

use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::rpc::walk::{Listing, Walk};
use model::{Naming, Outcome, Protocol};

/// NFS itself, programme 100003.
#[derive(Clone, Copy, Debug)]
pub struct Nfs;

impl Program for Nfs {
    fn number(&self) -> u32 {
        100_003
    }

    fn read(&self, version: u32, procedure: u32, body: &[u8], a: &mut Arguments) {
        match version {
            2 => v2::read(procedure, body, a),
            3 => v3::read(procedure, body, a),
            4 => operation::read(procedure, body, a),
            _ => a.begin(Protocol::Rpc, programs::name_of_number(procedure)),
        }
    }

    fn arguments_tail(&self, arguments: &mut Arguments, body: &[u8]) {
        compound::tail::<operation::Nfs4>(arguments, body);
    }

    fn results(
        &self,
        version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        match version {
            2 => v2::results(procedure, &mut arguments.detail, body),
            3 => v3::results(procedure, &mut arguments.detail, body),
            4 => operation::results(procedure, arguments, body),
            _ => Outcome::Ok,
        }
    }

    fn operations_text(&self, operations: &[u8]) -> String {
        compound::text::<operation::Nfs4>(operations)
    }

    fn name(&self, version: u32, procedure: u32, body: &[u8]) -> Option<String> {
        names::read(version, procedure, body)
    }

    fn walk(&self, version: u32, procedure: u32, a: &Arguments, body: &[u8]) -> Option<Walk> {
        naming::walk(version, procedure, a, body)
    }

    fn walked(
        &self,
        version: u32,
        procedure: u32,
        walk: &Walk,
        results: &[u8],
        tell: &mut dyn FnMut(Naming),
    ) -> Option<Listing> {
        naming::walked(version, procedure, walk, results, tell)
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        match version {
            2 => procedure <= 17,
            3 => procedure <= 21,
            4 => procedure <= 1,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests;
