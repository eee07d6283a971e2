//! Captures of one path at three places or more into a diagnosis of its two ends, and into what lies between each two
//! points that are neighbours.
//!
//! Which point is nearer the client is told by the calls themselves: the same call takes less the nearer to the server
//! it is captured. So nobody needs to say in which order they lie.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use crate::judged::AllJudged;
use analysis::hops::{self, CallHop, Hop};
use analysis::text::{Text, Value, text};
use model::{Call, Mark};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

impl ReadOptions<'_> {
    /// By tiers, and hop by hop where there are captures from between both ends.
    pub(crate) fn by_hops(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        if self.config.between.is_empty() {
            return self.by_tiers(captures, events);
        }
        let points = self.points(captures);
        let config = self.of_pairs();
        let mut path = self.path(captures, &config, &points, events)?;
        let mut d = self.by_tiers(&path.ends, events)?;
        for (from, to) in path.order.iter().zip(path.order.iter().skip(1)) {
            d.diagnosis
                .hops
                .push(path.pairs.take([*from, *to], events)?);
        }
        hops::tell(&mut d.diagnosis);
        d.diagnosis.notes.append(&mut path.notes);
        Ok(d)
    }

    /// From one end to the other, as they were given.
    fn points<'a>(&'a self, captures: &'a Captures) -> Vec<&'a [PathBuf]> {
        let [client, server] = captures.lists();
        let between = self.config.between.iter().map(Vec::as_slice);
        let client = std::iter::once(client);
        client.chain(between).chain([server]).collect()
    }

    /// For pairs of points, of which nothing is told but their calls: what hosts noted is of the ends.
    fn of_pairs(&self) -> Config {
        Config {
            clock_offset_ns: None,
            ..self.config.unnoted()
        }
    }

    /// The points in the order in which calls pass them.
    fn path<'a>(
        &self,
        captures: &Captures,
        config: &'a Config,
        points: &'a [&'a [PathBuf]],
        events: &mut dyn FnMut(Event),
    ) -> Result<Path<'a>, Error> {
        let mut pairs = Pairs {
            read: ReadOptions::new(config),
            points,
            read_before: HashMap::new(),
        };
        let is_stated = matches!(captures, Captures::Sides { .. });
        let (order, strangers) = pairs.order(is_stated, events)?;
        let ends = match (is_stated, order.as_slice()) {
            (false, [first, .., last]) => {
                Captures::Two(points[*first].to_vec(), points[*last].to_vec())
            }
            _ => captures.clone(),
        };
        let note = |stranger: usize| {
            text!(
                "{file} has no call in common with the captures of the ends: it is left out of the path.",
                file = Value::File(name(points[stranger]))
            )
        };
        Ok(Path {
            notes: strangers.into_iter().map(note).collect(),
            pairs,
            order,
            ends,
        })
    }

    /// The ends, and what lies between them from the client on, with where each of the client's calls is there.
    pub(crate) fn between(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<(Captures, Vec<Between>), Error> {
        if self.config.between.is_empty() {
            return Ok((captures.clone(), Vec::new()));
        }
        let points = self.points(captures);
        let config = self.of_pairs();
        let path = self.path(captures, &config, &points, events)?;
        path.notes
            .iter()
            .for_each(|note| events(Event::Note(note.to_string())));
        let Path { order, ends, .. } = path;
        let [first, middle @ .., _] = order.as_slice() else {
            return Ok((ends, Vec::new()));
        };
        let rows = ReadOptions {
            rows: true,
            ..ReadOptions::new(&config)
        };
        let mut between = Vec::new();
        for point in middle {
            let pair = Captures::Sides {
                client: points[*first].to_vec(),
                server: points[*point].to_vec(),
            };
            let read = rows.read(&pair, events)?;
            between.push(Between {
                name: name(points[*point]),
                judged: read.judged.unwrap_or_default(),
            });
        }
        Ok((ends, between))
    }
}

/// A capture from between both ends.
pub(crate) struct Between {
    name: Arc<str>,
    /// By the rows of the client's capture.
    judged: AllJudged,
}

/// How much longer a call of the client's took at each point than at the next, as far as they have it. `client` and
/// `server` are the ends' files; `at_server` is where the server's capture has it.
pub(crate) fn of_call(
    [client, server]: [&[PathBuf]; 2],
    between: &[Between],
    row: u64,
    call: &Call,
    at_server: Option<&[Mark; 4]>,
) -> Vec<CallHop> {
    if between.is_empty() {
        return Vec::new();
    }
    let lasted = |[first, _, _, last]: &[Mark; 4]| last.time - first.time;
    let middle = between.iter().map(|point| {
        let judged = point.judged.get(0, row);
        let marks = judged.and_then(|j| j.server).map(|seen| seen.marks);
        (Arc::clone(&point.name), marks.as_ref().map(lasted))
    });
    let seen: Vec<(Arc<str>, i64)> = std::iter::once((name(client), call.response_time_ns()))
        .chain(middle)
        .chain([(name(server), at_server.map(lasted))])
        .filter_map(|(name, ns)| Some((name, ns?)))
        .collect();
    let neighbours = seen.iter().zip(seen.iter().skip(1));
    neighbours
        .map(|((from, longer), (to, shorter))| CallHop {
            from: Arc::clone(from),
            to: Arc::clone(to),
            ns: longer - shorter,
        })
        .collect()
}

/// What a point is called.
fn name(files: &[PathBuf]) -> Arc<str> {
    let first = files.first().map(|f| f.display().to_string());
    first.unwrap_or_default().into()
}

/// Points in order, and the captures of both ends, which are those farthest from each other where nobody has stated them.
struct Path<'a> {
    pairs: Pairs<'a>,
    order: Vec<usize>,
    ends: Captures,
    /// What is left out.
    notes: Vec<Text>,
}

/// Diagnoses of two points each, by their numbers.
struct Pairs<'a> {
    read: ReadOptions<'a>,
    points: &'a [&'a [PathBuf]],
    read_before: HashMap<[usize; 2], Hop>,
}

impl Pairs<'_> {
    /// Points from the client on, and those that have no call in common with the first one. The ends stay ends where
    /// they are stated.
    fn order(
        &mut self,
        is_stated: bool,
        events: &mut dyn FnMut(Event),
    ) -> Result<(Vec<usize>, Vec<usize>), Error> {
        let last = self.points.len() - 1;
        let mut order = vec![(0, 0)];
        let mut strangers = Vec::new();
        for point in 1..=last {
            if is_stated && point == last {
                order.push((i64::MAX, point));
                continue;
            }
            let hop = self.take([0, point], events)?;
            match hop.longer_at_first_ns() {
                Some(nearer_ns) if is_stated => order.push((nearer_ns.max(1), point)),
                Some(nearer_ns) => order.push((nearer_ns, point)),
                None => strangers.push(point),
            }
            self.read_before.insert([0, point], hop);
        }
        order.sort_unstable();
        Ok((
            order.into_iter().map(|(_, point)| point).collect(),
            strangers,
        ))
    }

    fn take(&mut self, pair: [usize; 2], events: &mut dyn FnMut(Event)) -> Result<Hop, Error> {
        if let Some(hop) = self.read_before.remove(&pair) {
            return Ok(hop);
        }
        let [a, b] = pair.map(|point| self.points[point].to_vec());
        let read = self.read.read(&Captures::Two(a, b), events)?;
        Ok(Hop {
            diagnosis: read.diagnosis,
        })
    }
}
