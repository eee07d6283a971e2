//! The service time behind throughputs at several round trip times, for programs, `slowside.fit/1`, and for people.

use crate::text::{Grid, tight, wrap};
use analysis::whatif::{Fit, Point};
use model::format_duration;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes what throughputs at several round trip times say of the service time, and what it would be
/// at another.
///
/// # Errors
/// Those of `out`.
pub fn fit_text(
    points: &[Point],
    fit: Option<&Fit>,
    rtt_ns: Option<i64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let services: Vec<i64> = points.iter().map(Point::service_ns).collect();
    let ends = services.iter().min().zip(services.iter().max());
    let mut text = match ends {
        Some((low, high)) if low == high => {
            format!("The service takes {} a transaction", format_duration(*low))
        }
        Some((low, high)) => format!(
            "The service takes {} to {} a transaction",
            format_duration(*low),
            format_duration(*high)
        ),
        None => String::new(),
    };
    text.push_str(", at one round trip each.");
    if services.iter().any(|&ns| ns < 0) {
        text.push_str(" Less than nothing: so many a second were not sent one after the other.");
    }
    text = wrap("", 0, &text);
    if let Some(f) = fit {
        text.push_str(&wrap(
            "",
            0,
            &format!(
                "Best line: {} of service and {:.2} round trips, at most {:.1} % beside a measured \
                 throughput.",
                format_duration(f.service_ns),
                f.trips,
                f.worst_error * 100.0
            ),
        ));
    } else if points.len() > 1 {
        text.push_str("No straight line fits: something else than the path differs.\n");
    }
    let mut rows = vec![
        ["RTT", "measured/s", "service", "model/s"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let model = |rtt| match fit {
        Some(f) => format!("{:.0}", Point::at(f.service_ns, f.trips, rtt)),
        None => "-".to_owned(),
    };
    rows.extend(points.iter().map(|p| {
        vec![
            tight(p.rtt_ns),
            format!("{:.0}", p.throughput),
            tight(p.service_ns()),
            model(p.rtt_ns),
        ]
    }));
    if let Some(rtt) = rtt_ns {
        rows.push(vec![tight(rtt), "-".into(), "-".into(), model(rtt)]);
    }
    text.push('\n');
    text.push_str(&Grid::fitting(rows).text());
    text.push_str("\nModel: throughput = 1 / (service + round trips × RTT)\n");
    out.write_all(text.as_bytes())
}

/// Writes the same as JSON, `slowside.fit/1`.
///
/// # Errors
/// Those of `out`.
pub fn fit_json(
    points: &[Point],
    fit: Option<&Fit>,
    rtt_ns: Option<i64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let model = |rtt| fit.map(|f| Point::at(f.service_ns, f.trips, rtt));
    let measured: Vec<Value> = points
        .iter()
        .map(|p| {
            json!({
                "throughput_per_second": p.throughput,
                "rtt_ns": p.rtt_ns,
                "service_ns": p.service_ns(),
                "model_per_second": model(p.rtt_ns),
            })
        })
        .collect();
    let value = json!({
        "schema": "slowside.fit/1",
        "points": measured,
        "service_ns": fit.map(|f| f.service_ns),
        "round_trips": fit.map(|f| f.trips),
        "worst_error_ppm": fit.map(|f| (f.worst_error * 1e6) as i64),
        "rtt_ns": rtt_ns,
        "predicted_per_second": rtt_ns.and_then(model),
    });
    crate::value::write(out, &value)?;
    out.write_all(b"\n")
}
