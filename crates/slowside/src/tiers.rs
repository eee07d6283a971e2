//! Captures of a host that works for others into two diagnoses: of what it does for them, and of its own calls.
//!
//! That it does so is known when the captures were read; then they are read again for each.

use crate::Error;
use crate::config::{Captures, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use analysis::compare::KeptTier;
use analysis::results::{Diagnosis, OpResult, TierResult};
use analysis::tiers::Only;
use model::limits;
use std::net::IpAddr;

/// Of so many hosts, those that most time lies beneath, the own calls are judged: the captures are read for each.
const JUDGED: usize = 3;

/// All calls of captures, and where hosts work for others with calls of their own, what they do for them apart.
pub(crate) struct ByTiers {
    pub(crate) all: Diagnosed,
    pub(crate) work: Option<Work>,
}

/// What hosts do for others.
pub(crate) struct Work {
    pub(crate) judged: Diagnosed,
    /// The addresses of the host of each tier, and whether what is judged is its work.
    addresses: Vec<Vec<IpAddr>>,
    shown: Vec<bool>,
}

impl ReadOptions<'_> {
    /// As is best, and where a host works for others with calls of its own: what it does for them, and its own calls
    /// apart.
    pub(crate) fn by_tiers(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let ByTiers { all, work } = self.work(captures, events)?;
        match work {
            None => Ok(all),
            Some(work) => self.with_beneath(&all, work, events),
        }
    }

    /// All calls, and what hosts do for others, if any works so.
    pub(crate) fn work(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<ByTiers, Error> {
        let all = self.as_is_best(captures, events)?;
        // Who says that it is the client's capture asks about its own calls.
        let is_asked = matches!(captures, Captures::Client(_));
        if is_asked || self.config.filter.is_some() || captures.are_piped() {
            return Ok(ByTiers { all, work: None });
        }
        let own = all.diagnosis.own.clone();
        let read = ReadOptions {
            own: Some(&own),
            ..*self
        };
        let all = match own.iter().all(Vec::is_empty) {
            true => all,
            false => {
                let mut of_one_host = read.as_is_best(captures, events)?;
                // As one host it is asked and asks at one address.
                of_one_host.diagnosis.own.clone_from(&own);
                match of_one_host.diagnosis.tiers.is_empty() {
                    true => all,
                    false => of_one_host,
                }
            }
        };
        let tiers = &all.diagnosis.tiers;
        if tiers.is_empty() {
            return Ok(ByTiers { all, work: None });
        }
        // Of two captures, a client's does not show what it does for others: what both show are its own calls.
        let is_shown = |t: &TierResult| with(&all, t, Role::Asked) == all.captures;
        let addresses = tiers
            .iter()
            .map(|t| match own[t.capture].contains(&t.tier.host) {
                true => own[t.capture].clone(),
                false => vec![t.tier.host],
            });
        let addresses: Vec<Vec<IpAddr>> = addresses.collect();
        let of = |shown: bool| -> Vec<IpAddr> {
            let those = tiers.iter().zip(&addresses);
            let those = those.filter(|(t, _)| is_shown(t) == shown);
            those.flat_map(|(_, own)| own.clone()).collect()
        };
        let work = Only {
            hosts: of(true),
            are_theirs: false,
            not_to: of(false),
            pass_on: false,
        };
        let hosts = [0, 1].map(|which| {
            let own = tiers.iter().filter(|t| t.capture == which && is_shown(t));
            own.map(|t| t.tier.host).collect::<Vec<IpAddr>>()
        });
        let shown = tiers.iter().map(is_shown).collect();
        let judged = ReadOptions {
            only: Some(&work),
            at_work: Some(&hosts),
            ..read
        }
        .as_is_best(captures, events)?;
        // Of two captures nothing is left without the calls to such a host, if what they share is no call.
        let are_two = judged.diagnosis.captures.len() == 2;
        if are_two && !work.not_to.is_empty() && !has_both(&judged.diagnosis) {
            return Ok(ByTiers { all, work: None });
        }
        let work = Some(Work {
            judged,
            addresses,
            shown,
        });
        Ok(ByTiers { all, work })
    }

    /// What hosts do for others, with diagnoses of their own calls.
    fn with_beneath(
        &self,
        all: &Diagnosed,
        work: Work,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let own = &all.diagnosis.own;
        let tiers = &all.diagnosis.tiers;
        let mut whole = work.judged;
        // What others noted is of the work.
        let config = self.config.unnoted();
        // What lies beneath each call says more of them.
        let better = std::mem::replace(&mut whole.diagnosis.tiers, tiers.clone());
        for t in &mut whole.diagnosis.tiers {
            let same = |b: &&TierResult| (b.capture, b.tier.host) == (t.capture, t.tier.host);
            if let Some(better) = better.iter().find(same) {
                t.tier = better.tier.clone();
            }
        }
        // Who looks names up waits for an answer or for none, who copies for a confirmation: there is nothing to judge.
        let unjudged = |t: &TierResult| KeptTier {
            tier: t.tier.clone(),
            own: None,
        };
        let saved = whole.diagnosis.tiers.iter().take(limits::SAVED_TIERS);
        let mut kept: Vec<KeptTier> = saved.map(unjudged).collect();
        let judged = whole.diagnosis.tiers.iter_mut().zip(&work.shown);
        let judged = judged.map(|(t, is_shown)| (t.tier.calls > 0 && *is_shown, t));
        let judged = judged.enumerate().filter(|(_, (is_judged, _))| *is_judged);
        for (i, (_, tier)) in judged.take(JUDGED) {
            let own_calls = Only {
                hosts: work.addresses.get(i).cloned().unwrap_or_default(),
                are_theirs: true,
                not_to: Vec::new(),
                pass_on: tier.tier.passes_on(),
            };
            let beneath = ReadOptions {
                config: &config,
                charts: false,
                only: Some(&own_calls),
                own: Some(own),
                ..*self
            };
            let judged = beneath.as_is_best(&with(all, tier, Role::Asks), events)?;
            if let Some(kept) = kept.get_mut(i) {
                kept.own = judged.kept.map(|own| own.whole);
            }
            tier.below = Some(Box::new(judged.diagnosis));
        }
        if let Some(whole) = &mut whole.kept {
            whole.tiers = kept;
        }
        Ok(whole)
    }
}

/// What a host does: it is asked by its clients, or asks others.
#[derive(Clone, Copy)]
enum Role {
    Asked = 0,
    Asks = 1,
}

/// Whether any call is in both captures.
pub(crate) fn has_both(d: &Diagnosis) -> bool {
    let is_same = |op: &OpResult| op.matched.as_ref().is_some_and(|m| m.count > 0);
    d.ops.iter().any(is_same)
}

/// The captures that show a host in this role: of two the other one may show nothing of it.
fn with(d: &Diagnosed, t: &TierResult, role: Role) -> Captures {
    let are_two = d.diagnosis.captures.len() == 2;
    match are_two && t.seen[1 - t.capture][role as usize] == 0 {
        true => Captures::One(d.captures.lists()[t.capture].to_vec()),
        false => d.captures.clone(),
    }
}
