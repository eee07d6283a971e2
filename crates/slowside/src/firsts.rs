//! The problems of several threads into those of the capture, each with the example that came first.
//!
//! Beside each kind of problem stands the packet at which a thread first met it. So the example told
//! does not depend on which thread had which connection, and problems of connections, which know no
//! files, get the place of that packet.

use model::{ConnectionId, PacketRef, Problem, Problems};
use std::collections::BTreeMap;

/// When a kind was first met: at which packet (by order) and on which connection, as the same packet
/// may end several.
type Moment = (u64, ConnectionId);

/// Where each kind of problem was first met.
#[derive(Default)]
pub(crate) struct Firsts {
    met: BTreeMap<&'static str, (Moment, Option<PacketRef>)>,
}

impl Firsts {
    /// To be called whenever `problems` may have grown: notes the kinds that are new.
    #[inline]
    pub(crate) fn look(&mut self, problems: &Problems, moment: Moment, at: Option<PacketRef>) {
        if problems.len() != self.met.len() {
            self.note(problems, moment, at);
        }
    }

    #[cold]
    fn note(&mut self, problems: &Problems, moment: Moment, at: Option<PacketRef>) {
        for (kind, _) in problems.iter() {
            self.met.entry(kind).or_insert((moment, at));
        }
    }
}

/// A kind of problem as one thread met it.
struct Met {
    kind: &'static str,
    moment: Moment,
    at: Option<PacketRef>,
    problem: Problem,
}

/// The problems of one thread, or of several.
#[derive(Default)]
pub(crate) struct ThreadProblems(Vec<Met>);

impl ThreadProblems {
    pub(crate) fn new(problems: &Problems, firsts: &Firsts) -> ThreadProblems {
        let met = problems.iter().map(|(kind, problem)| {
            // What the end of the capture showed was met last.
            let last = ((u64::MAX, ConnectionId(u64::MAX)), None);
            let (moment, at) = firsts.met.get(kind).copied().unwrap_or(last);
            Met {
                kind,
                moment,
                at,
                problem: problem.clone(),
            }
        });
        ThreadProblems(met.collect())
    }

    pub(crate) fn extend(&mut self, other: ThreadProblems) {
        self.0.extend(other.0);
    }

    /// The problems of all, in the capture with these files.
    pub(crate) fn problems(mut self, files: &[String]) -> Problems {
        self.0
            .sort_by_key(|m| (m.moment, m.problem.first.frame, m.problem.example.clone()));
        let mut problems = Problems::default();
        for m in self.0 {
            problems.add(m.kind, m.problem.damage, m.problem.count, || {
                let mut first = m.problem.first;
                if let Some(at) = m.at
                    && first.file.is_empty()
                    && first.frame.is_none_or(|frame| frame == at.frame)
                {
                    first.frame = Some(at.frame);
                    first.file = files.get(usize::from(at.file)).cloned().unwrap_or_default();
                }
                (m.problem.example, first)
            });
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Where;

    /// A thread that met a kind of problem at this order, in this frame of the second file.
    fn thread(order: u64, frame: u32, count: u64, place: Where) -> ThreadProblems {
        let mut problems = Problems::default();
        let mut firsts = Firsts::default();
        firsts.look(&problems, (0, ConnectionId(0)), None);
        problems.add("odd", false, count, || (format!("at {order}"), place));
        let at = PacketRef { file: 1, frame };
        firsts.look(&problems, (order, ConnectionId(0)), Some(at));
        firsts.look(&problems, (order + 1, ConnectionId(0)), None);
        ThreadProblems::new(&problems, &firsts)
    }

    #[test]
    fn the_earliest_example_is_told_with_its_place() {
        let files = ["a".to_owned(), "b".to_owned()];
        for turned in [false, true] {
            let mut orders = [(20, 7), (10, 3)];
            if turned {
                orders.reverse();
            }
            let mut told = ThreadProblems::default();
            for (order, frame) in orders {
                told.extend(thread(order, frame, 5, Where::default()));
            }
            let problems = told.problems(&files);
            let (kind, problem) = problems.iter().next().expect("a problem");
            assert_eq!((kind, problem.count), ("odd", 10));
            assert_eq!(problem.example, "at 10");
            assert_eq!(problem.first.to_string(), "b, packet 3");
        }
    }

    #[test]
    fn a_place_that_is_known_stays() {
        let elsewhere = Where {
            frame: Some(2),
            ..Where::default()
        };
        let problems = thread(10, 3, 1, elsewhere.clone()).problems(&["a".to_owned()]);
        let (_, problem) = problems.iter().next().expect("a problem");
        assert_eq!(problem.first, elsewhere);
    }
}
