//! # What it says
//! The server is slow while it waits for a server of its own: a database for the
//! storage that its files lie on, a pooler for the database, an application's
//! server for both, any of them for the name of who connects; or for a standby that
//! is to confirm what a commit wrote. Its own calls are under way for most of the
//! time for which it holds those of its clients.
//!
//! # Why it costs time
//! What a call needs of the server below it, it waits for. To make the server
//! faster helps little then: what lies below it, and the way there, are to be
//! looked at, which the diagnosis does apart for those calls.
//!
//! # How sure
//! Only said where a capture next to the server has both, and where its own calls
//! come with those of its clients more often than by chance: they begin as it is
//! asked, and end as it answers. How much of its time lies
//! beneath them is measured; what goes on as well while nobody asks it anything is
//! not counted. Where it works on several calls at a time, at least one of them
//! waits and at most all do; a session that asks by a connection of its own is
//! told apart by that. A name that nobody answers for is waited for until
//! the request is answered, at most: when the server gives up no packet says. That
//! it could not have worked meanwhile no packet says either: who reads ahead does.
//! It costs what lies beneath calls while the server works on one alone, or is
//! asked by its session alone (the line downstream of the ledger); where what
//! several wait for is not told apart, it stays with server-slow
//! (downstream-shared).
//!
//! # What to check next
//! The diagnosis of the calls beneath, and a capture at the server below. Whether
//! they are needed: caches, fewer and larger reads, fewer statements; the name of
//! a client hardly ever is (skip_name_resolve, log_hostname, UseDNS). Which commits
//! must be on two hosts at once (synchronous_commit, synchronous_standby_names;
//! rpl_semi_sync_master_enabled of MySQL and MariaDB).
//!
//! # When it is wrong
//! When the server reads ahead, or writes behind, while it works: its own calls
//! then go with its work, and nobody waits for them.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::concurrency::Scope;
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Text, Value, text};
use crate::tiers::{Asks, Tier};

