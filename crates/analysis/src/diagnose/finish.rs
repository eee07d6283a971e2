//! Calls that are settled, and what their captures are, into a diagnosis: each call divided, what that sums
//! to, findings, verdict. One way for one end and for two.

use super::others::Client;
use super::seen::Seen;
use super::{Diagnoser, Kind};
use crate::app::ServerFacts;
use crate::compare::snapshot::Measured;
use crate::facts::{self, Account, Basis, Exhibits, Facts};
use crate::findings;
use crate::health::Health;
use crate::ledgers::{
    AtWork, BothWhole, Further, Look, Looked, Missing, OneWhole, Operations, OtherWhole, Whole,
};
use crate::locks::Coincidences;
use crate::narrowest::{self, Link};
use crate::path::{Crossed, ways_to_proxy};
use crate::places::Known;
use crate::pressure;
use crate::results::{CaptureResult, Diagnosis};
use crate::rounds::Habit;
use crate::spared::Spared;
use crate::streams::{Gathered, Streams};
use crate::text::{Value, text};
use crate::verdict::{across_proxy, exchanged, explaining, nobodys_delay, verdict};
use ledger::{Both, Bounds, Certain, Half, Kept, One, Sums};
use model::ChecksumOf;

/// What was kept of calls: of a single capture, or that had begun before the server's of two; of two; and of those that the
/// server's alone can hold, by client.
struct KeptCalls {
    alone: Kept<One>,
    matched: Kept<Both>,
    others: Vec<Kept<One>>,
}

