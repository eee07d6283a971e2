//! Habits of clients into which of their trips could have been spared, and all calls with that into their account.

use super::seen::Seen;
use super::{Diagnoser, Kind};
use crate::facts::{ACCUSED_SHARE, Account, Basis, WORTH_NS, worth_of_writes_ns};
use crate::ledgers::{Further, Look, Whole};
use crate::rounds::{Chatter, Crossing, Habit, Part, Rounds};
use crate::spared::Spared;
use crate::sql::habits::{Habit as SqlHabit, Pattern, habits};
use crate::streams::Streams;
use ledger::{Certain, Kept};
use model::ConnectionId;

/// How connections ask, as one capture shows them, and what the path takes of each of their calls at least and at most.
struct Asking<'a> {
    rounds: &'a Rounds,
    capture: usize,
    least: Crossing,
    most: Crossing,
    /// The same between hosts that are further apart.
    further: Further<'a>,
    /// Whether calls may be missing here that the other capture lacks.
    is_lossy: bool,
}

impl Asking<'_> {
    /// What the path takes of each call at least, by the number of its attributes.
    fn least(&self, attributes: u64) -> Crossing {
        let way = self.further.of(attributes);
        let ns = way.map(|[there, back]| there.bounds().plus(back.bounds()).lo_ns);
        Crossing {
            ns: ns.map_or(self.least.ns, |ns| ns.max(self.least.ns)),
            ..self.least
        }
    }
}

impl Diagnoser {
    /// The account of all calls, with the trips that could have been spared: connections that ask for little at
    /// a time show in the bytes alone, and statements name what else they ask too often.
    pub(super) fn divide(
        &self,
        seen: &Seen,
        streams: &Streams,
        mut whole: Whole<'_>,
        look: Option<&mut Look<'_>>,
    ) -> (Account, Kept<Certain>) {
        let basis = seen.basis;
        let all = self.asking(seen, streams);
        let mut spared: Vec<Spared> = all.iter().map(|_| Spared::default()).collect();
        let mut chatter = [Chatter::default(); 2];
        let path_is_known = matches!(basis, Basis::Client | Basis::Matched);
        // Less than may be accused stays the path's; where bounds are all there is, it may be more.
        let waited_ns = whole.waited_ns();
        let accused = waited_ns / ACCUSED_SHARE;
        // How often a client asks is not its choice where it passes on what others ask, and costs the path nothing that is known
        // where a proxy is on it.
        let is_spared = !self.options.passes_on && !seen.is_proxied;
        let found = match &seen.sql {
            Some(sql) if is_spared => habits(sql),
            _ => Vec::new(),
        };
        for habit in &found {
            let same = |h: &&SqlHabit<'_>| h.cause() == habit.cause();
            let saved = found.iter().filter(same).map(|h| h.saved_ns);
            let is_worth = saved.fold(0, i64::saturating_add) >= accused;
            let is_sure = path_is_known || habit.pattern == Pattern::SmallFetch;
            if is_worth || basis != Basis::Matched {
                let own = spared.first_mut();
                own.into_iter()
                    .for_each(|own| own.by_statement(habit, is_sure && is_worth));
            }
        }
        let own: &[Habit] = match self.kind {
            _ if !is_spared => &[],
            // Only turns tell requests to write from questions.
            Kind::Turns => &Habit::ALL,
            Kind::Calls if self.is_alternating() => &[Habit::Questions],
            Kind::Calls => &[],
        };
        for &habit in own {
            let worth_ns = match habit {
                Habit::Questions => WORTH_NS,
                Habit::Writes => worth_of_writes_ns(self.captures[seen.main()].captured_ns()),
            };
            let (mut sure, mut may_be) = (Chatter::default(), Chatter::default());
            for a in &all {
                sure.merge(&a.rounds.chatter(habit, |of| a.least(of), |_| 0));
                let more = |id| self.asked_besides(a, id);
                may_be.merge(&a.rounds.chatter(habit, |_| a.most, more));
            }
            let is_sure = sure.saved_ns >= accused.max(worth_ns);
            let is_possible = may_be.saved_ns >= accused && may_be.saved_in_all_ns >= worth_ns;
            if is_sure {
                chatter[habit as usize] = sure;
            }
            for (a, spared) in all.iter().zip(&mut spared) {
                if is_sure {
                    spared.by_connections(a.rounds, habit, |of| a.least(of), |_| 0, true);
                }
                if is_possible {
                    let more = |id| self.asked_besides(a, id);
                    spared.by_connections(a.rounds, habit, |_| a.most, more, false);
                }
            }
        }
        let mut spared = spared.into_iter();
        let own = spared.next().unwrap_or_default();
        if let Whole::Both(both) = &mut whole {
            for (other, spared) in both.others.iter_mut().zip(spared) {
                other.spared = spared;
            }
        }
        let (sums, certain) = self.summed(seen, whole, &own, look);
        let account = Account {
            chatter,
            ..Account::of(basis, sums)
        };
        debug_assert_eq!(account.total_ns, waited_ns);
        (account, certain)
    }

    /// The calls that are judged by both captures or the only one, and those of each client that the server's alone shows.
    fn asking<'a>(&'a self, seen: &'a Seen, streams: &Streams) -> Vec<Asking<'a>> {
        let basis = seen.basis;
        let lacks = |which: usize| self.captures[which].tcp.missing_gaps > 0;
        // Where a line was full throughout, the least that anything took to cross holds its queue: how far it is nothing tells.
        let is_full = streams.has_line_never_empty();
        let crossing = |ns, may_lack_calls| Crossing {
            ns,
            is: match basis {
                // What a client waits holds the way to its server.
                Basis::Client => Part::Within,
                _ => Part::Whole,
            },
            may_lack_calls,
        };
        let between = |rounds, capture, (least_ns, most_ns), is_lossy| Asking {
            rounds,
            capture,
            least: crossing(if is_full { 0 } else { least_ns }, false),
            most: crossing(most_ns, is_lossy || lacks(capture)),
            further: Further::default(),
            is_lossy,
        };
        let other = seen.server.filter(|_| basis == Basis::Matched);
        let rounds = match basis {
            Basis::Matched => &self.matched.rounds,
            _ => &self.alone.rounds,
        };
        let is_lossy = other.is_some_and(lacks);
        let mut own = between(rounds, seen.main(), seen.crossing_ns, is_lossy);
        if basis == Basis::Matched {
            (own.least.is, own.most.is) = (Part::Beyond, Part::Beyond);
        }
        if basis != Basis::Matched && !is_full {
            own.further = Further {
                halves: Some(&seen.further),
                attributes: Some(&self.attributes[0]),
            };
        }
        let others = other.zip(self.others.judged.as_ref());
        let others = others.into_iter().flat_map(|(server, judged)| {
            judged.clients.iter().map(move |client| {
                let way = client.half.bounds();
                let way = (way.lo_ns, way.hi_ns.unwrap_or(i64::MAX));
                between(&client.rounds, server, way, false)
            })
        });
        std::iter::once(own).chain(others).collect()
    }

    /// What a connection was asked before the capture and behind it nobody has counted, nor what a capture lost.
    fn asked_besides(&self, asking: &Asking<'_>, id: ConnectionId) -> u64 {
        let capture = &self.captures[asking.capture];
        match !asking.is_lossy && capture.saw_whole(id) {
            true => capture.calls_beside(id),
            false => u64::MAX,
        }
    }
}
