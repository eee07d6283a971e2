//! Counts into families of metrics: their names, units and words, and which labels each sample has. In which form they
//! are written is an [`Exposition`]'s matter: all of them have the same families.
//!
//! Names only ever grow in number. Their units are base units: seconds and bytes.

use crate::harmless::harmless;
use crate::ops::key_text;
use analysis::findings::Rule;
use analysis::metrics::{
    CallCounts, CallsRow, LiveMetrics, MetricsResult, PacketCounts, ServerCounts, Times,
};
use analysis::results::{KeyValue, Side};
use jiff::tz::TimeZone;

pub(crate) type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    /// Things are counted.
    None,
    Seconds,
    Bytes,
}

/// A family's name, without its unit, and what it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) help: &'static str,
}

const fn about(name: &'static str, unit: Unit, help: &'static str) -> About {
    About { name, unit, help }
}

/// What families are written as. Rows are not types of their own: twenty of them would be twenty copies of each way to write.
pub(crate) trait Exposition {
    type Error;

    /// Counts that only grow.
    fn counters(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> Result<(), Self::Error>;

    /// Sums of nanoseconds, which only grow.
    fn durations(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> Result<(), Self::Error>;

    /// How many there are at present.
    fn gauges(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, u64)>,
    ) -> Result<(), Self::Error>;

    /// Points in time, in nanoseconds since the epoch.
    fn moments(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, i64)>,
    ) -> Result<(), Self::Error>;

    fn histograms(
        &mut self,
        about: About,
        rows: &mut dyn Iterator<Item = (Labels, &Times)>,
    ) -> Result<(), Self::Error>;
}

/// A count of calls, and where it stands.
type Count = (About, fn(&CallCounts) -> u64);

const COUNTS: [Count; 8] = [
    (
        about("slowside_calls", Unit::None, "Calls, those in part too."),
        |c| c.calls,
    ),
    (
        about(
            "slowside_errors",
            Unit::None,
            "Calls that the server answered with an error.",
        ),
        |c| c.errors,
    ),
    (
        about(
            "slowside_no_response",
            Unit::None,
            "Calls without a response.",
        ),
        |c| c.no_response,
    ),
    (
        about(
            "slowside_no_request",
            Unit::None,
            "Responses without a request.",
        ),
        |c| c.no_request,
    ),
    (
        about(
            "slowside_incomplete",
            Unit::None,
            "Calls that the capture cut.",
        ),
        |c| c.incomplete,
    ),
    (
        about(
            "slowside_retransmits",
            Unit::None,
            "Requests that their clients sent again.",
        ),
        |c| c.retransmits,
    ),
    (
        about("slowside_request", Unit::Bytes, "Bytes of requests."),
        |c| c.request_bytes,
    ),
    (
        about("slowside_response", Unit::Bytes, "Bytes of responses."),
        |c| c.response_bytes,
    ),
];

/// The same of times.
type Timed = (About, fn(&CallCounts) -> &Times);

const TIMED: [Timed; 3] = [
    (
        about(
            "slowside_response_time",
            Unit::Seconds,
            "From a request's first byte to its response's last, where packets were captured.",
        ),
        |c| &c.response_times,
    ),
    (
        about(
            "slowside_wait",
            Unit::Seconds,
            "Of the response time, from the request's last byte to the response's first: next to the server, the server's part; elsewhere with the path to it and back.",
        ),
        |c| &c.waits,
    ),
    (
        about(
            "slowside_transfer",
            Unit::Seconds,
            "Of the response time, in which request and response passed: the network's part, unless an end wrote or read slowly.",
        ),
        |c| &c.transfers,
    ),
];

/// The same of a server's connections, to the server and to its clients.
type ByServer = (About, fn(&ServerCounts) -> [u64; 2]);

const BY_SERVER: [ByServer; 4] = [
    (
        about(
            "slowside_tcp_packets",
            Unit::None,
            "Packets of TCP with this server, by whom they go to.",
        ),
        |c| c.packets,
    ),
    (
        about(
            "slowside_tcp_payload",
            Unit::Bytes,
            "Bytes that TCP carried.",
        ),
        |c| c.payload_bytes,
    ),
    (
        about(
            "slowside_tcp_retransmitted_packets",
            Unit::None,
            "Packets that TCP sent again: lost, or taken to be.",
        ),
        |c| c.retransmitted_packets,
    ),
    (
        about(
            "slowside_round_trips",
            Unit::None,
            "Round trips from the point of capture to the server or to its clients, as acknowledgements show them.",
        ),
        |c| c.round_trips,
    ),
];

const HELD: About = about(
    "slowside_held",
    Unit::Seconds,
    "How long TCP held messages of calls back: for what was lost, a closed window, Nagle.",
);
const OTHER_CALLS: About = about(
    "slowside_other_calls",
    Unit::None,
    "Calls that count as other, as there are too many labels.",
);
const CAPTURED_PACKETS: About = about(
    "slowside_captured_packets",
    Unit::None,
    "Packets that were captured.",
);
const CAPTURED: About = about(
    "slowside_captured",
    Unit::Bytes,
    "Bytes of these packets on the wire.",
);
const DROPPED_PACKETS: About = about(
    "slowside_dropped_packets",
    Unit::None,
    "Packets that the kernel of the capturing host dropped: figures are too low.",
);
const MISSING: About = about(
    "slowside_missing",
    Unit::Bytes,
    "Bytes that their receivers had and the capture lacks, of connections that are over.",
);
const REACHED: About = about(
    "slowside_reached_timestamp",
    Unit::Seconds,
    "Until when packets have been looked at, since the epoch.",
);
const OUTSTANDING: About = about(
    "slowside_outstanding",
    Unit::None,
    "Calls without their answer yet, when the last interval ended.",
);
const ROUND_TRIPS: About = about(
    "slowside_round_trips",
    Unit::Seconds,
    "The sum of these round trips.",
);
const VERDICT: About = about(
    "slowside_verdict",
    Unit::None,
    "1 for the side that the verdict on the last packets names, none where nothing is wrong.",
);
const FINDING: About = about(
    "slowside_finding",
    Unit::None,
    "1 where the last packets have this finding, 0 where earlier ones had; slowside explain CODE says more.",
);

