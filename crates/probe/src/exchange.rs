//! Exchanges on one connection: a thread that sends when it is time, and the calling one, which
//! reads answers and times them.
//!
//! An exchange may begin when it has one of `outstanding` permits, which an answer gives back. At a
//! rate its time counts from when it was due, permit or not, so that a stall of the other side is not
//! hidden by the exchanges that it kept from being begun (coordinated omission). In a closed loop
//! nothing is due; what others would have seen is estimated afterwards, from how often exchanges
//! began.

use crate::client::due;
use crate::connect::nanoseconds;
use crate::error::ProbeError;
use crate::host::Cpu;
use crate::input::{Cut, Input, Padded, TICK, Until};
use crate::latencies::Latencies;
use crate::results::{Correction, Ended, IntervalResult, Throttled};
use crate::schedule::{Mix, Pacing};
use crate::wire::{RESPONSE_BYTES, Request, Response};
use model::limits::PROBE_INTERVALS;
use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long answers are waited for after the user ended the measurement.
const HURRY: Duration = Duration::from_secs(1);

pub(crate) struct Asked<'a> {
    pub(crate) stream: &'a TcpStream,
    pub(crate) mix: &'a Mix,
    pub(crate) pacing: Pacing,
    pub(crate) outstanding: u32,
    /// Bytes are what counts: those that arrive while it is measured, whenever they were asked for.
    pub(crate) streams: bool,
    pub(crate) warm_up: Duration,
    pub(crate) duration: Duration,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
}

pub(crate) struct Got {
    pub(crate) uncorrected: Latencies,
    pub(crate) corrected: Latencies,
    pub(crate) correction: Correction,
    pub(crate) service: Latencies,
    pub(crate) late: Latencies,
    pub(crate) held: Throttled,
    pub(crate) unanswered: u64,
    pub(crate) unsent: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) intervals: Vec<IntervalResult>,
    pub(crate) cpu: Option<Cpu>,
    pub(crate) ended: Ended,
    pub(crate) duration_ns: u64,
}

/// A request that was sent, as its answer needs it.
struct Flight {
    request: Request,
    /// When it was to be sent: when it was due, or could be.
    intended: Instant,
    sent: Instant,
    /// How late it was sent though nothing of the other side kept it.
    late: Duration,
}

/// What sender and receiver share.
struct Link<'a> {
    asked: &'a Asked<'a>,
    start: Instant,
    measure_from: Instant,
    end: Instant,
    /// The user's.
    stop: &'a AtomicBool,
    /// The receiver's: nothing more will be read.
    quit: AtomicBool,
    sender_done: AtomicBool,
    sent: AtomicU64,
    unsent: AtomicU64,
}

pub(crate) fn run(
    asked: &Asked<'_>,
    stop: &AtomicBool,
    on_interval: &mut dyn FnMut(&IntervalResult),
) -> Result<Got, ProbeError> {
    let start = Instant::now();
    let measure_from = start + asked.warm_up;
    let link = Link {
        asked,
        start,
        measure_from,
        end: measure_from + asked.duration,
        stop,
        quit: AtomicBool::new(false),
        sender_done: AtomicBool::new(false),
        sent: AtomicU64::new(0),
        unsent: AtomicU64::new(0),
    };
    let (flights_in, flights) = channel();
    let (permits_in, permits) = channel();
    for _ in 0..asked.outstanding {
        // The receiving end is in scope.
        let _ = permits_in.send(start);
    }
    thread::scope(|scope| {
        let link = &link;
        let sender = thread::Builder::new()
            .spawn_scoped(scope, move || send(link, &flights_in, &permits))
            .map_err(ProbeError::Thread)?;
        let cpu = Cpu::of_thread();
        let mut got = Tally::new(link).receive(&flights, &permits_in, on_interval);
        let receiver_cpu = Cpu::since(cpu);
        link.quit.store(true, Ordering::Relaxed);
        let sender_cpu = sender.join().ok().flatten();
        got.cpu = receiver_cpu.zip(sender_cpu).map(|(a, b)| a.plus(b));
        got.unsent = link.unsent.load(Ordering::Acquire);
        Ok(got)
    })
}

