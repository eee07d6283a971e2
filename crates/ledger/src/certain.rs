//! What is certain of each call's ledger, kept while calls are divided and summed: findings are known only then, and ask
//! on whom and when their costs fall. So no call is divided twice.

use crate::kept::{Pack, Packer, Unpacker, alternating, straight};
use crate::{Cause, Ledger};
use model::Direction;

/// So many lines are written at a time: most calls have no more.
const FEW: usize = 6;

/// What is certain of one call.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Certain {
    /// When it began.
    pub at_ns: i64,
    /// The number of its attributes, and whether those are the server's capture's.
    pub attributes: u64,
    pub is_at_server_alone: bool,
    /// What its client waited at least.
    pub response_ns: i64,
    /// What it is charged at least, where that is not nothing.
    charges: Vec<(Cause, Direction, i64)>,
}

impl Certain {
    /// Becomes what is certain of a call that began then, by its ledger.
    pub fn take(&mut self, at_ns: i64, ledger: &Ledger) {
        self.at_ns = at_ns;
        self.response_ns = ledger.response.lo_ns;
        self.charges.clear();
        for c in ledger.charges().iter().filter(|c| c.ns.lo_ns != 0) {
            self.charges.push((c.cause, c.direction, c.ns.lo_ns));
        }
    }

    #[must_use]
    pub fn charges(&self) -> &[(Cause, Direction, i64)] {
        &self.charges
    }
}

impl Pack for Certain {
    fn waited_ns(&self) -> i64 {
        self.response_ns
    }

    fn pack(&self, p: &mut Packer<'_>) {
        let attributes = self.attributes << 1 | u64::from(self.is_at_server_alone);
        let whole = [
            attributes,
            alternating(self.at_ns),
            alternating(self.response_ns),
        ];
        p.all_sized::<3, 28>(self.charges.len() as u8, &whole);
        for few in self.charges.chunks(FEW) {
            let mut lines = [(0, 0); FEW];
            for (line, &(cause, direction, ns)) in lines.iter_mut().zip(few) {
                *line = (cause as u8 * 2 + direction.index() as u8, alternating(ns));
            }
            p.bytes_and_sized::<{ 10 * FEW }>(&lines[..few.len()]);
        }
    }

    fn unpack(&mut self, u: &mut Unpacker<'_>) -> Option<()> {
        let count = u.byte()?;
        let attributes = u.sized()?;
        self.attributes = attributes >> 1;
        self.is_at_server_alone = attributes & 1 == 1;
        self.at_ns = straight(u.sized()?);
        self.response_ns = straight(u.sized()?);
        self.charges.clear();
        for _ in 0..count {
            let line = u.byte()?;
            let cause = *Cause::ALL.get(usize::from(line / 2))?;
            let direction = match line % 2 {
                0 => Direction::ToServer,
                _ => Direction::ToClient,
            };
            self.charges.push((cause, direction, straight(u.sized()?)));
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Kept};
    use proptest::prelude::*;

    proptest! {
        /// Nothing that is certain is lost, however long it took and whenever it was.
        #[test]
        fn what_is_certain_comes_back(
            at_ns: i64,
            response_ns: i64,
            attributes in 0..u64::from(u32::MAX),
            charges in proptest::collection::vec((0..Cause::ALL.len(), any::<bool>(), any::<i64>()), 0..40),
        ) {
            let mut ledger = Ledger::default();
            ledger.clear(Bounds { lo_ns: response_ns, hi_ns: None });
            for (cause, is_back, lo_ns) in charges {
                let d = if is_back { Direction::ToClient } else { Direction::ToServer };
                ledger.charge(Cause::ALL[cause], d, Bounds { lo_ns, hi_ns: None });
            }
            let mut certain = Certain {
                attributes,
                is_at_server_alone: at_ns % 2 == 0,
                ..Certain::default()
            };
            certain.take(at_ns, &ledger);
            let mut kept = Kept::default();
            kept.push(&Certain::default());
            kept.push(&certain);
            let mut back = Vec::new();
            kept.each(|c| back.push(c.clone()));
            prop_assert_eq!(back, [Certain::default(), certain]);
        }
    }
}