/// The sides a verdict may name.
const SIDES: [Side; 6] = [
    Side::Client,
    Side::Network,
    Side::Server,
    Side::Mixed,
    Side::None,
    Side::Undetermined,
];

const TO: [&str; 2] = ["server", "client"];

/// Hands over all families, in their order.
pub(crate) fn expose<E: Exposition>(result: &MetricsResult, to: &mut E) -> Result<(), E::Error> {
    let labels: Vec<Labels> = result.calls.iter().map(labels).collect();
    let rows = || labels.iter().zip(result.calls.iter().map(|r| &r.counts));
    for (about, get) in COUNTS {
        let mut rows = rows().map(|(labels, counts)| (labels.clone(), get(counts)));
        to.counters(about, &mut rows)?;
    }
    let mut held = rows().map(|(labels, counts)| (labels.clone(), counts.held_ns));
    to.durations(HELD, &mut held)?;
    for (about, get) in TIMED {
        let mut rows = rows().map(|(labels, counts)| (labels.clone(), get(counts)));
        to.histograms(about, &mut rows)?;
    }
    single(to, OTHER_CALLS, result.other_calls)?;
    packets(to, &result.capture)?;
    match &result.live {
        Some(live) => at_present(to, live),
        None => Ok(()),
    }
}

fn labels(row: &CallsRow) -> Labels {
    let mut labels = vec![("protocol", row.protocol.name().to_owned())];
    labels.extend(row.op.map(|op| ("op", harmless(&op))));
    labels.extend(
        row.keys
            .iter()
            .map(|(name, value)| (*name, label(name, value))),
    );
    labels
}

fn label(name: &str, value: &KeyValue) -> String {
    match value {
        KeyValue::Text(text) => harmless(text),
        KeyValue::Number(n) => n.to_string(),
        KeyValue::Address(_) | KeyValue::Connection(..) | KeyValue::File(_) => {
            key_text(name, value, &TimeZone::UTC)
        }
        // As the absence of the label.
        KeyValue::Unknown => String::new(),
    }
}

pub(crate) fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn single<E: Exposition>(to: &mut E, about: About, value: u64) -> Result<(), E::Error> {
    to.counters(about, &mut std::iter::once((Labels::new(), value)))
}

fn packets<E: Exposition>(to: &mut E, capture: &PacketCounts) -> Result<(), E::Error> {
    single(to, CAPTURED_PACKETS, capture.packets)?;
    single(to, CAPTURED, capture.bytes)?;
    if let Some(dropped) = capture.dropped {
        single(to, DROPPED_PACKETS, dropped)?;
    }
    single(to, MISSING, capture.missing_bytes)?;
    let mut last = capture.last.iter().map(|t| (Labels::new(), t.0));
    to.moments(REACHED, &mut last)
}

/// What there is only of a capture that goes on.
fn at_present<E: Exposition>(to: &mut E, live: &LiveMetrics) -> Result<(), E::Error> {
    let mut outstanding = live.outstanding.iter().map(|(protocol, server, n)| {
        let protocol = ("protocol", protocol.name().to_owned());
        (vec![protocol, ("server", label("server", server))], *n)
    });
    to.gauges(OUTSTANDING, &mut outstanding)?;
    let labeled = |server: &KeyValue| {
        TO.map(|to| vec![("server", label("server", server)), ("to", to.to_owned())])
    };
    let servers: Vec<([Labels; 2], &ServerCounts)> = live
        .servers
        .iter()
        .map(|(server, counts)| (labeled(server), counts))
        .collect();
    for (about, get) in BY_SERVER {
        let mut rows = servers
            .iter()
            .flat_map(|(labels, c)| labels.clone().into_iter().zip(get(c)));
        to.counters(about, &mut rows)?;
    }
    let of = |(labels, c): &([Labels; 2], &ServerCounts)| {
        labels.clone().into_iter().zip(c.round_trips_ns)
    };
    to.durations(ROUND_TRIPS, &mut servers.iter().flat_map(of))?;
    judged(to, live)
}

fn judged<E: Exposition>(to: &mut E, live: &LiveMetrics) -> Result<(), E::Error> {
    let mut verdict = live.verdict.iter().flat_map(|now| {
        let row = |side: Side| {
            (
                vec![("side", side.name().to_owned())],
                u64::from(side == *now),
            )
        };
        SIDES.map(row)
    });
    to.gauges(VERDICT, &mut verdict)?;
    let mut findings = live.findings.iter().map(|f| {
        let code = ("code", Rule::code(f.rule).to_owned());
        (
            vec![code, ("side", f.side.name().to_owned())],
            u64::from(f.is_now),
        )
    });
    to.gauges(FINDING, &mut findings)
}
