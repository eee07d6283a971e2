//! Diagnoses of one capture with each of several others into one: of a server and its clients, or of a client and its
//! servers. Each is of the calls that its own two captures hold, by its own clocks; told is that where most is held up,
//! and beside it who else is held up by what.

use crate::results::{CaptureResult, Diagnosis, Side, Vantage};
use crate::text::{Text, Value, text};
use std::cmp::Reverse;

/// So many others are named in the answer.
const NAMED: usize = 3;

/// One of them.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Which of the captures is its own.
    pub capture: usize,
    /// Of its capture and that which all have in common.
    pub diagnosis: Diagnosis,
}

impl Peer {
    fn captured(&self) -> Option<&CaptureResult> {
        self.diagnosis.captures.get(self.capture)
    }

    /// What its capture is called, by its first file.
    #[must_use]
    pub fn name(&self) -> &str {
        let first = self.captured().and_then(|c| c.files.first());
        first.map_or("", String::as_str)
    }

    /// Whether it is the client: else it is the server.
    #[must_use]
    pub fn is_client(&self) -> bool {
        self.captured()
            .is_some_and(|c| c.side != Some(Vantage::Server))
    }

    /// Whether somebody is to blame.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        let side = self.diagnosis.verdict.side;
        !matches!(side, Side::None | Side::Undetermined)
    }

    /// What is to blame costs its calls, where that is known.
    #[must_use]
    pub fn cost_ns(&self) -> Option<i64> {
        let cause = self.diagnosis.verdict.cause?;
        let found = self.diagnosis.findings.iter().find(|f| f.rule == cause);
        found?.cost_ns
    }

    /// Those that come first have most to tell.
    fn rank(&self) -> impl Ord + use<> {
        let cost_ns = self.cost_ns().filter(|_| self.is_held_up());
        (
            Reverse(self.is_held_up()),
            Reverse(cost_ns),
            Reverse(self.diagnosis.call_time_ns),
        )
    }
}

/// Those where most is held up first; what is alike stays in the order in which it was given.
pub fn sort(peers: &mut [Peer]) {
    peers.sort_by_cached_key(Peer::rank);
}

/// What they are called together.
#[must_use]
pub fn word(peers: &[Peer]) -> &'static str {
    match peers.first().is_none_or(Peer::is_client) {
        true => "clients",
        false => "servers",
    }
}

/// Tells of whom a diagnosis is that is the first of [several](sort), and who else is held up by what.
pub fn tell(d: &mut Diagnosis) {
    let Some((told, others)) = d.peers.split_first() else {
        return;
    };
    let of_whom = text!(
        "This is of {file}, where most is held up of {count} {what}.",
        file = Value::File(told.name().into()),
        count = d.peers.len(),
        what = word(&d.peers),
    );
    let same = |peer: &&Peer| peer.diagnosis.verdict.cause == d.verdict.cause;
    let held_up = || others.iter().filter(|peer| peer.is_held_up());
    let alike = held_up().filter(same).count();
    let mut said = vec![std::mem::take(&mut d.verdict.sentence)];
    said.push(match told.is_held_up() {
        true => of_whom,
        false => text!(
            "This is of {file}, whose calls take longest of {count} {what}; of none is anybody to blame.",
            file = Value::File(told.name().into()),
            count = d.peers.len(),
            what = word(&d.peers),
        ),
    });
    if alike > 0 {
        said.push(text!(
            "The same holds up {alike} of the others.",
            alike = alike
        ));
    }
    let differ: Vec<&Peer> = held_up().filter(|peer| !same(peer)).collect();
    for peer in differ.iter().take(NAMED) {
        let v = &peer.diagnosis.verdict;
        let side = match v.side {
            Side::Mixed => "no one side".into(),
            side => text!("the {side}", side = Value::Side(side)),
        };
        said.push(text!(
            "In {file} it is {side}{cause}{cost}.",
            file = Value::File(peer.name().into()),
            side = side,
            cause = v.cause.map_or_else(Text::default, |cause| text!(
                " ({code})",
                code = cause.code()
            )),
            cost = peer.cost_ns().map_or_else(Text::default, |ns| text!(
                ", {cost}",
                cost = Value::Duration(ns)
            )),
        ));
    }
    let more = differ.len().saturating_sub(NAMED);
    if more > 0 {
        said.push(text!(
            "{more} further {more|is|are} held up by something else.",
            more = more
        ));
    }
    d.verdict.sentence = Text::list(said, " ");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Rule;
    use crate::hops::testing::diagnosis;

    fn peer(file: &str, side: Side, cause: Option<Rule>, call_time_ns: i64) -> Peer {
        let mut diagnosis = diagnosis([file, "at/server"]);
        diagnosis.verdict.side = side;
        diagnosis.verdict.cause = cause;
        diagnosis.verdict.sentence = "So it is.".into();
        diagnosis.call_time_ns = call_time_ns;
        Peer {
            capture: 0,
            diagnosis,
        }
    }

    fn told(mut peers: Vec<Peer>) -> (Vec<String>, String) {
        sort(&mut peers);
        let mut d = peers[0].diagnosis.clone();
        d.peers = peers;
        tell(&mut d);
        let names = d.peers.iter().map(|p| p.name().to_owned()).collect();
        (names, d.verdict.sentence.to_string())
    }

    #[test]
    fn who_is_held_up_comes_before_who_only_takes_long() {
        let (names, said) = told(vec![
            peer("app1", Side::None, None, 900),
            peer("app2", Side::Network, Some(Rule::NetworkDelay), 200),
            peer("app3", Side::Server, Some(Rule::ServerSlow), 100),
            peer("app4", Side::Network, Some(Rule::NetworkDelay), 50),
        ]);
        assert_eq!(names, ["app2", "app3", "app4", "app1"]);
        assert_eq!(
            said,
            "So it is. This is of app2, where most is held up of 4 clients. The same holds up 1 of the others. \
             In app3 it is the server (server-slow)."
        );
    }

    #[test]
    fn where_nobody_is_to_blame_nobody_is_named() {
        let (_, said) = told(vec![
            peer("app1", Side::None, None, 1),
            peer("app2", Side::Undetermined, None, 2),
        ]);
        assert_eq!(
            said,
            "So it is. This is of app2, whose calls take longest of 2 clients; of none is anybody to blame."
        );
    }

    #[test]
    fn of_many_only_some_are_named() {
        let slow = |file: &str| peer(file, Side::Server, Some(Rule::ServerSlow), 1);
        let mut peers = vec![peer("app0", Side::Network, Some(Rule::NetworkDelay), 9)];
        peers.extend(["app1", "app2", "app3", "app4", "app5"].map(slow));
        let (_, said) = told(peers);
        assert!(said.contains("In app3 it is the server"), "{said}");
        assert!(!said.contains("app4"), "{said}");
        assert!(
            said.ends_with("2 further are held up by something else."),
            "{said}"
        );
    }
}