impl Diagnoser {
    /// The diagnosis. `results` say how each capture was read, `gathered` what connections waited for;
    /// `look` sees each call's ledger. With it comes what a comparison needs, if it was
    /// [asked for](Diagnoser::measure).
    #[must_use]
    pub fn finish(
        &mut self,
        mut results: Vec<CaptureResult>,
        gathered: &Gathered,
        look: Option<&mut Look<'_>>,
    ) -> (Diagnosis, Option<Measured>) {
        let are_two = self.captures.len() == 2;
        let mut seen = match are_two {
            true => self.see_two(&mut results, gathered),
            false => self.see_one(&mut results, gathered),
        };
        let streams = match are_two {
            true => gathered.of_two(seen.main()),
            false => gathered.of_one(results[0].side),
        };
        pressure::tell_drops(&self.options.hosts, &gathered.ends, &mut results);
        for (capture, health) in self.captures.iter_mut().zip(&gathered.health) {
            let checksums = health.checksums.total(ChecksumOf::Tcp);
            capture.sent_again.judge(&checksums);
        }
        let main = seen.main();
        for (attributes, result) in self.attributes.iter().zip(&mut results) {
            attributes.note_bounds(&mut result.problems);
        }
        let mut notes = std::mem::take(&mut seen.notes);
        notes.extend(self.captures[seen.client.unwrap_or(0)].still_waiting());
        let ops = self.op_results(&seen);
        let noted = self.held_against_hosts(&seen, &results, &mut notes);
        let app = noted.app.as_ref().map(|rows| rows.facts.clone());
        let server_app = noted.server.as_ref().map(ServerFacts::of);
        let waits = gathered.waits.get(seen.server.unwrap_or(0));
        self.applications = match &noted.app {
            Some(rows) => rows.joined.operations.clone(),
            None => Operations::default(),
        };
        let at_work = AtWork {
            operations: noted.server.as_ref().map(|rows| &rows.joined.operations),
            beneath: waits.filter(|waits| !waits.is_empty()),
        };
        let elapsed = match are_two {
            true => self.matched.first.zip(self.matched.last),
            false => self.captures[0].first.zip(self.captures[0].last),
        };
        let elapsed_ns = elapsed.map_or(0, |(first, last)| last - first);
        let (carried, overtaken) = (streams.carried(), streams.overtaken());
        let links = narrowest::links(&self.matched.narrowest, carried, overtaken, elapsed_ns);
        let kept = self.take_kept();
        let whole = self.whole(kept, &seen, gathered, &streams, &links, at_work);
        let (account, certain) = self.account(&seen, &streams, whole, look);
        let hosts = self.held_against_tools(&seen, gathered, &results, &certain);
        let layers = self.layers(&seen, &ops, &noted, &hosts);
        let facts = Facts {
            kind: self.kind,
            thresholds: self.options.thresholds,
            captures: &self.captures,
            results: &results,
            client: seen.client,
            server: seen.server,
            halves: seen.halves,
            matched: are_two.then_some(&self.matched),
            others: self.others.judged.as_ref().map(|o| [&o.response, &o.wait]),
            app: app.as_ref(),
            server_app: server_app.as_ref(),
            hosts: &hosts,
            path: seen.path,
            account,
            streams: &streams,
            links: links.clone(),
            cut_ns: self.cut_ns,
            elsewhere_ns: self.elsewhere_ns,
            unheard_ns: self.alone.unheard_ns,
            varied: &self.alone.varied,
            behind_skips: self.alone.behind_skips,
            some_began_before: self.alone.some_began_before,
            sql: seen.sql.as_ref(),
            startup: gathered.startup(main),
            tiers: &gathered.tiers,
            health: &gathered.health,
            worst: self.exhibits(),
        };
        let mut findings = findings::check(&facts);
        let known = Known {
            attributes: [&self.attributes[main], &self.attributes[1 - main]],
            ops: &self.ops,
            sql: seen.sql.as_ref(),
            exports: &gathered.exports,
        };
        known.tell(&mut findings, &facts.account, &certain);
        let (verdict, findings) = match seen.are_exchanged {
            true => (exchanged(), Vec::new()),
            false if seen.is_proxied => (
                across_proxy(verdict(&facts, &findings), &facts),
                nobodys_delay(findings),
            ),
            false => (verdict(&facts, &findings), findings),
        };
        let findings = explaining(findings, &verdict);
        if facts.elsewhere_ns > 0 {
            notes.push(text!(
                "Slow calls to servers that the other capture does not show took {ns}: the client's capture alone tells of them.",
                ns = Value::Duration(facts.elsewhere_ns)
            ));
        }
        let untold_ns = facts.untold_ns();
        if untold_ns > 0 {
            notes.push(text!(
                "Connections with several requests under way at a time, which cannot be told apart, were busy for {untold}: slowside conns says what with.",
                untold = Value::Duration(untold_ns)
            ));
        }
        let few_long = facts.few_long();
        // The server's capture has calls of other clients.
        let elapsed_ns = match facts.others {
            Some(_) => facts.captured_ns().unwrap_or(elapsed_ns),
            None => elapsed_ns,
        };
        let account = facts.account;
        notes.extend(streams.notes(account.calls));
        let lost = are_two.then(|| streams.lost());
        let (ledger, streams_ledger) = match account.basis {
            Basis::Streams => (Sums::new(), Some(account.sums.clone())),
            _ => (account.sums.clone(), None),
        };
        let diagnosis = Diagnosis {
            budget: self.budget(&seen, &account, app.as_ref()),
            ops,
            captures: results,
            verdict,
            clock: seen.clock,
            clocks: seen.clocks.clone(),
            findings,
            app,
            server_app,
            layers,
            hosts,
            tiers: Vec::new(),
            hops: Vec::new(),
            peers: Vec::new(),
            own: Default::default(),
            both: Default::default(),
            files: Vec::new(),
            notes,
            call_time_ns: account.total_ns,
            elapsed_ns,
            few_long,
            ledger,
            streams_ledger,
            lost,
            untold_ns,
            cut_ns: self.cut_ns.saturating_add(self.elsewhere_ns),
        };
        self.cap = account.cap.as_ref().map(|(cap, server)| (*server, cap.cap));
        self.at_client = Some(main);
        (diagnosis, self.measured(account, main, streams))
    }

    /// What was kept of all calls, to be freed as they are divided.
    fn take_kept(&mut self) -> KeptCalls {
        let others = self.others.judged.iter_mut().flat_map(|o| &mut o.clients);
        KeptCalls {
            alone: std::mem::take(&mut self.alone.kept),
            matched: std::mem::take(&mut self.matched.kept),
            others: others.map(|c| std::mem::take(&mut c.kept)).collect(),
        }
    }

