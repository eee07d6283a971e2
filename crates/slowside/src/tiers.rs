//! Captures of a host that works for others into two diagnoses: of what it does for them, and of its own calls.
//!
//! That it does so is known when the captures were read; then they are read again for each.

use crate::Error;
use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use analysis::compare::KeptTier;
use analysis::results::TierResult;
use analysis::tiers::Only;
use model::limits;
use std::net::IpAddr;
use std::sync::Arc;

/// Of so many hosts, those that most time lies beneath, the own calls are judged: the captures are read for each.
const JUDGED: usize = 3;

impl ReadOptions<'_> {
    /// As is best, and where a host works for others with calls of its own: what it does for them, and its own calls
    /// apart.
    pub(crate) fn by_tiers(
        &self,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Diagnosed, Error> {
        let d = self.as_is_best(captures, events)?;
        // Who says that it is the client's capture asks about its own calls.
        let is_asked = matches!(captures, Captures::Client(_));
        if is_asked || self.config.filter.is_some() || captures.are_piped() {
            return Ok(d);
        }
        let own = d.diagnosis.own.clone();
        let read = ReadOptions {
            own: Some(&own),
            ..*self
        };
        let d = match own.iter().all(Vec::is_empty) {
            true => d,
            false => {
                let of_one_host = read.as_is_best(captures, events)?;
                match of_one_host.diagnosis.tiers.is_empty() {
                    true => d,
                    false => of_one_host,
                }
            }
        };
        let tiers = &d.diagnosis.tiers;
        let shows_work = |t: &TierResult| with(&d, t, Role::Asked) == d.captures;
        if tiers.is_empty() || !tiers.iter().all(shows_work) {
            return Ok(d);
        }
        let addresses = |t: &TierResult| -> Vec<IpAddr> {
            match own[t.capture].contains(&t.tier.host) {
                true => own[t.capture].clone(),
                false => vec![t.tier.host],
            }
        };
        let work = Only {
            hosts: tiers.iter().flat_map(addresses).collect(),
            are_theirs: false,
            pass_on: false,
        };
        let mut whole = ReadOptions {
            only: Some(&work),
            ..read
        }
        .as_is_best(captures, events)?;
        // What others noted is of the work.
        let config = Config {
            server_app: None,
            hosts: Arc::default(),
            ..self.config.clone()
        };
        whole.diagnosis.tiers.clone_from(tiers);
        // Who looks names up waits for an answer or for none, who copies for a confirmation: there is nothing to judge.
        let unjudged = |t: &TierResult| KeptTier {
            tier: t.tier.clone(),
            own: None,
        };
        let saved = tiers.iter().take(limits::SAVED_TIERS);
        let mut kept: Vec<KeptTier> = saved.map(unjudged).collect();
        let judged = whole.diagnosis.tiers.iter_mut().enumerate();
        for (i, tier) in judged.filter(|(_, t)| t.tier.calls > 0).take(JUDGED) {
            let own_calls = Only {
                hosts: addresses(tier),
                are_theirs: true,
                pass_on: tier.tier.passes_on(),
            };
            let beneath = ReadOptions {
                app: None,
                config: &config,
                charts: false,
                only: Some(&own_calls),
                ..read
            };
            let judged = beneath.as_is_best(&with(&d, tier, Role::Asks), events)?;
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

/// The captures that show a host in this role: of two the other one may show nothing of it.
fn with(d: &Diagnosed, t: &TierResult, role: Role) -> Captures {
    let are_two = d.diagnosis.captures.len() == 2;
    match are_two && t.seen[1 - t.capture][role as usize] == 0 {
        true => Captures::One(d.captures.lists()[t.capture].to_vec()),
        false => d.captures.clone(),
    }
}
