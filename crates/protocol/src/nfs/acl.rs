//! NFSACL, Sun's side protocol for access control lists beside NFSv2 and v3: names, file, outcome.
//!
//! There is no RFC; the numbers are those of OpenSolaris' `nfs_acl.x` and of Linux.

use super::{handle, status};
use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Field, Name, Outcome, Protocol};

/// Programme 100227.
#[derive(Clone, Copy, Debug)]
pub struct Acl;

const PROCEDURES2: [Name; 6] = Name::all([
    "NULL",
    "GETACL",
    "SETACL",
    "GETATTR",
    "ACCESS",
    "GETXATTRDIR",
]);
const PROCEDURES3: [Name; 4] = Name::all(["NULL", "GETACL", "SETACL", "GETXATTRDIR"]);

fn procedures(version: u32) -> &'static [Name] {
    match version {
        2 => &PROCEDURES2,
        3 => &PROCEDURES3,
        _ => &[],
    }
}

impl Program for Acl {
    fn number(&self) -> u32 {
        100_227
    }

    fn read(&self, version: u32, procedure: u32, body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(procedures(version), procedure);
        a.begin(Protocol::NfsAcl, op);
        if procedure > 0 && self.believes(version, procedure) {
            let mut x = Xdr::new(body);
            let file = match version {
                2 => x.fixed::<32>().map(<[u8; 32]>::as_slice),
                _ => x.opaque(),
            };
            if let Some(file) = file {
                a.detail.set(Field::File, handle::hash(file));
            }
        }
    }

    fn results(
        &self,
        version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        match Xdr::new(body).u32() {
            Some(status) if procedure > 0 && self.believes(version, procedure) => match version {
                2 => status::outcome2(status, &mut arguments.detail),
                _ => status::outcome3(status, &mut arguments.detail),
            },
            _ => Outcome::Ok,
        }
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        (procedure as usize) < procedures(version).len()
    }
}
