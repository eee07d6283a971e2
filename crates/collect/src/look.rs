//! Two ends that were named, and hosts between them, into what is found there: reached, asked what they are and have, held
//! against our clock, and asked for their way to each other. Nothing is changed on any.

use crate::clock;
use crate::facts::{Facts, Path, facts_script};
use crate::plan::{self, Addresses, Asked, Found, Note, Plan, Problem, Side};
use crate::reach::{Failure, Reach, Talk};
use crate::{Error, Event, everywhere};
use std::net::IpAddr;
use std::time::Duration;

/// What asks a host something takes so long at most.
const SOON: Duration = Duration::from_secs(30);

/// What a shell that stays answers; one line, as login shells take no more.
const ANSWERS: &str = "while read -r q d; do case $q in time) date +%s.%N;; state) cat \"$d/state\";; *) echo unknown;; esac; done";

/// An end that was reached.
pub(crate) struct Host {
    pub(crate) side: Side,
    pub(crate) place: String,
    pub(crate) reach: Reach,
    /// A shell that stays there.
    pub(crate) talk: Option<Talk>,
    pub(crate) found: Found,
    /// Its own folder there, once it has one.
    pub(crate) folder: Option<String>,
}

impl Host {
    /// The line that answers a line, by the shell that stays, which is begun again where it has ended.
    pub(crate) fn ask(&mut self, line: &str, within: Duration) -> Result<String, Failure> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => self.reach.talk(ANSWERS)?,
        };
        let answer = talk.ask(line, within)?;
        self.talk = Some(talk);
        Ok(answer)
    }

    /// Its clock against ours, now.
    pub(crate) fn clock(&mut self) -> Option<clock::Offset> {
        let mut talk = match self.talk.take() {
            Some(talk) => talk,
            None => self.reach.talk(ANSWERS).ok()?,
        };
        let offset = clock::measure(&mut talk).ok()?;
        self.talk = Some(talk);
        offset
    }
}

/// Ends that were reached, and what is to be done there.
pub struct Ready {
    pub plan: Plan,
    pub(crate) hosts: Vec<Host>,
}

/// Reaches all of them and plans. `folder` is private to this run.
///
/// # Errors
/// All that is missing, of all of them.
pub fn look(
    asked: &Asked,
    folder: &std::path::Path,
    tell: &mut dyn FnMut(Event),
) -> Result<Ready, Error> {
    let mut problems = Vec::new();
    let mut reached = Vec::new();
    // One after another: each may ask for a password.
    for side in asked.sides() {
        tell(Event::Reaching(side));
        match Reach::open(asked.place(side), &asked.ssh, folder) {
            Ok(reach) => reached.push((side, reach)),
            Err(why) => problems.push(plan::of(
                asked,
                side,
                &format!("it cannot be reached ({why})"),
                cure(asked, side),
            )),
        }
    }
    let mut found = everywhere(&mut reached, tell, |(side, reach), _| {
        facts(asked, *side, reach)
    })?;
    let mut hosts = Vec::new();
    for ((side, mut reach), facts) in reached.into_iter().zip(found.drain(..)) {
        match facts {
            Err(why) => problems.push(plan::of(
                asked,
                side,
                &format!("it does not say what it has ({why})"),
                "try a shell there",
            )),
            Ok(facts) => {
                if asked.sudo {
                    reach.with_sudo();
                }
                hosts.push(Host {
                    side,
                    place: asked.place(side).to_string(),
                    reach,
                    talk: None,
                    found: Found {
                        side,
                        facts,
                        path: None,
                        clock: None,
                    },
                    folder: None,
                });
            }
        }
    }
    everywhere(&mut hosts, tell, |host, _| host.found.clock = host.clock())?;
    let mut notes = Vec::new();
    let addresses = ways(asked, &mut hosts, &mut notes, &mut problems);
    let found: Vec<Found> = hosts.iter().map(|h| h.found.clone()).collect();
    match plan::plan(asked, found, addresses, notes) {
        Ok(plan) if problems.is_empty() => Ok(Ready { plan, hosts }),
        Ok(_) => Err(Error::Missing(problems)),
        Err(more) => {
            problems.extend(more);
            problems.sort_by_key(|p| p.side);
            Err(Error::Missing(problems))
        }
    }
}

