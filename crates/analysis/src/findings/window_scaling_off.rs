//! # What it says
//! The window field of TCP holds 65,535 at most. Larger windows need an option
//! that both sides offer when they connect (RFC 7323), and one of them did not, on
//! a path that holds more than that.
//!
//! # Why it costs time
//! One window per round trip is all that can pass: 64 KiB over 20 ms are 26
//! Mbit/s, whatever the line can do. The sender waits for the rest of each round
//! trip.
//!
//! # How sure
//! The option is seen to be missing in the handshake, the receiver offers a window
//! that fills most of the field, and the sender waits with that window full. With
//! captures of both ends a device on the way that takes the option out is told
//! from a host that does not offer it.
//!
//! # What to check next
//! Linux: net.ipv4.tcp_window_scaling; Windows: netsh int tcp show global, the
//! receive window auto-tuning level; an application that sets SO_RCVBUF; firewalls
//! that normalize TCP options.
//!
//! # When it is wrong
//! With a capture of one end only, a device on the way may have taken the option
//! out of the other side's SYN.

use super::receive_window_limited::window_ns;
use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::{Direction, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "window-scaling-off",
    title: "windows cannot grow: scaling was not negotiated",
    side: None,
    of: Of::Bytes,
    sure: [0.9, 0.9],
    page: page!("window_scaling_off.rs"),
    check,
};

/// A receiver that offers less than this has a small buffer, which scaling would not help.
const FILLS_THE_FIELD: u64 = 32_768;
const FIELD: u64 = 65_535;

/// The side that did not offer scaling, where that made windows too small in this direction.
pub(super) fn refuser(facts: &Facts<'_>, waits: &UnderWay<'_>) -> Option<Side> {
    let i = waits.direction.index();
    let tcp = &facts.at_sender(waits.direction).tcp;
    let [client, server] = tcp.unscaled_ns[i];
    let sides = [Side::Client, Side::Server];
    let (refuser, ns) = match client >= server {
        true => (0, client),
        false => (1, server),
    };
    let all = facts.small_window_ns(waits.direction);
    let fills = (FILLS_THE_FIELD..=FIELD).contains(&waits.window_bytes);
    if !fills || ns == 0 || ns < all / 10 * 9 {
        return None;
    }
    let seen_by_all = facts.captures.iter().all(|c| c.tcp.unscaled[refuser] > 0);
    Some(match seen_by_all {
        true => sides[refuser],
        false => Side::Network,
    })
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let class = TimeClass::SmallWindow;
    let waits = UnderWay::most(facts, class, |d| window_ns(facts, d))?;
    let d: Direction = waits.direction;
    let cost = window_ns(facts, d);
    let small = facts.under_way(d, class);
    if !facts.holds_up(cost) || small <= cost - small || waits.is_queueing() {
        return None;
    }
    let side = refuser(facts, &waits)?;
    let window = waits.window_bytes;
    let (_, round_trip) = waits.round_trip;
    let who = match side {
        Side::Network => text!("A device on the way takes window scaling out"),
        side => text!("The {side} does not offer window scaling", side = side),
    };
    Some(Finding {
        side,
        cost_ns: Some(cost),
        facts: numbers([("window_bytes", window as i64), waits.round_trip]),
        why: text!(
            "{who}, so a window is {field} at most ({window} here), and a round trip takes {trip}: more cannot be under way.",
            who = who.clone(),
            field = Value::Bytes(FIELD),
            window = window,
            trip = Value::Duration(round_trip),
        ),
        remedy: vec![match side {
            Side::Network => {
                "find the firewall or load balancer that removes TCP options (window scale, RFC 7323)".into()
            }
            side => text!(
                "switch window scaling on at the {side} (Linux: net.ipv4.tcp_window_scaling=1; Windows: netsh int tcp set global autotuninglevel=normal), or take out the SO_RCVBUF that is set there",
                side = side,
            ),
        }],
        title: who,
        ..waits.finding(Rule::WindowScalingOff, "a full window and the segment that left when it moved")
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use model::EpisodeKind;

    /// Which sides offer no scaling, and the window.
    fn refused(client: bool, server: bool, window: u64) -> Option<Finding> {
        found(Rule::WindowScalingOff, |f| {
            f.held(
                Direction::ToClient,
                EpisodeKind::SmallWindow,
                10,
                TOTAL_NS / 2,
            );
            f.captures[1].episodes[1][EpisodeKind::SmallWindow].window = window;
            f.captures[1].tcp.unscaled_ns[1] =
                [client, server].map(|no| i64::from(no) * TOTAL_NS / 2);
            for capture in &mut f.captures {
                capture.tcp.unscaled = [client, server].map(u64::from);
            }
        })
    }

    #[test]
    fn who_does_not_offer_scaling_keeps_windows_small() {
        let f = refused(true, false, 65_535).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.title.to_string(),
            "The client does not offer window scaling"
        );
        assert_eq!(refused(false, true, 65_535).unwrap().side, Side::Server);
    }

    #[test]
    fn where_both_offer_it_a_small_window_is_another_finding_s() {
        assert!(refused(false, false, 65_535).is_none());
    }

    #[test]
    fn scaling_would_not_help_who_offers_less_than_half_of_the_field() {
        assert!(refused(true, false, FILLS_THE_FIELD).is_some());
        assert!(refused(true, false, FILLS_THE_FIELD - 1).is_none());
    }
}
