//! Throughputs at several round trip times into the service time behind them.
//!
//! A client that sends one transaction after the other does `1 / (service + trips × RTT)` of them a
//! second, so that the time of one, `1 / throughput`, is a straight line over the round trip time: its
//! height at no distance is the service, its slope the round trips of a transaction.

/// One measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Transactions a second.
    pub throughput: f64,
    pub rtt_ns: i64,
}

impl Point {
    fn each_ns(&self) -> f64 {
        1e9 / self.throughput
    }

    /// What is left for the service when a transaction takes one round trip.
    #[must_use]
    pub fn service_ns(&self) -> i64 {
        (self.each_ns() - self.rtt_ns as f64).round() as i64
    }

    /// The throughput of a client with this service and one round trip.
    #[must_use]
    pub fn at(service_ns: i64, trips: f64, rtt_ns: i64) -> f64 {
        1e9 / (service_ns as f64 + trips * rtt_ns as f64).max(1.0)
    }
}

/// The straight line through the points, by least squares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    pub service_ns: i64,
    pub trips: f64,
    /// How far the throughput of the fit is from a measured one at most, in parts of it.
    pub worst_error: f64,
}

/// Fits the model. `None`: fewer than two different round trip times, or no line that can be (a
/// negative service or slope).
#[must_use]
pub fn fit(points: &[Point]) -> Option<Fit> {
    let n = points.len() as f64;
    let mean = |get: fn(&Point) -> f64| points.iter().map(get).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.rtt_ns as f64), mean(Point::each_ns));
    let (mut spread, mut common) = (0.0, 0.0);
    for p in points {
        let dx = p.rtt_ns as f64 - x;
        spread += dx * dx;
        common += dx * (p.each_ns() - y);
    }
    if points.len() < 2 || spread <= 0.0 {
        return None;
    }
    let trips = common / spread;
    let service = y - trips * x;
    if trips <= 0.0 || service < 0.0 {
        return None;
    }
    let service_ns = service.round() as i64;
    let error =
        |p: &Point| (Point::at(service_ns, trips, p.rtt_ns) - p.throughput).abs() / p.throughput;
    Some(Fit {
        service_ns,
        trips,
        worst_error: points.iter().map(error).fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published: 2356, 1567 and 854 transactions a second at 0.021, 0.161 and 0.685 ms, which is 0.40
    /// to 0.49 ms of service each.
    #[test]
    fn published_throughputs_have_the_published_service() {
        let points = [(2356.0, 21_000), (1567.0, 161_000), (854.0, 685_000)]
            .map(|(throughput, rtt_ns)| Point { throughput, rtt_ns });
        let services = points.map(|p| p.service_ns());
        assert_eq!(services, [403_448, 477_162, 485_960]);
        let fit = fit(&points).expect("a line");
        assert!((400_000..490_000).contains(&fit.service_ns), "{fit:?}");
        assert!((0.9..1.2).contains(&fit.trips), "{fit:?}");
        assert!(fit.worst_error < 0.1, "{fit:?}");
    }

    #[test]
    fn points_without_a_line_have_no_fit() {
        let point = |throughput, rtt_ns| Point { throughput, rtt_ns };
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[point(100.0, 1_000)]), None);
        assert_eq!(fit(&[point(100.0, 1_000), point(90.0, 1_000)]), None);
        // Faster over the longer path.
        assert_eq!(fit(&[point(100.0, 1_000), point(200.0, 2_000_000)]), None);
    }
}