/// Sends until the end, and tells what it had of the CPUs.
fn send(link: &Link<'_>, flights: &Sender<Flight>, permits: &Receiver<Instant>) -> Option<Cpu> {
    let cpu = Cpu::of_thread();
    let mut padded = Padded::new();
    for n in 0.. {
        let Some(released) = permit(link, permits) else {
            link.unsent.store(unsent(link, n), Ordering::Release);
            break;
        };
        let exchange = link.asked.mix.exchange(n);
        let intended = match link.asked.pacing.due(n) {
            Some(after) => link.start + after,
            None => released + Duration::from_nanos(exchange.think_ns),
        };
        if intended >= link.end || !due(intended, &[link.stop, &link.quit]) {
            break;
        }
        let request = Request {
            request_bytes: exchange.request_bytes,
            response_bytes: exchange.response_bytes,
            sequence: n,
        };
        link.sent.fetch_add(1, Ordering::Release);
        let sent = Instant::now();
        let flight = Flight {
            request,
            intended,
            sent,
            late: sent.saturating_duration_since(intended.max(released)),
        };
        let until = Until {
            deadline: link.end + link.asked.timeout,
            stop: &link.quit,
        };
        // The receiver needs to know before the answer can come.
        let told = flights.send(flight);
        let header = request.encode();
        let total = request.request_bytes;
        if told.is_err()
            || padded
                .write(link.asked.stream, header, total, until)
                .is_err()
        {
            // Whyever it failed, the receiver sees the end of the connection, and waits for no answer more.
            let _ = link.asked.stream.shutdown(Shutdown::Write);
            break;
        }
    }
    link.sender_done.store(true, Ordering::Release);
    Cpu::since(cpu)
}

