//! What is asked when: sizes and pauses, fixed or as a capture has them, in a closed loop (the next
//! exchange waits for an answer) or at a rate (it does not care).

use crate::wire::{REQUEST_BYTES, RESPONSE_BYTES};
use std::time::Duration;

/// One request and its response, as they are to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    pub request_bytes: u32,
    pub response_bytes: u32,
    /// Pause after the answer before, where nothing else was outstanding; else 0.
    pub think_ns: u64,
}

/// Exchanges of a capture that are kept; of more, every second, fourth, … one.
pub const RESERVOIR: usize = 65_536;

/// The longest pause that is copied from a capture: who pauses longer has nothing to do.
const LONGEST_THINK_NS: u64 = 1_000_000_000;

/// Exchanges in their order, thinned out evenly when there are too many: the same capture always
/// gives the same ones.
#[derive(Clone, Debug)]
pub struct Reservoir {
    kept: Vec<Exchange>,
    room: usize,
    stride: u64,
    seen: u64,
    shortened: u64,
}

impl Reservoir {
    /// Room for so many exchanges, at least two.
    #[must_use]
    pub fn new(room: usize) -> Reservoir {
        Reservoir {
            kept: Vec::new(),
            room: room.max(2),
            stride: 1,
            seen: 0,
            shortened: 0,
        }
    }

    /// Takes the next exchange of the capture. Messages shorter than the probe's own headers become
    /// as long as these, pauses longer than a second a second.
    pub fn add(&mut self, request_bytes: u64, response_bytes: u64, think_ns: u64) {
        let size = |bytes: u64, least: u32| u32::try_from(bytes).unwrap_or(u32::MAX).max(least);
        self.shortened += u64::from(think_ns > LONGEST_THINK_NS);
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == self.room {
                let mut even = false;
                self.kept.retain(|_| {
                    even = !even;
                    even
                });
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.kept.push(Exchange {
                    request_bytes: size(request_bytes, REQUEST_BYTES),
                    response_bytes: size(response_bytes, RESPONSE_BYTES),
                    think_ns: think_ns.min(LONGEST_THINK_NS),
                });
            }
        }
        self.seen += 1;
    }

    /// `None` if there was no exchange.
    #[must_use]
    pub fn mix(self) -> Option<Mix> {
        (!self.kept.is_empty()).then_some(Mix {
            exchanges: self.kept,
            seen: self.seen,
            shortened: self.shortened,
            fixed: false,
        })
    }
}

/// The exchanges to make, over and over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mix {
    pub(crate) exchanges: Vec<Exchange>,
    /// Exchanges of the capture that these stand for.
    pub seen: u64,
    /// Pauses that were cut to a second.
    pub shortened: u64,
    /// All alike, and of no capture.
    pub fixed: bool,
}

impl Mix {
    /// All alike, without pauses; no shorter than the probe's own headers.
    #[must_use]
    pub fn fixed(request_bytes: u32, response_bytes: u32) -> Mix {
        let exchange = Exchange {
            request_bytes: request_bytes.max(REQUEST_BYTES),
            response_bytes: response_bytes.max(RESPONSE_BYTES),
            think_ns: 0,
        };
        Mix {
            exchanges: vec![exchange],
            seen: 0,
            shortened: 0,
            fixed: true,
        }
    }

    /// The `n`th exchange.
    #[must_use]
    pub fn exchange(&self, n: u64) -> Exchange {
        let count = self.exchanges.len().max(1) as u64;
        let nth = self.exchanges.get((n % count) as usize);
        nth.copied().unwrap_or(Exchange {
            request_bytes: REQUEST_BYTES,
            response_bytes: RESPONSE_BYTES,
            think_ns: 0,
        })
    }

    /// The exchanges that are made over and over.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The longest request or response.
    #[must_use]
    pub fn largest(&self) -> u32 {
        let longer = |e: &Exchange| e.request_bytes.max(e.response_bytes);
        self.exchanges.iter().map(longer).max().unwrap_or(0)
    }

    /// Makes longer messages as long as `limit`; how many exchanges that changed.
    pub(crate) fn cut(&mut self, limit: u32) -> u64 {
        let mut cut = 0;
        for e in &mut self.exchanges {
            cut += u64::from(e.request_bytes.max(e.response_bytes) > limit);
            e.request_bytes = e.request_bytes.min(limit);
            e.response_bytes = e.response_bytes.min(limit);
        }
        cut
    }
}

/// When exchanges begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// When an answer is there, after the pause of the mix.
    Closed,
    /// So many nanoseconds after the one before, answer or not; pauses of the mix do not count.
    Every(u64),
}

impl Pacing {
    /// `per_second` exchanges.
    #[must_use]
    pub fn rate(per_second: f64) -> Pacing {
        Pacing::Every((1e9 / per_second).round().max(1.0) as u64)
    }

    /// How long after the beginning the `n`th exchange is due.
    pub(crate) fn due(self, n: u64) -> Option<Duration> {
        match self {
            Pacing::Closed => None,
            Pacing::Every(ns) => Some(Duration::from_nanos(n.saturating_mul(ns))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_reservoir_keeps_every_second_fourth_eighth() {
        let mut r = Reservoir::new(4);
        (0..20).for_each(|i| r.add(100 + i, 1_000, 5));
        let mix = r.mix().unwrap();
        let kept: Vec<u32> = mix.exchanges.iter().map(|e| e.request_bytes).collect();
        assert_eq!(kept, [100, 108, 116]);
        assert_eq!(mix.seen, 20);
        assert_eq!(mix.exchange(4).request_bytes, 108);
    }

    #[test]
    fn sizes_and_pauses_are_bounded() {
        let mut r = Reservoir::new(RESERVOIR);
        r.add(1, u64::MAX, 60_000_000_000);
        let mut mix = r.mix().unwrap();
        assert_eq!((mix.shortened, mix.largest()), (1, u32::MAX));
        assert_eq!(mix.cut(1 << 20), 1);
        assert_eq!(
            mix.exchange(9),
            Exchange {
                request_bytes: 16,
                response_bytes: 1 << 20,
                think_ns: 1_000_000_000
            }
        );
        assert!(Reservoir::new(0).mix().is_none());
    }

    #[test]
    fn a_rate_is_due_from_the_beginning_not_from_the_last() {
        assert_eq!(Pacing::rate(1_000.0).due(5), Some(Duration::from_millis(5)));
        assert_eq!(Pacing::Closed.due(5), None);
    }
}
