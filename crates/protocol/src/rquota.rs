//! Remote quotas, programme 100011 versions 1 and 2 (Sun's `rquota.x`; no RFC): names and outcomes.

use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Name, Outcome, Protocol};

#[derive(Clone, Copy, Debug)]
pub struct Rquota;

const PROCEDURES: [Name; 5] = Name::all([
    "NULL",
    "GETQUOTA",
    "GETACTIVEQUOTA",
    "SETQUOTA",
    "SETACTIVEQUOTA",
]);

/// `gqr_status`; 1 is success.
const STATUS: &[(u32, &str)] = &[(2, "Q_NOQUOTA"), (3, "Q_EPERM")];
const OK: u32 = 1;

impl Program for Rquota {
    fn number(&self) -> u32 {
        100_011
    }

    fn read(&self, _version: u32, procedure: u32, _body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(&PROCEDURES, procedure);
        a.begin(Protocol::Rquota, op);
    }

    fn results(
        &self,
        _version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        match Xdr::new(body).u32() {
            Some(status) if matches!(procedure, 1..=4) => {
                programs::outcome(STATUS, OK, status, &mut arguments.detail)
            }
            _ => Outcome::Ok,
        }
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        matches!(version, 1 | 2) && procedure <= 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_that_does_not_exist_is_an_error() {
        let mut a = Rquota.arguments(1, 1, &[]);
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Rquota, "GETQUOTA"));
        assert_eq!(Rquota.results(1, 1, &mut a, &[0, 0, 0, 1]), Outcome::Ok);
        let none = [0, 0, 0, 2];
        assert_eq!(
            Rquota.results(1, 1, &mut a, &none),
            Outcome::Error("Q_NOQUOTA")
        );
    }
}
