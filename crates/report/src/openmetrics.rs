//! Counts into OpenMetrics text (version 1.0.0), which Prometheus and its like gather. The exposition itself, its order,
//! escapes and numbers, is the Prometheus project's own.

use crate::families::{self, About, Exposition, Labels, expose, seconds};
use analysis::metrics::{BOUNDS_NS, MetricsResult, Times};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, MetricEncoder, NoLabelSet, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::io::{self, Write};

/// What is said to whom it is sent over HTTP.
pub const OPENMETRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes OpenMetrics text.
///
/// # Errors
/// Those of `out`.
pub fn openmetrics(result: MetricsResult, out: &mut dyn Write) -> io::Result<()> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exposed(result)));
    let mut text = String::new();
    // Nothing fails that writes into memory.
    text::encode(&mut text, &registry).map_err(io::Error::other)?;
    out.write_all(text.as_bytes())
}

#[derive(Debug)]
struct Exposed(MetricsResult);

impl Collector for Exposed {
    fn encode(&self, to: DescriptorEncoder<'_>) -> fmt::Result {
        expose(&self.0, &mut Text(to))
    }
}

struct Text<'a>(DescriptorEncoder<'a>);

impl Text<'_> {
    fn family(&mut self, about: About, kind: MetricType) -> Result<MetricEncoder<'_>, fmt::Error> {
        let unit = match about.unit {
            families::Unit::None => None,
            families::Unit::Seconds => Some(&Unit::Seconds),
            families::Unit::Bytes => Some(&Unit::Bytes),
        };
        self.0.encode_descriptor(about.name, about.help, unit, kind)
    }

    fn each<V: EncodeGaugeValue>(
        &mut self,
        about: About,
        rows: impl Iterator<Item = (Labels, V)>,
    ) -> fmt::Result {
        let mut family = self.family(about, MetricType::Gauge)?;
        for (labels, value) in rows {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }
}

impl Exposition for Text<'_> {
    type Error = fmt::Error;

    fn counters(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        let mut family = self.family(about, MetricType::Counter)?;
        for (labels, value) in rows {
            let mut one = family.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, u64, f64>(&value, None)?;
        }
        Ok(())
    }

    fn durations(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> fmt::Result {
        let mut family = self.family(about, MetricType::Counter)?;
        for (labels, ns) in rows {
            let mut one = family.encode_family(&labels)?;
            one.encode_counter::<NoLabelSet, f64, f64>(&seconds(ns), None)?;
        }
        Ok(())
    }

    fn gauges(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> fmt::Result {
        self.each(about, rows)
    }

    fn moments(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> fmt::Result {
        self.each(about, rows.map(|(labels, ns)| (labels, seconds(ns))))
    }

    fn histograms(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, &Times)>,
    ) -> fmt::Result {
        let mut family = self.family(about, MetricType::Histogram)?;
        for (labels, times) in rows {
            histogram(family.encode_family(&labels)?, times)?;
        }
        Ok(())
    }
}

fn histogram(mut one: MetricEncoder<'_>, times: &Times) -> fmt::Result {
    let bounds = BOUNDS_NS.iter().map(|ns| seconds(*ns));
    let bounds = bounds.chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(times.counts).collect();
    one.encode_histogram::<NoLabelSet>(seconds(times.sum_ns), times.count(), &buckets, None)
}

#[cfg(test)]
pub(crate) mod tests;
