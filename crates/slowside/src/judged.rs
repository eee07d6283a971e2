//! Each call's ledger by the number of its row: kept while captures are judged, some fifty bytes a call,
//! and asked when they are read again for their rows.

use crate::chosen::Rows;
use analysis::ledgers::{Judged, SeenAtServer, Timed};
use analysis::results::Why;
use ledger::{Bounds, Cause, Ledger, Packer, Unpacker};
use model::{Direction, Mark, PacketRef, Time};
use std::collections::HashMap;

/// All of them.
#[derive(Default)]
pub(crate) struct AllJudged {
    bytes: Vec<u8>,
    /// Where each begins, and one more; 0 where there is none. By its row of the client's capture or the only
    /// one, and of the server's.
    starts: [Vec<usize>; 2],
    /// Rows of the server's capture that stand in a row of the client's.
    matched: Rows,
    /// Why a row of the client's capture (0) or the server's has no twin.
    unpaired: HashMap<(usize, u64), Why>,
}

impl AllJudged {
    /// Takes what is known of row `row` of the client's capture or the only one (0), or of the server's (1).
    pub(crate) fn add(&mut self, of: usize, row: u64, judged: &Judged, server_row: Option<u64>) {
        let Ok(row) = usize::try_from(row) else {
            return;
        };
        let starts = &mut self.starts[of];
        if starts.len() <= row {
            starts.resize(row + 1, 0);
        }
        if let Some(start) = starts.get_mut(row) {
            *start = self.bytes.len() + 1;
        }
        self.match_only(server_row);
        let mut p = Packer::new(&mut self.bytes);
        // Few have any.
        let inner = judged.server.filter(|seen| seen.inner_ns != [0; 2]);
        let before = judged.application.and_then(|a| a.before_ns);
        let flags = [
            judged.in_diagnosis,
            judged.server.is_some(),
            inner.is_some(),
            judged.application.is_some(),
            before.is_some(),
        ];
        p.number((0..).zip(flags).map(|(bit, is)| u64::from(is) << bit).sum());
        p.number(server_row.map_or(0, |row| row + 1));
        put(&mut p, judged.ledger.response);
        p.number(judged.ledger.charges().len() as u64);
        for c in judged.ledger.charges() {
            p.number(c.cause as u64 * 2 + c.direction.index() as u64);
            put(&mut p, c.ns);
        }
        let mut at = 0;
        for mark in judged.server.iter().flat_map(|seen| seen.marks) {
            p.signed(mark.time.0 - at);
            at = mark.time.0;
            p.number(u64::from(mark.packet.file) << 32 | u64::from(mark.packet.frame));
        }
        p.signed(judged.clock_offset_ns);
        for ns in inner.into_iter().flat_map(|seen| seen.inner_ns) {
            p.signed(ns);
        }
        let application = judged.application.map(|a| a.ns);
        application
            .into_iter()
            .chain(before)
            .for_each(|ns| p.signed(ns));
    }

    /// Takes where the server's capture has a call of which nothing else is asked.
    pub(crate) fn match_only(&mut self, server_row: Option<u64>) {
        server_row
            .into_iter()
            .for_each(|row| self.matched.set(row, true));
    }

    pub(crate) fn get(&self, of: usize, row: u64) -> Option<Judged> {
        let mut u = self.kept(of, row)?;
        let flags = u.number()?;
        u.number()?;
        let mut ledger = Ledger::default();
        ledger.clear(take(&mut u)?);
        for _ in 0..u.number()? {
            let which = usize::try_from(u.number()?).ok()?;
            let d = match which % 2 {
                0 => Direction::ToServer,
                _ => Direction::ToClient,
            };
            ledger.charge(*Cause::ALL.get(which / 2)?, d, take(&mut u)?);
        }
        let mut server = None;
        if flags & 2 != 0 {
            let mut marks = [Mark::default(); 4];
            let mut before = 0;
            for mark in &mut marks {
                before += u.signed()?;
                let packet = u.number()?;
                *mark = Mark {
                    time: Time(before),
                    packet: PacketRef {
                        file: u16::try_from(packet >> 32).ok()?,
                        frame: packet as u32,
                    },
                };
            }
            server = Some(SeenAtServer {
                marks,
                inner_ns: [0; 2],
            });
        }
        let clock_offset_ns = u.signed()?;
        if flags & 4 != 0
            && let Some(seen) = &mut server
        {
            seen.inner_ns = [u.signed()?, u.signed()?];
        }
        let mut application = None;
        if flags & 8 != 0 {
            application = Some(Timed {
                ns: u.signed()?,
                before_ns: match flags & 16 {
                    0 => None,
                    _ => Some(u.signed()?),
                },
            });
        }
        Some(Judged {
            ledger,
            in_diagnosis: flags & 1 != 0,
            server,
            clock_offset_ns,
            application,
        })
    }

