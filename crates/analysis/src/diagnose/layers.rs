//! Rows of hosts and calls of captures into layers of the same operations, outermost first.
//!
//! Rows may be of other kinds than calls are: a server's log has its flushes, a capture its lookups. All layers tell of
//! the kinds that every row file names, reads and writes before others.

use super::Diagnoser;
use super::noted::Noted;
use super::seen::Seen;
use crate::app::{ByKind, Compared, ComparedBy, KINDS, Spread, kind_of_op};
use crate::results::{HostResult, Layer, LayerBounds, LayerOf, LayerSource, OpResult, Side};
use crate::stats::Distribution;
use trace::{Application, OperationKind};

const DATA: [OperationKind; 2] = [OperationKind::Read, OperationKind::Write];

impl Diagnoser {
    /// None where nobody's own times were used.
    pub(super) fn layers(
        &self,
        seen: &Seen,
        ops: &[OpResult],
        noted: &Noted,
        hosts: &[HostResult],
    ) -> Vec<Layer> {
        let (app, server) = (noted.app.as_ref(), noted.server.as_ref());
        let rows: Vec<&Compared> = app.into_iter().chain(server).collect();
        let given = self.options.server_app.as_ref();
        let disks = given.and_then(|given| given.disks.as_deref());
        let counted = disks_counted(hosts);
        if rows.is_empty() && disks.is_none() && counted.is_none() {
            return Vec::new();
        }
        let mut kinds = common_kinds(&rows);
        if self.wire(seen.main(), &kinds).count() == 0 {
            kinds = KINDS.to_vec();
        }
        let mut layers = Vec::new();
        layers.extend(app.map(|app| of_rows(app, &kinds, outermost(app))));
        if let Some(kernel) = &noted.kernel {
            let kernel = of_rows(kernel, &kinds, LayerOf::ClientKernel);
            // It lies between: what is above it is the application's own.
            for outer in &mut layers {
                outer.beyond_next_ns = Some((outer.mean_ns - kernel.mean_ns).max(0));
                outer.beyond_next = None;
            }
            layers.push(kernel);
        }
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
            if let Some(outer) = layers.last_mut().filter(|l| is_wire(l.layer)) {
                (outer.beyond_next_ns, outer.beyond_next) =
                    (inner.beyond_next_ns, inner.beyond_next);
            }
            layers.push(innermost(inner));
        }
        // Of a call one I/O or many, or none: nothing is said of what lies between.
        layers.extend(disks.and_then(|disks| of_disks(disks, &kinds)).or(counted));
        // An application above no wire that is shown takes nothing beyond it.
        if !layers.iter().any(|l| is_wire(l.layer)) {
            layers = layers.into_iter().map(innermost).collect();
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
        bounds: None,
        beyond_next_ns: None,
        beyond_next: None,
    }
}

/// Of which nobody says what lies between it and a next one.
fn innermost(layer: Layer) -> Layer {
    Layer {
        beyond_next_ns: None,
        beyond_next: None,
        ..layer
    }
}

/// What the server's system counted of its disks.
fn disks_counted(hosts: &[HostResult]) -> Option<Layer> {
    let server = hosts.iter().filter(|h| h.side == Some(Side::Server));
    let (host, sum) = server
        .filter_map(|h| Some((h, h.disks?)))
        .max_by_key(|(_, d)| d.operations)?;
    let disks = match sum.disks {
        1 => "a disk".to_owned(),
        n => format!("{n} disks"),
    };
    let tools: Vec<&str> = host
        .tools
        .iter()
        .copied()
        .filter(|t| matches!(*t, "iostat" | "sar" | "sadf"))
        .collect();
    Some(Layer {
        layer: LayerOf::Disk,
        source: LayerSource::Rows(format!("{} of {disks}", tools.join(", "))),
        calls: sum.operations,
        joined: None,
        mean_ns: sum.mean_ns,
        p50_ns: None,
        p99_ns: None,
        bounds: None,
        beyond_next_ns: None,
        beyond_next: None,
    })
}

/// Of operations whose steps are known.
fn of_steps(layer: LayerOf, source: LayerSource, spread: &Spread) -> Layer {
    let mean = spread.mean();
    let quantiles = spread.quantile(0.5).zip(spread.quantile(0.99));
    Layer {
        layer,
        source,
        calls: spread.count(),
        joined: None,
        mean_ns: mean.middle_ns(),
        bounds: quantiles.map(|(p50, p99)| LayerBounds { mean, p50, p99 }),
        p50_ns: None,
        p99_ns: None,
        beyond_next_ns: None,
        beyond_next: None,
    }
}

/// The disks' own I/Os.
fn of_disks(disks: &Application, kinds: &[OperationKind]) -> Option<Layer> {
    let source = LayerSource::Rows(disks.format.clone());
    if !disks.histograms.is_empty() {
        let spread = Spread::of(&disks.histograms, kinds);
        return Some(of_steps(LayerOf::Disk, source, &spread));
    }
    let mut own = ByKind::default();
    for o in &disks.operations {
        own.add(o.kind, o.end_ns.saturating_sub(o.start_ns));
    }
    let (wanted, all) = (own.of(kinds), own.all());
    let times = if wanted.count() > 0 { wanted } else { all };
    (times.count() > 0).then(|| layer_of(LayerOf::Disk, source, &times))
}

/// Of rows; `beyond_next_ns` is what lies between them and their calls, whichever encloses the other.
fn of_rows(rows: &Compared, kinds: &[OperationKind], layer: LayerOf) -> Layer {
    let (facts, source) = (&rows.facts, LayerSource::Rows(rows.source.clone()));
    let (own, between) = (rows.own.of(kinds), rows.between.of(kinds));
    if !rows.histograms.is_empty() {
        return Layer {
            beyond_next: facts.bounds.map(|b| b.between),
            ..of_steps(layer, source, &Spread::of(&rows.histograms, kinds))
        };
    }
    if own.count() == 0 {
        return Layer {
            layer,
            source,
            calls: facts.operations,
            joined: (facts.matched > 0).then_some(facts.matched),
            mean_ns: facts.application_mean_ns,
            bounds: None,
            p50_ns: None,
            p99_ns: None,
            beyond_next_ns: Some(facts.host_mean_ns),
            beyond_next: None,
        };
    }
    Layer {
        joined: Some(between.count()),
        beyond_next_ns: (between.count() > 0).then(|| between.mean_ns()),
        ..layer_of(layer, source, &own)
    }
}