fn cure(asked: &Asked, side: Side) -> &'static str {
    match asked.place(side).by() {
        "ssh" => "try ssh to it; --ssh gives it options, such as --ssh 'ssh -J bastion'",
        "docker" => "try docker exec",
        "kubectl" => "try kubectl exec",
        _ => "there is no /bin/sh",
    }
}

fn facts(asked: &Asked, side: Side, reach: &Reach) -> Result<Facts, Failure> {
    let other = match side {
        Side::Client | Side::Further(_) | Side::Between(_) => Side::Server,
        Side::Server => Side::Client,
    };
    let names: Vec<&str> = asked.place(other).host().into_iter().collect();
    let said = reach.run(&facts_script(&names, asked.folder.as_deref()), SOON)?;
    Ok(Facts::read(&said))
}

/// Asks the client for its way to the server, and then the server for its way back to the address that the client has
/// on it, and other clients and who is between them for theirs to the server.
fn ways(
    asked: &Asked,
    hosts: &mut [Host],
    notes: &mut Vec<Note>,
    problems: &mut Vec<Problem>,
) -> Addresses {
    let mut addresses = Addresses {
        client: asked.client_address,
        server: asked.server_address,
        port: asked.server.port,
    };
    let ends = hosts.iter().take(2).map(|h| h.side);
    let both = ends.eq([Side::Client, Side::Server]);
    let (true, [client, server, others @ ..]) = (both, &mut *hosts) else {
        // The one that was reached may still tell what it lacks.
        let peer = IpAddr::from([192, 0, 2, 1]);
        for host in hosts {
            let _ = way(asked, host, peer, addresses.port.unwrap_or(0), problems);
            // Of a way to nobody.
            if let Some(path) = &mut host.found.path {
                path.no_route = None;
                path.interface = path.interface.take().or_else(|| Some("any".to_owned()));
            }
        }
        return addresses;
    };
    addresses.server = plan::server_address(asked, &client.found.facts, &server.found.facts);
    let Some(theirs) = addresses.server else {
        problems.push(plan::of(
            asked,
            Side::Server,
            "its address was not found",
            "say it with --server-address",
        ));
        return addresses;
    };
    if let Some(path) = way(asked, client, theirs, addresses.port.unwrap_or(0), problems) {
        addresses.client = plan::client_address(asked, &client.found.facts, &path);
        match plan::port(asked, &path, theirs) {
            Ok((port, note)) => {
                addresses.port = Some(port);
                notes.extend(note);
            }
            Err(problem) => problems.push(problem),
        }
    }
    match addresses.client {
        None => problems.push(plan::of(
            asked,
            Side::Client,
            "its address was not found",
            "say it with --client-address",
        )),
        Some(ours) => {
            let _ = way(asked, server, ours, addresses.port.unwrap_or(0), problems);
        }
    }
    for host in others {
        let port = addresses.port.unwrap_or(0);
        let path = way(asked, host, theirs, port, problems);
        if let (Side::Further(_), Some(path)) = (host.side, path) {
            returns(asked, server, &host.found.facts, &path, port);
        }
    }
    addresses
}

/// Where the server answers another client by another interface than the first, it captures on any.
fn returns(asked: &Asked, server: &mut Host, client: &Facts, path: &Path, port: u16) {
    let Some(theirs) = path.source.or_else(|| client.own().next()) else {
        return;
    };
    let script = plan::path_script(asked, Side::Server, &server.found.facts, theirs, port);
    let back = server.reach.run(&script, SOON);
    let (Ok(said), Some(own)) = (back, &mut server.found.path) else {
        // It has said why when it was asked for the first.
        return;
    };
    let is_another = Path::read(&said).interface != own.interface;
    if is_another && asked.interface(Side::Server).is_none() {
        own.interface = Some("any".to_owned());
    }
}

fn way(
    asked: &Asked,
    host: &mut Host,
    peer: IpAddr,
    port: u16,
    problems: &mut Vec<Problem>,
) -> Option<Path> {
    let script = plan::path_script(asked, host.side, &host.found.facts, peer, port);
    match host.reach.run(&script, SOON) {
        Ok(said) => {
            let path = Path::read(&said);
            host.found.path = Some(path.clone());
            Some(path)
        }
        Err(why) => {
            let cure = match asked.sudo {
                true => "sudo must ask for no password there; or leave --sudo out",
                false => "try a shell there",
            };
            problems.push(plan::of(
                asked,
                host.side,
                &format!("it does not say what it may do ({why})"),
                cure,
            ));
            None
        }
    }
}
