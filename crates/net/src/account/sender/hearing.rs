//! What passes the capture on its way to a sender, into what that sender knows from when on: at once where the
//! capture stands beside it, later where it is away.

use super::{IDLE_NS, MICROSECOND, Sender};
use crate::account::span;
use crate::track::left_before;
use model::{Mark, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What a host may save on the fastest turn that was seen.
pub(crate) const AWAY_SPARE_NS: i64 = 100 * MICROSECOND;
/// Acknowledgements on their way to a sender that is far from the capture; beyond, the oldest count
/// at once.
const ON_THE_WAY: usize = 1_024;

/// What a sender hears, on its way there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum News {
    Acknowledgement {
        mark: Mark,
        position: u64,
        window: Option<u32>,
        least: u32,
        alone: bool,
        stamp: Option<u32>,
    },
    Data(Mark),
}

impl News {
    fn time(&self) -> Time {
        match self {
            News::Acknowledgement { mark, .. } | News::Data(mark) => mark.time,
        }
    }
}

/// A sender that is far from the capture.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Away {
    ns: i64,
    /// Of the acknowledgement of everything.
    drained_stamp: Option<u32>,
    on_the_way: VecDeque<News>,
}

impl Sender {
    /// How long after it passed here something can have an effect that is seen here: a little less
    /// than the fastest seen so far, as hosts may be faster yet.
    pub(in crate::account) fn is_away(&mut self, ns: i64) {
        if ns >= self.fastest_ns {
            return;
        }
        self.fastest_ns = ns;
        let away_ns = (ns - ns / 10 - AWAY_SPARE_NS).max(0);
        match &mut self.away {
            Some(away) => away.ns = away_ns,
            None if away_ns > 0 => {
                self.away = Some(Box::new(Away {
                    ns: away_ns,
                    drained_stamp: None,
                    on_the_way: VecDeque::new(),
                }));
            }
            None => {}
        }
    }

    pub(super) fn away_ns(&self) -> i64 {
        self.away.as_ref().map_or(0, |away| away.ns)
    }

    /// When the window last grew, as the sender knew. Nothing leaves while a window is shut, so that what leaves
    /// behind its opening also tells how far the sender is.
    pub(super) fn opened(&mut self, now: Mark) -> Option<Mark> {
        let opened = self.gap.opened()?;
        if !self.gap.heard.shut || self.gap.usable > 0 {
            return Some(opened);
        }
        let here = opened.time + -self.away_ns();
        let ns = span(here, now.time);
        if ns < IDLE_NS {
            self.is_away(ns);
        }
        Some(Mark {
            time: here + self.away_ns(),
            ..opened
        })
    }

    /// Whether what echoes this was sent before its sender can have heard that everything was acknowledged.
    pub(super) fn left_before_drained(&self, echo: Option<u32>) -> bool {
        let stamp = self.away.as_ref().and_then(|away| away.drained_stamp);
        left_before(echo, stamp)
    }

    /// How much later than [`away_ns`](Self::away_ns) says what the sender hears may have its effect here.
    pub(super) fn spared_ns(&self) -> i64 {
        match &self.away {
            Some(away) => self.fastest_ns - away.ns,
            None => 0,
        }
    }

    /// What passes here is at the sender at once, or is kept until it is there.
    pub(super) fn hear(&mut self, news: News) {
        let Some(away) = &mut self.away else {
            return self.arrived(news, 0);
        };
        if away.ns == 0 && away.on_the_way.is_empty() {
            return self.arrived(news, 0);
        }
        away.on_the_way.push_back(news);
        if away.on_the_way.len() > ON_THE_WAY
            && let Some(oldest) = away.on_the_way.pop_front()
        {
            let ns = away.ns;
            self.arrived(oldest, ns);
        }
    }

    /// Lets arrive what can have had an effect until `now`.
    pub(super) fn listen(&mut self, now: Time) {
        while let Some(away) = &mut self.away
            && let Some(news) = away.on_the_way.front().copied()
            && news.time() + away.ns <= now
        {
            away.on_the_way.pop_front();
            let ns = away.ns;
            self.arrived(news, ns);
        }
    }

    fn arrived(&mut self, news: News, away: i64) {
        let later = |mark: Mark| Mark {
            time: mark.time + away,
            ..mark
        };
        match news {
            News::Data(mark) => self.gap.hears_peer(later(mark)),
            News::Acknowledgement {
                mark,
                position,
                window,
                least,
                alone,
                stamp,
            } => {
                if self.learned(position, (window, least), alone, later(mark))
                    && let Some(away) = &mut self.away
                {
                    away.drained_stamp = stamp;
                }
            }
        }
    }

    /// The sender has learned of an acknowledgement: whether it was that of everything.
    fn learned(
        &mut self,
        position: u64,
        (window, least): (Option<u32>, u32),
        alone: bool,
        mark: Mark,
    ) -> bool {
        let gap = &mut self.gap;
        let progress = position > self.acknowledged;
        let mut all = false;
        if progress {
            let outstanding = self.sent > self.acknowledged;
            self.acknowledged = position;
            if !gap.heard.progress {
                gap.begun = mark;
            }
            (gap.progress, gap.heard.progress) = (mark, true);
            if let Some(trouble) = &mut self.trouble {
                trouble.acknowledged(position, mark);
            }
            if outstanding && position >= self.sent {
                (gap.drained, gap.heard.drained) = (mark, true);
                gap.heard.drained_alone = alone;
                all = true;
            }
        }
        let shut = window == Some(0);
        if let Some(bytes) = window {
            let edge = position + u64::from(bytes);
            if edge > self.edge {
                let usable = match self.edge {
                    _ if self.shut => 0,
                    0 => u64::MAX,
                    before => before.saturating_sub(self.sent),
                };
                gap.opens(mark, usable);
                self.edge = edge;
            } else if progress {
                gap.heard.shut = true;
            }
        } else {
            if self.shut {
                gap.opens(mark, 0);
            } else if !progress
                && position >= self.sent
                && self.fills_least
                && least / 2 >= self.least
            {
                // The sender had filled it, everything is acknowledged, and all that this one tells is a window of twice the
                // size: who sends as it comes waited for it, if what there was before has no room for that. All by the least of
                // scales.
                gap.opens(mark, u64::from(self.least));
                gap.heard.shut = true;
            }
            self.least_edge = self.least_edge.max(position + u64::from(least));
            // What a SYN offered says nothing of the windows after it.
            self.edge = 0;
        }
        gap.heard.shut |= shut;
        (self.shut, self.least) = (shut, least);
        all
    }
}
