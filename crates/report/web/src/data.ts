// What slowside hands to the page, as crates/report/src/html writes it into
//   <script type="application/json" id="data">…</script>   ('<' and '&' escaped as \u003c, \u0026)
// Tables, findings, verdict, budget and ladders are HTML already; what is here is only for charts, and
// <figure data-chart="…" data-index="i"> says where each of them goes.
//
// Columns of numbers are arrays of equal length. All times are whole nanoseconds since `start`:
// nanoseconds since the epoch do not fit a number. null is unknown.

export interface Report {
  schema: "slowside.report/1";
  /** Time 0 of everything: nanoseconds since the epoch as text, and the same in UTC to read. */
  start: { epoch_ns: string; utc: string };
  duration_ns: number;
  captures: Capture[];
  /** First operations, then statements of databases, each in the order of its table's rows. */
  operations: Operation[];
  outstanding: Outstanding[];
  load: LatencyByOutstanding[];
  connections: Connection[];
  ladders: Ladder[];
}

export interface Capture {
  /** "client.pcap", or "ring/ (12 files)". */
  label: string;
  side: "client" | "server" | "middle" | "unknown";
  files: string[];
}

/** An operation or a statement, as each capture saw it (one entry a capture that has it). */
export interface Operation {
  protocol: string;
  name: string;
  seen: { capture: number; latency: Latency; heat: Heat }[];
}

export interface Latency {
  count: number;
  /** Calls by response time: upper bound of each bucket, ascending, and the number of calls in it. */
  histogram: { upper_ns: number[]; calls: number[] };
  /** Percentile curve: 0 < percent <= 100 ascending; denser towards 100 (…, 99, 99.9, 99.99). Only as
   *  far as the count carries them. */
  percentiles: { percent: number[]; ns: number[] };
}

/** Calls by time (columns of one width) and response time (rows): only cells that hold calls. */
export interface Heat {
  first_ns: number;
  width_ns: number;
  columns: number;
  /** Upper bound of each row, ascending (logarithmic, four to eight rows per power of two or ten). */
  upper_ns: number[];
  column: number[];
  row: number[];
  calls: number[];
}

/** Calls outstanding over time. */
export interface Outstanding {
  capture: number;
  /** "all clients → 10.0.0.2:2049". */
  scope: string;
  width_ns: number;
  time_ns: number[];
  max: number[];
  mean: number[];
}

/** Mean wait (request's last byte to response's first, without what TCP held) by the number of outstanding calls (itself included)
 *  that a call found when sent. */
export interface LatencyByOutstanding {
  capture: number;
  scope: string;
  operation: string;
  outstanding: number[];
  calls: number[];
  /** Mean wait: from the request's last byte to the response's first, without what TCP held. */
  mean_ns: number[];
  /** Where a finding says so: calls the server works on at once, or the client's flat top. */
  cap: { outstanding: number; code: string; side: "client" | "server" } | null;
}

export interface Connection {
  /** As `slowside conns` numbers them. */
  number: number;
  client: string;
  server: string;
  protocol: string;
  /** Why it is shown: "waited 12.3 s, most of it loss-recovery". */
  why: string;
  views: View[];
}

/** A connection as one capture saw it. */
export interface View {
  capture: number;
  /** Of the connection in this capture, all of them. */
  packets: number;
  /** Data points kept of those seen; equal when nothing was left out. */
  points: number;
  points_seen: number;
  /** Width of the buckets whose extremes were kept; null when everything is there. */
  bucket_ns: number | null;
  /** Client to server, server to client. */
  directions: [Direction, Direction];
}

/**
 * One way of a connection. `frame` is a packet's number in its file, `file` an index into the capture's
 * `files`, given only where it has more than one.
 */
export interface Direction {
  /** Data segments: [from, to) in bytes since the connection's first byte. */
  segments: {
    time_ns: number[]; from: number[]; to: number[]; frame: number[];
    /** 0 new data, 1 retransmission, 2 spurious retransmission, 3 out of order, 4 probe (keep-alive,
     *  zero-window), which may hold no byte. */
    kind: number[];
    file?: number[];
  };
  /** What the direction's receiver acknowledged, and how far its window let the sender go (null:
   *  scale unknown). */
  acks: { time_ns: number[]; acknowledged: number[]; window_end: (number | null)[]; frame: number[]; file?: number[] };
  rtt: { time_ns: number[]; ns: number[]; frame: number[]; file?: number[] };
  /** Extremes within each bucket, at the time they were seen. */
  flight: { time_ns: number[]; bytes: number[]; window: (number | null)[]; frame: number[]; file?: number[] };
  /** Only intervals in which data was sent; one that is not there is 0. */
  throughput: {
    width_ns: number; time_ns: number[]; payload_bps: number[];
    segments: number[]; segment_min: (number | null)[]; segment_mean: (number | null)[]; segment_max: (number | null)[];
    retransmitted: number[];
  };
  /** What the direction waited for: classes of `slowside conns`, stretch by stretch, without gaps. Where
   *  there are too many stretches, those kept show the classes in the shares they have. */
  band: { until_ns: number[]; first_ns: number; class: number[] };
}

/** Index of `band.class`. */
export const CLASSES = [
  "handshake", "idle", "sender-application", "receiver-application", "small-window",
  "nagle-delayed-ack", "loss-recovery", "congestion", "bandwidth", "transfer", "unknown",
] as const;

/** One slow call as a sequence diagram. */
export interface Ladder {
  operation: string;
  id: string;
  client: string;
  server: string;
  response_time_ns: number;
  /** "slowest READ". */
  why: string;
  /** Each capture's four times, with the frames; the server's times are also given on the client's
   *  clock (offset taken off) where two captures are aligned. */
  seen: {
    capture: number;
    request_first_ns: number | null; request_last_ns: number | null;
    response_first_ns: number | null; response_last_ns: number | null;
    frames: { request_first: number | null; request_last: number | null; response_first: number | null; response_last: number | null };
    /** Display filter that shows these frames. */
    filter: string;
    file?: string;
  }[];
  /** Parts that add up to the response time (network out, server, network back, or request transfer,
   *  wait, response transfer with one capture). */
  parts: { name: string; ns: number; side: "client" | "network" | "server" | "unknown" }[];
}
