//! Rows of hosts and calls of captures into layers of the same operations, outermost first.
//!
//! Rows may be of other kinds than calls are: a server's log has its flushes, a capture its lookups. All layers tell of
//! the kinds that every row file names, reads and writes before others.

use super::Diagnoser;
use super::seen::Seen;
use crate::app::{Compared, ComparedBy, KINDS, kind_of_op};
use crate::results::{Layer, LayerOf, LayerSource, OpResult};
use crate::stats::Distribution;
use trace::OperationKind;

const DATA: [OperationKind; 2] = [OperationKind::Read, OperationKind::Write];

impl Diagnoser {
    /// None where nobody's own times were used.
    pub(super) fn layers(
        &self,
        seen: &Seen,
        ops: &[OpResult],
        app: Option<&Compared>,
        server: Option<&Compared>,
    ) -> Vec<Layer> {
        let rows: Vec<&Compared> = app.into_iter().chain(server).collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let mut kinds = common_kinds(&rows);
        if self.wire(seen.main(), &kinds).count() == 0 {
            kinds = KINDS.to_vec();
        }
        let mut layers = Vec::new();
        layers.extend(app.map(|app| of_rows(app, &kinds, outermost(app))));
        let [mut matched, mut apart] = [0i128; 2];
        for op in ops.iter().filter(|o| kinds.contains(&kind_of_op(&o.op))) {
            if let Some(m) = &op.matched {
                matched += i128::from(m.count);
                apart += i128::from(m.count) * i128::from(m.difference_mean_ns);
            }
        }
        let are_two = self.captures.len() == 2;
        for (layer, capture) in [
            (LayerOf::ClientWire, seen.client),
            (LayerOf::ServerWire, seen.server),
        ] {
            let Some(capture) = capture else { continue };
            let times = self.wire(capture, &kinds);
            if times.count() == 0 {
                continue;
            }
            layers.push(Layer {
                joined: are_two.then_some(matched as u64),
                beyond_next_ns: match layer {
                    LayerOf::ClientWire if are_two && matched > 0 => {
                        Some((apart / matched.max(1)) as i64)
                    }
                    _ => None,
                },
                ..layer_of(layer, LayerSource::Capture(capture), &times)
            });
        }
        if let Some(server) = server {
            let inner = of_rows(server, &kinds, LayerOf::ServerOperation);
            // What lies between belongs to the layer that encloses it.
            let beyond = inner.beyond_next_ns;
            if let Some(outer) = layers.last_mut().filter(|l| is_wire(l.layer)) {
                outer.beyond_next_ns = beyond;
            }
            layers.push(Layer {
                beyond_next_ns: None,
                ..inner
            });
        }
        // An application above no wire that is shown takes nothing beyond it.
        if !layers.iter().any(|l| is_wire(l.layer)) {
            layers.iter_mut().for_each(|l| l.beyond_next_ns = None);
        }
        layers
    }

    /// Response times of the calls of these kinds, as a capture has them.
    fn wire(&self, capture: usize, kinds: &[OperationKind]) -> Distribution {
        let mut times = Distribution::default();
        let ops = self.captures[capture].ops.iter().enumerate();
        for (op, facts) in ops.filter(|(op, _)| *op < self.ops.len()) {
            let (_, name) = self.ops.name(op as u16);
            if kinds.contains(&kind_of_op(name.as_str())) {
                times.merge(&facts.response);
            }
        }
        times
    }
}

fn is_wire(layer: LayerOf) -> bool {
    matches!(layer, LayerOf::ClientWire | LayerOf::ServerWire)
}

/// What the client's own system counted lies below its applications.
fn outermost(app: &Compared) -> LayerOf {
    match app.facts.by {
        ComparedBy::Queue => LayerOf::ClientKernel,
        _ => LayerOf::Application,
    }
}

/// What all rows tell of.
fn common_kinds(rows: &[&Compared]) -> Vec<OperationKind> {
    let told = |rows: &Compared, kind: OperationKind| {
        let kinds = &rows.kinds;
        let any = kinds.is_empty() || kinds.contains(&OperationKind::Unsaid);
        kinds.contains(&kind) || any && DATA.contains(&kind)
    };
    let common = |kind: &OperationKind| rows.iter().all(|r| told(r, *kind));
    let mut kinds: Vec<OperationKind> = KINDS.into_iter().filter(common).collect();
    if kinds.iter().any(|k| DATA.contains(k)) {
        kinds.retain(|k| DATA.contains(k));
    }
    match kinds.is_empty() {
        true => KINDS.to_vec(),
        false => kinds,
    }
}

fn layer_of(layer: LayerOf, source: LayerSource, times: &Distribution) -> Layer {
    Layer {
        layer,
        source,
        calls: times.count(),
        joined: None,
        mean_ns: times.mean_ns(),
        p50_ns: Some(times.quantile(0.5)),
        p99_ns: Some(times.quantile(0.99)),
        beyond_next_ns: None,
    }
}

/// Of rows; `beyond_next_ns` is what lies between them and their calls, whichever encloses the other.
fn of_rows(rows: &Compared, kinds: &[OperationKind], layer: LayerOf) -> Layer {
    let (facts, source) = (&rows.facts, LayerSource::Rows(rows.source.clone()));
    let (own, between) = (rows.own.of(kinds), rows.between.of(kinds));
    if own.count() == 0 {
        return Layer {
            layer,
            source,
            calls: facts.operations,
            joined: (facts.matched > 0).then_some(facts.matched),
            mean_ns: facts.application_mean_ns,
            p50_ns: None,
            p99_ns: None,
            beyond_next_ns: Some(facts.host_mean_ns),
        };
    }
    Layer {
        joined: Some(between.count()),
        beyond_next_ns: (between.count() > 0).then(|| between.mean_ns()),
        ..layer_of(layer, source, &own)
    }
}