    /// Where the server's capture has what this row of the client's shows.
    pub(crate) fn server_row(&self, row: u64) -> Option<u64> {
        let mut u = self.kept(0, row)?;
        u.number()?;
        u.number()?.checked_sub(1)
    }

    fn kept(&self, of: usize, row: u64) -> Option<Unpacker<'_>> {
        let start = *self.starts[of].get(usize::try_from(row).ok()?)?;
        Some(Unpacker::new(self.bytes.get(start.checked_sub(1)?..)?))
    }

    pub(crate) fn add_unpaired(&mut self, of: usize, row: u64, why: Why) {
        self.unpaired.insert((of, row), why);
    }

    /// Why it stands in this capture alone, of two.
    pub(crate) fn unpaired(&self, of: usize, row: u64) -> Option<Why> {
        self.unpaired.get(&(of, row)).copied()
    }

    /// Whether this row of the server's capture stands in one of the client's.
    pub(crate) fn is_matched(&self, server_row: u64) -> bool {
        self.matched.has(server_row)
    }
}

/// Bounds: what is certain, and how far the upper one lies above it, counted from 1; 0 for none.
fn put(p: &mut Packer<'_>, ns: Bounds) {
    p.signed(ns.lo_ns);
    p.number(ns.hi_ns.map_or(0, |hi| (hi - ns.lo_ns) as u64 + 1));
}

fn take(u: &mut Unpacker<'_>) -> Option<Bounds> {
    let lo_ns = u.signed()?;
    let above = u.number()?;
    let hi_ns = above.checked_sub(1).map(|above| lo_ns + above as i64);
    Some(Bounds { lo_ns, hi_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_judged_comes_back_by_its_row() {
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(100));
        ledger.charge(Cause::Path, Direction::ToServer, Bounds::between(5, 10));
        let unbounded = Bounds {
            lo_ns: 3,
            hi_ns: None,
        };
        ledger.charge(Cause::NotReading, Direction::ToClient, unbounded);
        let mark = |ns: i64| Mark {
            time: Time(1_700_000_000_000_000_000 + ns),
            packet: PacketRef {
                file: 1,
                frame: ns as u32,
            },
        };
        let judged = Judged {
            ledger,
            in_diagnosis: true,
            server: Some(SeenAtServer {
                marks: [mark(1), mark(2), mark(30), mark(40)],
                inner_ns: [0, 5],
            }),
            clock_offset_ns: -7,
            application: Some(Timed {
                ns: 90,
                before_ns: Some(-3),
            }),
        };
        let alone = Judged {
            server: None,
            in_diagnosis: false,
            application: Some(Timed {
                ns: 90,
                before_ns: None,
            }),
            ..judged.clone()
        };
        let mut all = AllJudged::default();
        all.add(0, 3, &judged, Some(9));
        all.add(0, 1, &alone, None);
        assert_eq!(all.get(0, 3), Some(judged));
        assert_eq!(all.get(0, 1), Some(alone));
        assert_eq!((all.get(0, 0), all.get(0, 4)), (None, None));
        assert!(all.is_matched(9) && !all.is_matched(3));
        assert_eq!(
            [0, 1, 3].map(|row| all.server_row(row)),
            [None, None, Some(9)]
        );
    }
}