/// When a permit was given back; `None` when it is too late for another exchange.
fn permit(link: &Link<'_>, permits: &Receiver<Instant>) -> Option<Instant> {
    loop {
        let left = link.end.saturating_duration_since(Instant::now());
        let over = link.stop.load(Ordering::Relaxed) || link.quit.load(Ordering::Relaxed);
        if left.is_zero() || over {
            return None;
        }
        match permits.recv_timeout(left.min(TICK)) {
            Ok(released) => return Some(released),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Exchanges from the `n`th on that were due before the end, which has come.
fn unsent(link: &Link<'_>, n: u64) -> u64 {
    match link.asked.pacing {
        Pacing::Every(ns) if Instant::now() >= link.end => {
            let due = nanoseconds(link.end - link.start).div_ceil(ns);
            due.saturating_sub(n)
        }
        _ => 0,
    }
}

/// What the answers say so far.
struct Tally<'a> {
    link: &'a Link<'a>,
    uncorrected: Latencies,
    due: Latencies,
    /// From one beginning to the next of the same permit.
    periods: Latencies,
    service: Latencies,
    late: Latencies,
    held: Throttled,
    answered: u64,
    sent_bytes: u64,
    received_bytes: u64,
    intervals: Intervals,
    /// When the last exchanges began, one for each permit.
    begun: VecDeque<Instant>,
}

impl<'a> Tally<'a> {
    fn new(link: &'a Link<'a>) -> Tally<'a> {
        Tally {
            link,
            uncorrected: Latencies::default(),
            due: Latencies::default(),
            periods: Latencies::default(),
            service: Latencies::default(),
            late: Latencies::default(),
            held: Throttled::default(),
            answered: 0,
            sent_bytes: 0,
            received_bytes: 0,
            intervals: Intervals::new(link.measure_from, link.asked.interval),
            begun: VecDeque::new(),
        }
    }

    /// Reads answers until all are there that can be waited for.
    fn receive(
        mut self,
        flights: &Receiver<Flight>,
        permits: &Sender<Instant>,
        on_interval: &mut dyn FnMut(&IntervalResult),
    ) -> Got {
        let link = self.link;
        let mut input = Input::new(link.asked.stream);
        let ended = loop {
            match input.ready() {
                Ok(true) => match self.answer(&mut input, flights, on_interval) {
                    Ok(done) => drop(permits.send(done)),
                    Err(why) => break Ended::Cut(why),
                },
                Ok(false) => {}
                Err(cut) => break Ended::Cut(because(&cut)),
            }
            let now = Instant::now();
            self.intervals.roll(self.inside(now), on_interval);
            if let Some(ended) = self.over(now) {
                break ended;
            }
        };
        self.finish(ended, on_interval)
    }

    /// Reads one answer; the moment when its last byte was there.
    fn answer(
        &mut self,
        input: &mut Input<'_>,
        flights: &Receiver<Flight>,
        on_interval: &mut dyn FnMut(&IntervalResult),
    ) -> Result<Instant, &'static str> {
        const STRANGE: &str = "the listener's answers are not those that were asked for";
        let never = AtomicBool::new(false);
        let until = Until {
            deadline: Instant::now() + self.link.asked.timeout,
            stop: &never,
        };
        let header = input.exact(until).map_err(|c| because(&c))?;
        let flight = flights.try_recv().map_err(|_| STRANGE)?;
        let response = Response::decode(&header).ok_or(STRANGE)?;
        let asked = flight.request;
        if (response.sequence, response.response_bytes) != (asked.sequence, asked.response_bytes) {
            return Err(STRANGE);
        }
        let padding = asked.response_bytes - RESPONSE_BYTES;
        input.skip(padding, until).map_err(|c| because(&c))?;
        let done = Instant::now();
        self.answered += 1;
        self.record(&flight, &response, done, on_interval);
        Ok(done)
    }

    fn record(
        &mut self,
        flight: &Flight,
        response: &Response,
        done: Instant,
        on_interval: &mut dyn FnMut(&IntervalResult),
    ) {
        let link = self.link;
        let before = (self.begun.len() == link.asked.outstanding as usize)
            .then(|| self.begun.pop_front())
            .flatten();
        self.begun.push_back(flight.sent);
        let counts = if link.asked.streams {
            (link.measure_from..=link.end).contains(&done)
        } else {
            flight.intended >= link.measure_from
        };
        if !counts {
            return;
        }
        let took = nanoseconds(done - flight.sent);
        let since_due = nanoseconds(done.saturating_duration_since(flight.intended));
        self.uncorrected.add(took);
        self.due.add(since_due);
        if let Some(before) = before {
            self.periods.add(nanoseconds(flight.sent - before));
        }
        self.late.add(nanoseconds(flight.late));
        self.service
            .add(response.service_ns.saturating_sub(response.held_ns));
        if response.held_ns > 0 {
            self.held.count += 1;
            self.held.total_ns = self.held.total_ns.saturating_add(response.held_ns);
        }
        let (sent, received) = (
            u64::from(flight.request.request_bytes),
            u64::from(response.response_bytes),
        );
        self.sent_bytes += sent;
        self.received_bytes += received;
        let shown = match link.asked.pacing {
            Pacing::Every(_) => since_due,
            Pacing::Closed => took,
        };
        let done = self.inside(done);
        self.intervals.add(done, shown, sent, received, on_interval);
    }

    /// Whether nothing more is to come, or to be waited for.
    fn over(&self, now: Instant) -> Option<Ended> {
        let link = self.link;
        let stopped = link.stop.load(Ordering::Relaxed);
        let done = link.sender_done.load(Ordering::Acquire);
        let ended = if stopped { Ended::Stopped } else { Ended::Done };
        if done && (self.answered == link.sent.load(Ordering::Acquire) || link.asked.streams) {
            return Some(ended);
        }
        let patience = if stopped { HURRY } else { link.asked.timeout };
        // What was asked for in vain is counted; that the user ends it is no fault of the other side.
        match (done || stopped, stopped) {
            (true, true) if now > self.last(now) + patience => Some(Ended::Stopped),
            (true, false) if now > link.end + patience => {
                Some(Ended::Cut("the last answers did not come"))
            }
            _ => None,
        }
    }

    /// Answers that come after the end count for the last interval.
    fn inside(&self, now: Instant) -> Instant {
        now.min(self.link.end - Duration::from_nanos(1))
    }

    fn last(&self, now: Instant) -> Instant {
        self.begun.back().copied().unwrap_or(now)
    }

    fn finish(mut self, ended: Ended, on_interval: &mut dyn FnMut(&IntervalResult)) -> Got {
        let link = self.link;
        let finished = match ended {
            Ended::Done => link.end,
            Ended::Stopped | Ended::Cut(_) => Instant::now().min(link.end),
        };
        let intervals = std::mem::take(&mut self.intervals).finish(finished, on_interval);
        let (corrected, correction) = match link.asked.pacing {
            Pacing::Every(_) => (self.due, Correction::Due),
            Pacing::Closed => {
                let expected = self.periods.quantile_ns(0.5);
                let corrected = self.uncorrected.corrected_for(expected);
                (corrected, Correction::Expected(expected))
            }
        };
        let unanswered = if link.asked.streams {
            0
        } else {
            link.sent
                .load(Ordering::Acquire)
                .saturating_sub(self.answered)
        };
        Got {
            uncorrected: self.uncorrected,
            corrected,
            correction,
            service: self.service,
            late: self.late,
            held: self.held,
            unanswered,
            unsent: 0,
            sent_bytes: self.sent_bytes,
            received_bytes: self.received_bytes,
            intervals,
            cpu: None,
            ended,
            duration_ns: nanoseconds(finished.saturating_duration_since(link.measure_from)),
        }
    }
}

