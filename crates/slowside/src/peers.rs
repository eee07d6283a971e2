//! Captures of several clients and of the server that all of them ask, or of several servers and of their client, into a
//! diagnosis of each with that one: their clocks differ, so they are no one capture. It is read once for each.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use analysis::filter::Filter;
use analysis::peers::{self, Peer};
use analysis::results::{CaptureResult, Diagnosis, OpResult, Side, TierResult, Vantage};
use analysis::text::{Value, text};
use std::path::PathBuf;
use std::sync::Arc;
use trace::host::{End, Host};

impl ReadOptions<'_> {
    /// Of one of several pairs, with what the others say, or hop by hop where there is one pair only.
    pub(crate) fn by_peers(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        if !self.config.beneath.is_empty() {
            return self.in_chain(captures, events);
        }
        if self.config.peers.is_empty() {
            return self.by_hops(captures, events);
        }
        let [own, _] = captures.lists();
        let each: Vec<&[PathBuf]> = std::iter::once(own)
            .chain(self.config.peers.iter().map(Vec::as_slice))
            .collect();
        // What hosts noted is of those whose diagnosis is told.
        let config = Config {
            server_app: None,
            hosts: Arc::default(),
            ..self.config.clone()
        };
        let plain = ReadOptions::new(None, &config);
        let mut all = Vec::new();
        for files in &each {
            let read = plain.by_tiers(&with(captures, files), events)?;
            all.push(Peer {
                capture: own_capture(&read.diagnosis, files),
                diagnosis: read.diagnosis,
            });
        }
        if let Some(d) = self.through(captures, &each, &all, events)? {
            return Ok(d);
        }
        if let Some(d) = self.in_tiers(captures, &each, &all, events)? {
            return Ok(d);
        }
        self.of_all(captures, &each, all, events)
    }

    /// Of the one where most is held up, with what the others say, if there are any.
    fn of_all(
        &self,
        captures: &Captures,
        each: &[&[PathBuf]],
        mut all: Vec<Peer>,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let [own, _] = captures.lists();
        peers::sort(&mut all);
        let told = all.first();
        let name = told.map(|peer| peer.name().to_owned());
        let first_of = |files: &&&[PathBuf]| names(files).first() == name.as_ref();
        let files = each.iter().find(first_of).copied().unwrap_or(own);
        let is_client = told.is_none_or(Peer::is_client);
        let mut d = match files == own {
            true => self.by_tiers(&with(captures, files), events)?,
            false => self.of_another(&with(captures, files), is_client, events)?,
        };
        if all.len() > 1 {
            d.diagnosis.peers = all;
            peers::tell(&mut d.diagnosis);
        }
        Ok(d)
    }

    /// Where some are clients of the host that all is captured with, and the others the servers that its own calls for these
    /// wait for: what it does for its clients, and its own calls from both of their ends.
    fn in_tiers(
        &self,
        captures: &Captures,
        each: &[&[PathBuf]],
        all: &[Peer],
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<Diagnosed>, Error> {
        let of = |are_clients: bool| {
            let those = each.iter().zip(all);
            those.filter(move |(_, peer)| peer.is_client() == are_clients)
        };
        let clients: Vec<Peer> = of(true).map(|(_, peer)| peer.clone()).collect();
        let servers: Vec<&[PathBuf]> = of(false).map(|(files, _)| *files).collect();
        if clients.is_empty() || servers.is_empty() {
            return Ok(None);
        }
        let mut d = self.of_all(captures, each, clients, events)?;
        let [_, common] = captures.lists();
        let mut found = vec![false; servers.len()];
        let tiers = d.diagnosis.tiers.iter_mut();
        for tier in tiers.filter(|t| t.below.is_some()) {
            for (files, is_found) in servers.iter().zip(&mut found) {
                if let Some(both) = self.at_both_ends(common, files, tier, events)? {
                    tier.below = Some(Box::new(both));
                    *is_found = true;
                }
            }
        }
        Ok(Some(d).filter(|_| found.iter().all(|is| *is)))
    }

    /// Of hosts each of which works for the one before it: what the first two show, and beneath that, from both ends each,
    /// what each asks the next.
    fn in_chain(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let [first, second] = captures.lists().map(<[PathBuf]>::to_vec);
        let mut row = vec![first, second];
        row.extend(self.config.beneath.iter().cloned());
        let config = Config {
            beneath: Vec::new(),
            ..self.config.clone()
        };
        let read = ReadOptions {
            config: &config,
            ..*self
        };
        let plain_config = Config {
            server_app: None,
            hosts: Arc::default(),
            ..config.clone()
        };
        let plain = ReadOptions::new(None, &plain_config);
        // Which end of the row nobody works for is told by the packets.
        let ends = Captures::Two(row[0].clone(), row[1].clone());
        let found = plain.as_is_best(&ends, events)?;
        let of_first = found.diagnosis.captures.first().and_then(|c| c.side);
        if of_first == Some(Vantage::Server) {
            row.reverse();
        }
        let mut pairs = row.windows(2).map(|pair| match pair {
            [client, server] => Captures::Sides {
                client: client.clone(),
                server: server.clone(),
            },
            _ => captures.clone(),
        });
        let Some(top) = pairs.next() else {
            return read.by_tiers(captures, events);
        };
        let mut d = read.by_tiers(&top, events)?;
        let below: Result<Vec<Diagnosed>, Error> =
            pairs.map(|pair| plain.by_tiers(&pair, events)).collect();
        let mut beneath: Option<Diagnosis> = None;
        for pair in below?.into_iter().rev() {
            let mut own = pair.diagnosis;
            put_beneath(&mut own, beneath.take());
            beneath = Some(own);
        }
        put_beneath(&mut d.diagnosis, beneath);
        Ok(d)
    }

    /// The calls of a host to the server that its work waits for, if this is that one's capture.
    fn at_both_ends(
        &self,
        host: &[PathBuf],
        server: &[PathBuf],
        tier: &TierResult,
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<Diagnosis>, Error> {
        let asked = format!("server = {}", tier.tier.below.address);
        let config = Config {
            server_app: None,
            hosts: Arc::default(),
            peers: Vec::new(),
            filter: Filter::parse(&asked).ok(),
            ..self.config.clone()
        };
        let ends = Captures::Sides {
            client: host.to_vec(),
            server: server.to_vec(),
        };
        let read = ReadOptions::new(None, &config).as_is_best(&ends, events)?;
        Ok(Some(read.diagnosis).filter(has_both))
    }

    /// Where one of two is a client of the host that all is captured with, and the other its server, and the same calls are
    /// in both: the host is on their path, and passes on what it is asked.
    fn through(
        &self,
        captures: &Captures,
        each: &[&[PathBuf]],
        all: &[Peer],
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<Diagnosed>, Error> {
        let ([a, b], [one, other]) = (each, all) else {
            return Ok(None);
        };
        let [client, server] = match (one.is_client(), other.is_client()) {
            (true, false) => [a, b],
            (false, true) => [b, a],
            _ => return Ok(None),
        };
        let [_, middle] = captures.lists();
        let config = Config {
            between: vec![middle.to_vec()],
            peers: Vec::new(),
            ..self.config.clone()
        };
        let read = ReadOptions {
            config: &config,
            ..*self
        };
        let path = Captures::Sides {
            client: client.to_vec(),
            server: server.to_vec(),
        };
        let d = read.by_hops(&path, events)?;
        Ok(Some(d).filter(|d| has_both(&d.diagnosis)))
    }

    /// Without what was noted by the host whose capture was given first, as it says nothing of another one.
    fn of_another(
        &self,
        captures: &Captures,
        is_client: bool,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let own = match is_client {
            true => End::Client,
            false => End::Server,
        };
        let hosts = self.config.hosts.iter();
        let (firsts, others): (Vec<Host>, Vec<Host>) =
            hosts.cloned().partition(|h| h.said == Some(own));
        let app = self.app.filter(|_| !is_client);
        let server_app = self.config.server_app.as_ref().filter(|_| is_client);
        let is_less = !firsts.is_empty()
            || app.is_none() && self.app.is_some()
            || server_app.is_none() && self.config.server_app.is_some();
        let config = Config {
            hosts: others.into(),
            server_app: server_app.cloned(),
            ..self.config.clone()
        };
        let read = ReadOptions {
            app,
            config: &config,
            ..*self
        };
        let mut d = read.by_tiers(captures, events)?;
        if is_less {
            d.diagnosis.notes.push(text!(
                "What was given of the {side} itself is of the host whose capture was given first: here it is left out.",
                side = match is_client {
                    true => Side::Client,
                    false => Side::Server,
                }
            ));
        }
        Ok(d)
    }
}

/// In place of what one end says of a host's own calls, what both do.
fn put_beneath(d: &mut Diagnosis, both: Option<Diagnosis>) {
    let Some(both) = both else { return };
    let unused = both.captures.iter().flat_map(|c| &c.files).next_back();
    let file = unused.cloned().unwrap_or_default();
    let mut tiers = d.tiers.iter_mut();
    match tiers.find(|t| t.below.is_some()).filter(|_| has_both(&both)) {
        Some(tier) => tier.below = Some(Box::new(both)),
        None => d.notes.push(text!(
            "{file} was left out: what the host before it asks there is no part of its work that could be told.",
            file = Value::File(file.into())
        )),
    }
}

/// Whether any call is in both captures.
fn has_both(d: &Diagnosis) -> bool {
    let is_same = |op: &OpResult| op.matched.as_ref().is_some_and(|m| m.count > 0);
    d.ops.iter().any(is_same)
}

/// The same, with these files in place of the first of two captures.
fn with(captures: &Captures, files: &[PathBuf]) -> Captures {
    let [_, common] = captures.lists();
    let (own, common) = (files.to_vec(), common.to_vec());
    match captures {
        Captures::Sides { .. } => Captures::Sides {
            client: own,
            server: common,
        },
        _ => Captures::Two(own, common),
    }
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|f| f.display().to_string()).collect()
}

/// Which of its captures holds these files.
fn own_capture(d: &Diagnosis, files: &[PathBuf]) -> usize {
    let own = names(files);
    let is_own = |c: &CaptureResult| c.files.iter().any(|f| own.contains(f));
    d.captures.iter().position(is_own).unwrap_or(0)
}
