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
//! that fills most of the field, and the sender waits with that window full. A
//! device on the way may take the option out, which only a capture beside the host
//! that seems not to offer it tells: without one nobody is accused.
//!
//! # What to check next
//! Linux: net.ipv4.tcp_window_scaling; Windows: netsh int tcp show global, the
//! receive window auto-tuning level; an application that sets SO_RCVBUF; firewalls
//! that normalize TCP options.
//!
//! # When it is wrong
//! A device beside the host, between it and its capture (a hypervisor's switch),
//! may have taken the option out.

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

/// The side that did not offer scaling, where that made windows too small in this direction: as it seems, and as is sure.
pub(super) fn refuser(facts: &Facts<'_>, waits: &UnderWay<'_>) -> Option<[Side; 2]> {
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
    let is_beside = [facts.client, facts.server][refuser].is_some();
    let sure = match (seen_by_all, is_beside) {
        (true, true) => sides[refuser],
        (true, false) => Side::Undetermined,
        (false, _) => Side::Network,
    };
    Some([sides[refuser], sure])
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
    let [seems, side] = refuser(facts, &waits)?;
    let window = waits.window_bytes;
    let (_, round_trip) = waits.round_trip;
    let who = match side {
        Side::Network => text!("A device on the way takes window scaling out"),
        Side::Undetermined => text!("No window scaling comes from the {seems}", seems = seems),
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
            Side::Undetermined => text!(
                "look at the SYN beside the {seems}: without the option there it is the {seems}'s (Linux: net.ipv4.tcp_window_scaling; Windows: netsh int tcp show global), with it a firewall takes it out (RFC 7323)",
                seems = seems,
            ),
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
    use super::super::testing::{Fixture, TOTAL_NS, found};
    use super::*;
    use model::EpisodeKind;

    /// Which sides offer no scaling, and the window.
    fn refused(client: bool, server: bool, window: u64) -> Option<Finding> {
        refused_of([client, server], window, |_| {})
    }

    fn refused_of(
        [client, server]: [bool; 2],
        window: u64,
        change: impl Fn(&mut Fixture),
    ) -> Option<Finding> {
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
            change(f);
        })
    }

    #[test]
    fn a_device_that_takes_the_option_out_is_seen_from_both_sides_of_it() {
        let both = refused_of([true, false], 65_535, |f| {
            f.captures[0].tcp.unscaled = [0; 2]
        });
        assert_eq!(both.unwrap().side, Side::Network);
        // Beside the other host nobody can tell.
        let one = refused_of([true, false], 65_535, |f| {
            f.captures.remove(0);
            (f.client, f.server) = (None, Some(0));
        });
        let one = one.unwrap();
        assert_eq!(one.side, Side::Undetermined);
        assert_eq!(
            one.title.to_string(),
            "No window scaling comes from the client"
        );
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