fn because(cut: &Cut) -> &'static str {
    match cut {
        Cut::Closed => "the listener closed the connection, as its limits may ask",
        Cut::Late => "an answer did not come to its end in time",
        Cut::Stopped => "it was stopped",
        Cut::Failed(_) => "the connection failed",
    }
}

/// Answers by the stretch of time in which they came.
#[derive(Default)]
pub(crate) struct Intervals {
    /// `None` only before there are any.
    from: Option<Instant>,
    width: Duration,
    number: u32,
    here: Latencies,
    sent_bytes: u64,
    received_bytes: u64,
    ended: Vec<IntervalResult>,
}

impl Intervals {
    pub(crate) fn new(from: Instant, width: Duration) -> Intervals {
        Intervals {
            from: Some(from),
            width: width.max(Duration::from_millis(1)),
            ..Intervals::default()
        }
    }

    pub(crate) fn add(
        &mut self,
        done: Instant,
        ns: u64,
        sent: u64,
        received: u64,
        on_interval: &mut dyn FnMut(&IntervalResult),
    ) {
        self.roll(done, on_interval);
        self.here.add(ns);
        self.sent_bytes += sent;
        self.received_bytes += received;
    }

    /// Ends the intervals that are over at `now`.
    pub(crate) fn roll(&mut self, now: Instant, on_interval: &mut dyn FnMut(&IntervalResult)) {
        let Some(from) = self.from else { return };
        while now >= from + self.width * (self.number + 1) {
            self.end(self.width * (self.number + 1), on_interval);
        }
    }

    fn end(&mut self, at: Duration, on_interval: &mut dyn FnMut(&IntervalResult)) {
        let here = std::mem::take(&mut self.here);
        let result = IntervalResult {
            start_ns: nanoseconds(self.width * self.number),
            end_ns: nanoseconds(at),
            count: here.count(),
            mean_ns: here.mean_ns(),
            p50_ns: here.quantile_ns(0.5),
            p99_ns: here.quantile_ns(0.99),
            max_ns: here.max_ns(),
            sent_bytes: std::mem::take(&mut self.sent_bytes),
            received_bytes: std::mem::take(&mut self.received_bytes),
        };
        self.number += 1;
        on_interval(&result);
        if self.ended.len() < PROBE_INTERVALS {
            self.ended.push(result);
        }
    }

    /// The intervals up to `now`, the last perhaps shorter.
    pub(crate) fn finish(
        mut self,
        now: Instant,
        on_interval: &mut dyn FnMut(&IntervalResult),
    ) -> Vec<IntervalResult> {
        self.roll(now, on_interval);
        let since = self.from.map(|f| now.saturating_duration_since(f));
        if let Some(since) = since
            && (!self.here.is_empty() || since > self.width * self.number)
        {
            self.end(since, on_interval);
        }
        self.ended
    }
}