pub(super) const ENTRY: Entry = Entry {
    code: "downstream-wait",
    title: "the server waits for a server of its own",
    side: Some(crate::results::Side::Server),
    of: Of::Calls,
    sure: [0.9, 0.9],
    page: page!("downstream_wait.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let tier = tier(facts)?;
    let each = |ns: i64| Value::Duration(ns / tier.asked.max(1) as i64);
    let [what, _, at] = tier.what.words();
    let between = match tier.is_bounds() {
        true => text!(
            "{least} to {most}",
            least = each(tier.least_ns),
            most = each(tier.most_ns)
        ),
        false => text!("{least}", least = each(tier.least_ns)),
    };
    Some(Finding {
        title: match tier.what {
            Asks::Copies => text!(
                "The server waits for its standby {below}",
                below = tier.below.address
            ),
            Asks::Calls | Asks::Names => text!("The server waits for {below}", below = tier.below),
        },
        cost_ns: (facts.account.downstream_ns > 0).then_some(facts.account.downstream_ns),
        first: facts.worst.server.first,
        last: facts.worst.server.last,
        facts: numbers([
            ("requests", whole(tier.asked)),
            ("own_calls", whole(tier.asks)),
            ("work_ns", tier.work_ns),
            ("least_ns", tier.least_ns),
            ("most_ns", tier.most_ns),
        ]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.server,
            "request and reply of the longest waits, between which its own calls lie",
        ),
        why: text!(
            "Of {work} for which {host} works on a request of its {asked,} on average, {what} for {between}: {asks,} {at} {below}{others}{unanswered}. They come as it is asked and end as it answers.{way}",
            work = each(tier.work_ns),
            host = tier.host,
            asked = tier.asked,
            what = Text::from(what),
            between = between,
            asks = tier.asks,
            at = Text::from(at),
            below = tier.below,
            others = match tier.others {
                0 => Text::default(),
                n => text!(" and {n} other server{n||s}", n = n),
            },
            unanswered = match tier.unanswered {
                0 => Text::default(),
                n => text!(", of which {n,} {n|has|have} no answer", n = n),
            },
            way = match way_ns(facts, tier) {
                Some(ns) => text!(
                    " The standby's host acknowledges within {ns} what comes: what it takes beyond that is its own.",
                    ns = Value::Duration(ns),
                ),
                None => Text::default(),
            },
        ),
        remedy: remedy(tier),
        ..Rule::DownstreamWait.finding()
    })
}

/// How long the way to a standby and back takes, as its host acknowledges soonest.
fn way_ns(facts: &Facts<'_>, tier: &Tier) -> Option<i64> {
    let hosts = (tier.below.address, tier.host);
    let capture = facts.captures.get(seen_in(facts)?)?;
    let [_, to_standby] = (capture.ways.of(hosts)).filter(|_| tier.what == Asks::Copies)?;
    to_standby.fastest_ns()
}

fn remedy(tier: &Tier) -> Vec<Text> {
    let address = tier.below.address;
    match tier.what {
        Asks::Calls => vec![
            text!(
                "look at what {below} and the way to it take: calls to it are diagnosed apart here (--where 'server = {address}' has them alone), and a capture at it tells more",
                below = tier.below,
                address = address,
            ),
            "ask it less: caches, fewer and larger reads, fewer statements".into(),
        ],
        Asks::Names => vec![
            text!(
                "see which names, and what becomes of each: slowside calls --where 'server = {address}'",
                address = address,
            ),
            "let the server ask a name server that answers, or none: names of its clients in its own hosts file, or no lookup at all (skip_name_resolve in MySQL, log_hostname = off in PostgreSQL, UseDNS no in sshd)".into(),
        ],
        Asks::Copies => vec![
            text!(
                "look at the way to {address} and at its disk: the connection's round trips are in slowside conns, the standby's own part in pg_stat_replication (PostgreSQL: write_lag, flush_lag, replay_lag), and a capture there tells both apart",
                address = address,
            ),
            "where a commit need not be on both hosts at once, let it not wait: a nearer standby; synchronous_commit = local for such transactions, or ANY 1 of several in synchronous_standby_names (PostgreSQL); no semi-synchronous replication, or a short rpl_semi_sync_master_timeout (MySQL, MariaDB)".into(),
        ],
    }
}

/// What goes on while it works for its clients.
pub(crate) fn meanwhile(tier: &Tier) -> Text {
    match tier.what {
        Asks::Calls => text!(
            "calls of its own to {below} are under way",
            below = tier.below
        ),
        Asks::Names => text!(
            "it looks up names at {below}{in_vain}",
            below = tier.below,
            in_vain = match tier.unanswered {
                0 => Text::default(),
                n if n == tier.names => text!(", which answers none"),
                n => text!(", which answers all but {n,}", n = n),
            }
        ),
        Asks::Copies => text!(
            "its standby {address} has not confirmed what it wrote",
            address = tier.below.address
        ),
    }
}

/// The capture that has the server's own calls.
fn seen_in(facts: &Facts<'_>) -> Option<usize> {
    match facts.captures.len() {
        1 => Some(0),
        _ => facts.server,
    }
}

/// The server that is judged, where its own calls take it a quarter of the time of all calls for certain.
pub(crate) fn tier<'a>(facts: &Facts<'a>) -> Option<&'a Tier> {
    let seen_in = seen_in(facts)?;
    let at_server = facts.captures.get(seen_in)?;
    let is_server = |t: &&Tier| {
        let mut scopes = at_server.concurrency.levels().map(|(scope, _)| scope);
        scopes.any(|s| matches!(s, Scope::Server(e) if e.address == t.host))
    };
    let tier = facts.tiers.get(seen_in)?.iter().find(is_server)?;
    let guilty = facts.is_guilty_of(
        tier.least_ns,
        facts.account.server_ns(),
        facts.server_part(),
    );
    guilty.then_some(tier)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CALLS, Fixture, TOTAL_NS, end, found};
    use super::*;
    use crate::results::Side;
    use crate::ways::Ways;
    use model::{Change, ConnectionId, Outstanding, Time};

    /// Half of the calls' time is the server's, so much of it beneath calls of its own.
    fn beneath(f: &mut Fixture, least_ns: i64, most_ns: i64) {
        f.account.service_ns = TOTAL_NS / 2;
        for capture in &mut f.captures {
            capture.outstanding(&Outstanding {
                order: 0,
                time: Time(0),
                connection: ConnectionId(1),
                client: end(1, 800),
                server: end(2, 2_049),
                id: 1,
                change: Change::Sent,
            });
        }
        f.tiers[1] = vec![Tier {
            least_ns,
            most_ns,
            ..tier_of(8 * CALLS)
        }];
    }

    fn tier_of(asks: u64) -> Tier {
        Tier {
            host: end(2, 0).address,
            below: end(3, 111),
            what: Asks::Calls,
            others: 1,
            asked: CALLS,
            asks,
            calls: asks,
            names: 0,
            unanswered: 0,
            work_ns: TOTAL_NS / 2,
            least_ns: 0,
            most_ns: 0,
        }
    }

    #[test]
    fn what_lies_beneath_calls_of_its_own_is_said() {
        let f = found(Rule::DownstreamWait, |f| {
            beneath(f, TOTAL_NS * 2 / 5, TOTAL_NS / 2)
        });
        let f = f.unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, None));
        assert_eq!(f.title.to_string(), "The server waits for 10.0.0.3:111");
        assert_eq!(
            f.why.to_string(),
            "Of 50.0 ms for which 10.0.0.2 works on a request of its 100 on average, calls of its own are under way for 40.0 ms to 50.0 ms: 800 to 10.0.0.3:111 and 1 other server. They come as it is asked and end as it answers."
        );
    }

    #[test]
    fn it_costs_what_lies_beneath_calls_that_the_server_works_on_alone() {
        let f = found(Rule::DownstreamWait, |f| {
            beneath(f, TOTAL_NS * 2 / 5, TOTAL_NS / 2);
            f.account.downstream_ns = TOTAL_NS / 10;
            f.account.service_ns -= TOTAL_NS / 10;
        });
        assert_eq!(f.unwrap().cost_ns, Some(TOTAL_NS / 10));
    }

    #[test]
    fn names_are_said_to_be_names_and_how_many_nobody_answers_for() {
        let names = |unanswered| {
            let f = found(Rule::DownstreamWait, |f| {
                beneath(f, TOTAL_NS / 2, TOTAL_NS / 2);
                let tier = &mut f.tiers[1][0];
                (tier.what, tier.names, tier.unanswered, tier.others) =
                    (Asks::Names, tier.asks, unanswered, 0);
            });
            f.unwrap()
        };
        assert_eq!(
            names(7).why.to_string(),
            "Of 50.0 ms for which 10.0.0.2 works on a request of its 100 on average, names are looked up for 50.0 ms: 800 at 10.0.0.3:111, of which 7 have no answer. They come as it is asked and end as it answers."
        );
        let remedy: Vec<String> = names(0).remedy.iter().map(Text::to_string).collect();
        assert!(remedy[1].contains("skip_name_resolve"), "{remedy:?}");
        let said = |names, unanswered| {
            let tier = Tier {
                what: Asks::Names,
                names,
                unanswered,
                ..tier_of(8)
            };
            meanwhile(&tier).to_string()
        };
        assert_eq!(said(8, 0), "it looks up names at 10.0.0.3:111");
        assert_eq!(
            said(8, 3),
            "it looks up names at 10.0.0.3:111, which answers all but 3"
        );
        assert_eq!(
            said(8, 8),
            "it looks up names at 10.0.0.3:111, which answers none"
        );
    }

    #[test]
    fn a_standby_is_said_to_be_one() {
        let tier = |what| Tier { what, ..tier_of(8) };
        let [calls, copies] = [Asks::Calls, Asks::Copies].map(|a| meanwhile(&tier(a)).to_string());
        assert_eq!(calls, "calls of its own to 10.0.0.3:111 are under way");
        assert_eq!(
            copies,
            "its standby 10.0.0.3 has not confirmed what it wrote"
        );
        let f = found(Rule::DownstreamWait, |f| {
            beneath(f, TOTAL_NS / 2, TOTAL_NS / 2);
            f.tiers[1][0].what = Asks::Copies;
            f.captures[1].ways = Ways::of_one([3, 2], [None, Some(7_000_000)]);
        });
        let f = f.unwrap();
        assert_eq!(
            f.title.to_string(),
            "The server waits for its standby 10.0.0.3"
        );
        let why = f.why.to_string();
        assert!(
            why.contains("acknowledges within 7.00 ms what comes"),
            "{why}"
        );
    }

    #[test]
    fn a_quarter_of_all_time_for_certain_is_enough() {
        let of = |least| found(Rule::DownstreamWait, |f| beneath(f, least, TOTAL_NS / 2));
        assert!(of(TOTAL_NS / 4).is_some());
        assert!(of(TOTAL_NS / 4 - 1_000_000).is_none());
        assert!(of(TOTAL_NS / 4 - 1).is_none());
    }

    #[test]
    fn another_host_s_calls_say_nothing() {
        let none = found(Rule::DownstreamWait, |f| {
            beneath(f, TOTAL_NS / 2, TOTAL_NS / 2);
            f.tiers[1][0].host = end(9, 0).address;
        });
        assert!(none.is_none());
    }
}