    /// All calls, with what divides them that only the whole of the captures says.
    fn whole<'a>(
        &'a self,
        kept: KeptCalls,
        seen: &'a Seen,
        gathered: &Gathered,
        streams: &'a Streams,
        links: &'a [Link],
        at_work: AtWork<'a>,
    ) -> Whole<'a> {
        let turns = (self.kind == Kind::Turns).then_some(streams);
        let [one, other] = &gathered.health;
        match (seen.client, seen.server) {
            (Some(client), Some(server)) => {
                let offset = seen.offset_ns();
                let later = |capture| if capture == client { 0 } else { offset };
                Whole::Both(BothWhole {
                    kept: kept.matched,
                    matched: &self.matched,
                    server: &self.captures[server],
                    client: &self.captures[client],
                    beyond: seen.halves,
                    client_capture: client,
                    links,
                    unsure: &seen.unsure,
                    missing: Missing::of([(one, later(0)), (other, later(1))].into_iter()),
                    streams: turns,
                    doubtful_ns: turns
                        .and_then(|_| facts::rarely_beyond_ns(&self.matched.server_wait)),
                    to_proxy_ns: seen.is_proxied.then(|| {
                        let [client, server] = [client, server].map(|i| &self.captures[i].ways);
                        let ways = ways_to_proxy(client, server);
                        ways.iter().fold(0, |sum, way| sum + way.lo_ns)
                    }),
                    others: {
                        let health = &gathered.health[server];
                        let others =
                            self.others_whole(kept.others, server, health, turns, seen, at_work);
                        let begun = self.begun_whole(kept.alone, server, turns, seen);
                        others.into_iter().chain(begun).collect()
                    },
                    at_work,
                })
            }
            _ => Whole::One(OneWhole {
                kept: kept.alone,
                coincidence: self.alone.coincidence,
                capture: &self.captures[0],
                halves: seen.halves,
                further: Further {
                    halves: Some(&seen.further),
                    attributes: Some(&self.attributes[0]),
                },
                varies: Box::new(self.alone.varied.of_requests()),
                // Where replies are passing for much of the time, calls wait behind those of others.
                waits_tell: !self.captures[0].waits_behind_others(),
                some_began_before: self.alone.some_began_before,
                missing: Missing::of([(one, 0)].into_iter()),
                streams: turns,
                doubtful_ns: turns.and_then(|_| facts::rarely_beyond_ns(&self.captures[0].wait)),
                at_work,
            }),
        }
    }

    /// The calls that the server's capture alone can hold, by client.
    fn others_whole<'a>(
        &'a self,
        kept: Vec<Kept<One>>,
        server: usize,
        health: &Health,
        streams: Option<&'a Streams>,
        seen: &Seen,
        at_work: AtWork<'a>,
    ) -> Vec<OtherWhole<'a>> {
        let Some(others) = &self.others.judged else {
            return Vec::new();
        };
        let capture = &self.captures[server];
        let [to_server, _] = seen.halves;
        let ahead_ns = seen.offset_ns();
        let of = |client: &'a Client, kept: Kept<One>| OneWhole {
            kept,
            coincidence: client.coincidence,
            capture,
            halves: [to_server, client.half],
            further: Further::default(),
            varies: Box::default(),
            waits_tell: !capture.waits_behind_others(),
            some_began_before: false,
            missing: Missing::of([(health, 0)].into_iter()),
            streams,
            doubtful_ns: streams.and_then(|_| facts::rarely_beyond_ns(&others.wait)),
            at_work,
        };
        let all = others.clients.iter().zip(kept);
        all.map(|(client, kept)| OtherWhole {
            calls: of(client, kept),
            ahead_ns,
            spared: Spared::default(),
        })
        .collect()
    }

    /// Calls that had begun before the server's capture: without a request nothing identifies them in the client's, so they
    /// are judged as the server's alone sees them.
    fn begun_whole<'a>(
        &'a self,
        kept: Kept<One>,
        server: usize,
        streams: Option<&'a Streams>,
        seen: &Seen,
    ) -> Option<OtherWhole<'a>> {
        let capture = &self.captures[server];
        let ([to_server, _], ahead_ns) = (seen.halves, seen.offset_ns());
        // One that was lost behind the capture was sent again there; the way of others took no longer than this.
        let longest_ns = self.matched.clean_network.quantile(1.0).max(0);
        let to_client = match self.matched.clean_network.count() {
            0 => capture.ways.near()[1].half(Crossed::default()),
            _ => Half::Away(Bounds::between(0, longest_ns)),
        };
        let whole = OneWhole {
            kept,
            coincidence: Coincidences::default(),
            capture,
            halves: [to_server, to_client],
            further: Further::default(),
            varies: Box::default(),
            waits_tell: !capture.waits_behind_others(),
            some_began_before: true,
            missing: Missing::default(),
            streams,
            doubtful_ns: None,
            at_work: AtWork::default(),
        };
        self.alone.some_began_before.then_some(OtherWhole {
            calls: whole,
            ahead_ns,
            spared: Spared::default(),
        })
    }

    /// All calls divided and summed, or what streams waited for, where they are all there is; and what is certain of
    /// each call. `look` sees each call's ledger.
    fn account(
        &self,
        seen: &Seen,
        streams: &Streams,
        whole: Whole<'_>,
        look: Option<&mut Look<'_>>,
    ) -> (Account, Kept<Certain>) {
        let (account, certain) = match self.is_of_streams() {
            true => {
                let (_, certain) = self.summed(seen, whole, &Spared::default(), look);
                let mut account = Account::of(Basis::Streams, streams.sums());
                account.chatter[Habit::Writes as usize] = streams.chatter();
                (account, certain)
            }
            false => self.divide(seen, streams, whole, look),
        };
        let account = Account {
            cap: facts::server_cap(&self.captures[seen.server.unwrap_or(0)]),
            ..account
        };
        (account, certain)
    }

    /// The sums of calls' ledgers, and what is certain of each; `look` sees them.
    pub(super) fn summed(
        &self,
        seen: &Seen,
        whole: Whole<'_>,
        spared: &Spared,
        look: Option<&mut Look<'_>>,
    ) -> (Sums, Kept<Certain>) {
        let Some(look) = look else {
            return whole.divided(spared, |_, _| {});
        };
        let mut rows = self.matched.at_server.iter().flatten();
        let drawn: Vec<u64> = self.ladders().iter().map(|l| l.row).collect();
        whole.divided(spared, |call, ledger| {
            let clock = seen.clock_at(call.at);
            look(&Looked {
                row: call.row,
                is_at_server_alone: call.is_at_server_alone,
                ledger,
                // Streams are judged by themselves.
                is_judged: !self.is_of_streams(),
                is_drawn: !call.is_at_server_alone && drawn.contains(&call.row),
                server: match call.is_at_server_alone {
                    true => None,
                    false => rows.next(),
                },
                clock_offset_ns: clock.map_or(0, |c| self.matched.offset_ns(c, call.at)),
                application: match call.is_at_server_alone {
                    true => None,
                    false => self.applications.get(&call.row).copied(),
                },
            });
        })
    }

    /// Whether streams that nobody answers are all there is to judge. What connections waited for is known
    /// over their whole life only.
    fn is_of_streams(&self) -> bool {
        self.kind == Kind::Turns && self.options.whole && self.timed() == 0
    }

    /// Whether most calls are turns, or such of databases: their clients wait for each answer.
    pub(super) fn is_alternating(&self) -> bool {
        let timed = |op: usize| {
            self.captures[0]
                .ops
                .get(op)
                .map_or(0, |o| o.response.count())
        };
        let (mut sql, mut all) = (0, 0);
        for op in 0..self.ops.len() {
            all += timed(op);
            sql += match self.ops.name(op as u16).0.is_sql() {
                true => timed(op),
                false => 0,
            };
        }
        self.kind == Kind::Turns || sql > all / 2
    }

    /// The worst calls by kind.
    fn exhibits(&self) -> Exhibits<'_> {
        let (m, own) = (&self.matched, &self.captures[0].slowest);
        match self.captures.len() {
            2 => Exhibits {
                server: match (&self.others.judged, self.client) {
                    // Of all its calls, whoever asked.
                    (Some(_), Some(client)) => &self.captures[1 - client].slowest,
                    _ => &m.slow_server,
                },
                stall: &m.stalled,
                locked: &m.locked,
                asked: &m.asked,
                lock_waits: m.lock_waits,
                network: &m.slow_network,
                loss: &m.lost,
                outage: &m.outage,
                held: &m.held,
            },
            _ => Exhibits {
                server: own,
                stall: &self.alone.stall,
                locked: &self.alone.locked,
                asked: &self.alone.asked,
                lock_waits: self.alone.lock_waits,
                network: own,
                loss: &self.alone.loss,
                outage: &self.alone.outage,
                held: own,
            },
        }
    }

    /// What a comparison needs, of which `main` has the calls' times.
    fn measured(&mut self, account: Account, main: usize, streams: Streams) -> Option<Measured> {
        let parts = match self.captures.len() {
            2 => self.matched.parts.take(),
            _ => self.alone.parts.take(),
        };
        Some(Measured {
            kind: self.kind,
            account,
            main,
            streams,
            tap: *self.tap.take()?,
            parts: *parts?,
            fast_enough_ns: self.options.thresholds.fast_enough_ns,
            tail_ns: self.options.thresholds.tail_ns,
        })
    }
}
