//! NSM, the status monitor of NLM, programme 100024 version 1 (X/Open XNFS): names and outcomes.

use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::xdr::Xdr;
use model::{Name, Outcome, Protocol};

#[derive(Clone, Copy, Debug)]
pub struct Nsm;

const PROCEDURES: [Name; 7] = Name::all([
    "NULL",
    "STAT",
    "MON",
    "UNMON",
    "UNMON_ALL",
    "SIMU_CRASH",
    "NOTIFY",
]);

impl Program for Nsm {
    fn number(&self) -> u32 {
        100_024
    }

    fn read(&self, _version: u32, procedure: u32, _body: &[u8], a: &mut Arguments) {
        a.begin(Protocol::Nsm, programs::procedure(&PROCEDURES, procedure));
    }

    /// STAT and MON have a status before the state; UNMON and UNMON_ALL only have the state.
    fn results(
        &self,
        _version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        match Xdr::new(body).u32() {
            Some(status) if matches!(procedure, 1 | 2) => {
                programs::outcome(&[(1, "STAT_FAIL")], 0, status, &mut arguments.detail)
            }
            _ => Outcome::Ok,
        }
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        version == 1 && procedure <= 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mon_may_fail_and_unmon_only_tells_its_state() {
        let mut a = Nsm.arguments(1, 2, &[]);
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Nsm, "MON"));
        let fail = [
            0, 0, 0, 1, // STAT_FAIL
            0, 0, 0, 3, // state
        ];
        assert_eq!(
            Nsm.results(1, 2, &mut a, &fail),
            Outcome::Error("STAT_FAIL")
        );
        let state = [0, 0, 0, 1];
        assert_eq!(Nsm.results(1, 3, &mut a, &state), Outcome::Ok);
    }
}
