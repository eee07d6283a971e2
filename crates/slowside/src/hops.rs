//! Captures of one path at three places or more into a diagnosis of its two ends, and into what lies between each two
//! points that are neighbours.
//!
//! Which point is nearer the client is told by the calls themselves: the same call takes less the nearer to the server
//! it is captured. So nobody needs to say in which order they lie.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use analysis::hops::{self, Hop};
use analysis::text::{Value, text};
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
        let [client, server] = captures.lists();
        let between = self.config.between.iter().map(Vec::as_slice);
        if between.len() == 0 {
            return self.by_tiers(captures, events);
        }
        let points: Vec<&[PathBuf]> = [client]
            .into_iter()
            .chain(between)
            .chain([server])
            .collect();
        // What hosts noted is of the ends.
        let config = Config {
            server_app: None,
            hosts: Arc::default(),
            clock_offset_ns: None,
            ..self.config.clone()
        };
        let mut pairs = Pairs {
            read: ReadOptions {
                app: None,
                config: &config,
                charts: false,
                measure: false,
                rows: false,
                ..*self
            },
            points: &points,
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
        let mut d = self.by_tiers(&ends, events)?;
        for (from, to) in order.iter().zip(order.iter().skip(1)) {
            d.diagnosis.hops.push(pairs.take([*from, *to], events)?);
        }
        hops::tell(&mut d.diagnosis);
        for stranger in strangers {
            let file = points[stranger]
                .first()
                .map_or_else(String::new, |f| f.display().to_string());
            d.diagnosis.notes.push(text!(
                "{file} has no call in common with the captures of the ends: it is left out of the path.",
                file = Value::File(file.into())
            ));
        }
        Ok(d)
    }
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
