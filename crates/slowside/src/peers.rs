//! Captures of several clients and of the server that all of them ask, or of several servers and of their client, into a
//! diagnosis of each with that one: their clocks differ, so they are no one capture. It is read once for each.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use crate::tiers::has_both;
use analysis::filter::Filter;
use analysis::peers::{self, Peer};
use analysis::results::{CaptureResult, Diagnosis, Side, TierResult, Vantage};
use analysis::text::{Value, text};
use std::path::PathBuf;
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
            // Rows that say whose they are are each client's own.
            app: self.config.app.clone().filter(|app| app.names_clients()),
            ..self.config.unnoted()
        };
        let plain = ReadOptions::new(&config);
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
        if self.config.filter.is_some() {
            // What is asked for may be of one of them only.
            let (asked, others): (Vec<Peer>, Vec<Peer>) =
                all.into_iter().partition(|peer| has_both(&peer.diagnosis));
            let asked = if asked.is_empty() { others } else { asked };
            return self.of_all(captures, &each, asked, events);
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
        let mut left_out = Vec::new();
        for files in &servers {
            let mut is_found = false;
            for tier in d.diagnosis.tiers.iter_mut().filter(|t| t.below.is_some()) {
                if let Some(both) = self.at_both_ends(common, files, tier, events)? {
                    tier.below = Some(Box::new(both));
                    is_found = true;
                }
            }
            if !is_found {
                left_out.push(*files);
            }
        }
        if left_out.len() == servers.len() {
            return Ok(None);
        }
        left_out
            .iter()
            .for_each(|files| leave_out(&mut d.diagnosis, files));
        Ok(Some(d))
    }

    /// Of hosts each of which works for the one before it: what the first two show, and beneath that, from both ends each,
    /// what each asks the next. Where they do not ask each other all in one direction they are no such row.
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
        let unnoted = config.unnoted();
        let plain = ReadOptions::new(&unnoted);
        let neighbours = |row: &[Vec<PathBuf>]| -> Vec<[Vec<PathBuf>; 2]> {
            let pairs = row.iter().zip(row.iter().skip(1));
            pairs.map(|(a, b)| [a.clone(), b.clone()]).collect()
        };
        let mut asks = Vec::new();
        for [a, b] in neighbours(&row) {
            let found = plain.as_is_best(&Captures::Two(a, b), events)?;
            let of_first = found.diagnosis.captures.first().and_then(|c| c.side);
            asks.push((of_first, has_both(&found.diagnosis)));
        }
        if self.config.filter.is_some()
            && let Some(i) = asks.iter().position(|(_, has_both)| *has_both)
            && let [Some(a), Some(b)] = [row.get(i), row.get(i + 1)]
        {
            // What is asked for is of two of them.
            return read.by_tiers(&Captures::Two(a.clone(), b.clone()), events);
        }
        let all = |side: Vantage| asks.iter().all(|(of_first, _)| *of_first == Some(side));
        if all(Vantage::Server) {
            row.reverse();
        } else if !all(Vantage::Client) {
            // Two clients of two servers, of which one asks both.
            let every_second = |from| {
                row.iter()
                    .skip(from)
                    .step_by(2)
                    .flatten()
                    .cloned()
                    .collect()
            };
            let two = Captures::Two(every_second(0), every_second(1));
            return read.by_hops(&two, events);
        }
        let mut pairs = neighbours(&row).into_iter();
        let Some([client, server]) = pairs.next() else {
            return read.by_tiers(captures, events);
        };
        let top = Captures::Sides { client, server };
        let mut d = read.by_tiers(&top, events)?;
        let pairs: Vec<[Vec<PathBuf>; 2]> = pairs.collect();
        plain.put_beneath(&mut d.diagnosis, &pairs, events)?;
        Ok(d)
    }

    /// In place of what one end says of a host's own calls, what both do: of the first of these pairs, and beneath that of
    /// the next.
    fn put_beneath(
        &self,
        d: &mut Diagnosis,
        pairs: &[[Vec<PathBuf>; 2]],
        events: &mut dyn FnMut(Event),
    ) -> Result<(), Error> {
        let Some(([host, server], deeper)) = pairs.split_first() else {
            return Ok(());
        };
        for tier in d.tiers.iter_mut().filter(|t| t.below.is_some()) {
            if self.at_both_ends(host, server, tier, events)?.is_none() {
                continue;
            }
            let pair = Captures::Sides {
                client: host.clone(),
                server: server.clone(),
            };
            let mut both = self.by_tiers(&pair, events)?.diagnosis;
            self.put_beneath(&mut both, deeper, events)?;
            tier.below = Some(Box::new(both));
            return Ok(());
        }
        pairs.iter().for_each(|[_, files]| leave_out(d, files));
        Ok(())
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
            peers: Vec::new(),
            filter: Filter::parse(&asked).ok(),
            ..self.config.unnoted()
        };
        let ends = Captures::Sides {
            client: host.to_vec(),
            server: server.to_vec(),
        };
        let read = ReadOptions::new(&config).as_is_best(&ends, events)?;
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
        let given = self.config;
        let app = given.app.clone();
        let app = app.filter(|app| !is_client || app.names_clients());
        let server_app = given.server_app.clone().filter(|_| is_client);
        let is_less = !firsts.is_empty()
            || app.is_none() && given.app.is_some()
            || server_app.is_none() && given.server_app.is_some();
        let config = Config {
            hosts: others.into(),
            app,
            server_app,
            ..given.clone()
        };
        let read = ReadOptions {
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

/// Says of a capture of a server beneath that nothing is made of it.
fn leave_out(d: &mut Diagnosis, files: &[PathBuf]) {
    let file = files.first().map(|f| f.display().to_string());
    d.notes.push(text!(
        "{file} was left out: what is asked there is no part of the work that could be told.",
        file = Value::File(file.unwrap_or_default().into())
    ));
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
