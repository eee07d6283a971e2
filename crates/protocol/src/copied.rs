//! What a server sends a replica of its log, and how far that has confirmed it, into what waits for a confirmation: a commit that is
//! to be on two hosts does.

use crate::session::Context;
use model::{Change, Outstanding, Time};
use std::collections::VecDeque;

/// Messages that may wait for a confirmation; of more, the first are given up.
const WAITING: usize = 4_096;

/// What a message says of positions in the log, which grow with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copied {
    /// It is sent up to here, which is to be confirmed.
    Shipped(u64),
    /// The replica has it up to here.
    Confirmed(u64),
}

/// What was sent and is not confirmed: where in the log each message ended.
#[derive(Default, Debug)]
pub(crate) struct Unconfirmed(VecDeque<u64>);

impl Unconfirmed {
    /// Takes what a message says; tells what that changes for each message of the log, by its end.
    pub(crate) fn take(&mut self, copied: Copied, mut change: impl FnMut(u64, Change)) {
        match copied {
            Copied::Shipped(end) => {
                if self.0.len() == WAITING
                    && let Some(first) = self.0.pop_front()
                {
                    change(first, Change::Confirmed);
                }
                self.0.push_back(end);
                change(end, Change::Shipped);
            }
            Copied::Confirmed(until) => {
                while let Some(&end) = self.0.front()
                    && end <= until
                {
                    self.0.pop_front();
                    change(end, Change::Confirmed);
                }
            }
        }
    }

    /// Nobody waits any longer.
    pub(crate) fn end(&mut self, mut change: impl FnMut(u64, Change)) {
        let all = self.0.drain(..);
        all.for_each(|end| change(end, Change::Confirmed));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Tells what became of the copy for a replica, up to this end.
pub(crate) fn tell(cx: &mut Context<'_>, time: Time, end: u64, change: Change) {
    let (order, connection) = (cx.order, cx.connection);
    cx.output.change(|| Outstanding {
        order,
        time,
        connection: connection.id,
        client: connection.client,
        server: connection.server,
        id: end as u32,
        change,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_flushed_is_confirmed_and_at_the_end_all_is() {
        let mut told = Vec::new();
        let mut unconfirmed = Unconfirmed::default();
        for copied in [10, 20, 30]
            .map(Copied::Shipped)
            .into_iter()
            .chain([Copied::Confirmed(25)])
        {
            unconfirmed.take(copied, |_, c| told.push(c));
        }
        let [s, c] = [Change::Shipped, Change::Confirmed];
        assert_eq!(
            (told.as_slice(), unconfirmed.len()),
            (&[s, s, s, c, c][..], 1)
        );
        unconfirmed.end(|_, c| told.push(c));
        assert_eq!((told.len(), unconfirmed.len()), (6, 0));
    }

    #[test]
    fn a_standby_that_never_confirms_takes_no_more_and_more_room() {
        let (mut unconfirmed, mut under_way) = (Unconfirmed::default(), 0);
        for end in 0..3 * WAITING as u64 {
            unconfirmed.take(Copied::Shipped(end), |_, c| {
                under_way += if c == Change::Shipped { 1 } else { -1 };
            });
        }
        assert_eq!((unconfirmed.len(), under_way), (WAITING, WAITING as i32));
    }
}
