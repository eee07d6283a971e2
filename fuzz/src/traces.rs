//! Traces of Oracle databases through `trace::oracle::read_from` and the profile made of them.

use analysis::trace_profile::{Profiler, TraceResult};
use std::io::Cursor;

/// Sums that are not near what 64 bits hold.
const SANE: i64 = 1 << 60;

/// A byte for the unit of times, and a file; the profile, unless the file is refused in one line.
fn profile(data: &[u8]) -> Option<TraceResult> {
    let (&unit, file) = data.split_first()?;
    let unit_ns = [None, Some(1_000), Some(1_024), Some(10_000_000)][usize::from(unit) % 4];
    let mut profiler = Profiler::default();
    let input = Cursor::new(file.to_vec());
    let read = trace::oracle::read_from("t".to_owned(), input, unit_ns, &mut |record| {
        profiler.record(&record);
    });
    match read {
        Ok(read) => {
            for (kind, problem) in read.problems.iter() {
                assert!(problem.first.line.is_some(), "{kind} has no line");
                assert!(
                    problem.first.offset.is_some_and(|o| o <= read.bytes),
                    "{kind} is beyond the end"
                );
            }
            profiler.file(read);
            Some(profiler.finish())
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "one line: {error}");
            None
        }
    }
}

/// The parts of the time are the whole, by kind, by event and by statement.
pub fn oracle_trace(data: &[u8]) {
    let Some(database) = profile(data).and_then(|p| p.database) else {
        return;
    };
    let events: i128 = database
        .events
        .iter()
        .map(|e| i128::from(e.waits.total_ns))
        .sum();
    let calls: i128 = database
        .calls
        .iter()
        .map(|c| i128::from(c.elapsed.total_ns))
        .sum();
    let cpu: i128 = database
        .calls
        .iter()
        .map(|c| i128::from(c.cpu_ns).abs())
        .sum();
    if [events, calls, cpu].iter().any(|&sum| sum > SANE.into()) {
        return;
    }
    let waits = i128::from(database.waited_ns) + i128::from(database.between_ns);
    assert_eq!(waits, events, "each wait is within a call or between calls");
    let parts =
        database.cpu_ns + database.waited_ns + database.unaccounted_ns + database.between_ns;
    assert_eq!(parts, database.response_ns);
    let statements: i64 = database.statements.iter().map(|s| s.total_ns).sum();
    assert_eq!(
        statements, database.response_ns,
        "every nanosecond has a statement"
    );
    for s in &database.statements {
        assert!(s.elapsed.count == s.parses + s.executions + s.fetches);
        assert!(
            s.normal == statement::normalise_as(&s.normal, statement::Dialect::Oracle)
                || s.id.is_none()
        );
    }
}

/// Connections are the whole, and messages are made of packets.
pub fn sqlnet_trace(data: &[u8]) {
    let Some(net) = profile(data).and_then(|p| p.net) else {
        return;
    };
    let packets = |c: &analysis::trace_profile::ConnectionRow, sent: bool| -> u64 {
        let rows = c.packets.iter().filter(|p| p.sent == sent);
        rows.map(|p| p.packets).sum()
    };
    for sent in [true, false] {
        let sum: u64 = net.connections.iter().map(|c| packets(c, sent)).sum();
        assert_eq!(sum, packets(&net.all, sent));
    }
    for c in &net.connections {
        assert!(c.messages_sent <= packets(c, true) && c.messages_received <= packets(c, false));
        assert!(
            c.messages_sent.abs_diff(c.messages_received) <= 1,
            "they alternate"
        );
        assert!(c.away.count + c.here.count <= c.messages_sent + c.messages_received);
    }
}
