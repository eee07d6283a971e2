//! The ledger's sums as a table: who held calls, or streams, up, by what, for how long at least and at most.

use super::tables::OpTable;
use crate::text::{counted, wrap};
use analysis::results::Diagnosis;
use ledger::{Bounds, Place, Sum, Sums};
use model::{format_duration, grouped};

/// Lines that may hold less than this part of the time are left out, but for the first of a side.
const WORTH: i64 = 200;

/// The table; none where there is nothing to divide.
pub(crate) fn held_up(d: &Diagnosis) -> Option<OpTable> {
    let sums = d.streams_ledger.as_ref().unwrap_or(&d.ledger);
    let total_ns = sums.total.lo_ns;
    let calls = match d.streams_ledger {
        Some(_) => 0,
        None => sums.calls,
    };
    if total_ns <= 0 {
        return None;
    }
    let mut lines = sums.lines();
    for line in lines.iter_mut().map(|s| &mut s.line) {
        line.ns = left_of(sums, line.side, line.ns);
    }
    // Of each side at least its largest, which answers whoever asks about it.
    let is_first = |s: &Sum| {
        let mut own = lines.iter().filter(|o| o.line.side == s.line.side);
        own.next() == Some(s)
    };
    let is_worth = |s: &Sum| s.line.ns.hi_ns.is_none_or(|hi| hi >= total_ns / WORTH);
    let (mut shown, left): (Vec<&Sum>, Vec<&Sum>) =
        lines.iter().partition(|s| is_worth(s) || is_first(s));
    let sure = |side: Place| {
        let own = lines.iter().filter(move |s| s.line.side == side);
        let sum = own.fold(Bounds::exactly(0), |sum, s| sum.plus(s.line.ns));
        left_of(sums, side, sum)
    };
    shown.sort_by_key(|s| {
        let whole = std::cmp::Reverse(sure(s.line.side).lo_ns);
        (whole, s.line.side, std::cmp::Reverse(s.line.ns.lo_ns))
    });
    let are_exact = shown
        .iter()
        .all(|s| s.line.ns.hi_ns == Some(s.line.ns.lo_ns));
    let each = |ns: i64| match calls {
        0 => String::new(),
        n => format_duration(ns / n as i64),
    };
    let row = |name: String, ns: Bounds, counted: String| {
        let most = match ns.hi_ns {
            Some(hi) if hi == ns.lo_ns => String::new(),
            Some(hi) => format_duration(hi),
            None => "any".to_owned(),
        };
        vec![
            name,
            each(ns.lo_ns),
            format_duration(ns.lo_ns),
            most,
            counted,
        ]
    };
    let in_all = if are_exact { "in all" } else { "at least" };
    let heads = ["", "a call", in_all, "at most", "calls"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for of_side in shown.chunk_by(|a, b| a.line.side == b.line.side) {
        let [first, rest @ ..] = of_side else {
            continue;
        };
        let side = first.line.side;
        if !rest.is_empty() {
            rows.push(row(side.name().to_owned(), sure(side), String::new()));
        }
        for sum in of_side {
            let line = &sum.line;
            let name = match line.place == side {
                true => line.cause.name().to_owned(),
                false => format!("{}, at the {}", line.cause.name(), line.place.name()),
            };
            let name = match rest.is_empty() {
                true => format!("{}: {name}", side.name()),
                false => format!("  {name}"),
            };
            rows.push(row(name, line.ns, grouped(sum.calls)));
        }
    }
    // Streams have no calls to divide by or to count.
    let columns = [(4, calls == 0), (3, are_exact), (1, calls == 0)];
    for (column, _) in columns.into_iter().filter(|(_, goes)| *goes) {
        for row in &mut rows {
            row.remove(column);
        }
    }
    Some(OpTable {
        title: title(sums, calls),
        groups: Vec::new(),
        rows,
        more: match left.len() {
            0 => String::new(),
            n => format!("… and {} with less time\n", counted(n as u64, "line")),
        } + &few_long(d)
            + &unseen(d, calls, total_ns),
    })
}

/// Of what may be a side's no more than what is left of all, where the others have what is certain of them.
fn left_of(sums: &Sums, side: Place, ns: Bounds) -> Bounds {
    let left_ns = sums.left_for_ns(side);
    Bounds {
        hi_ns: (ns.hi_ns).map(|hi| left_ns.map_or(hi, |left| hi.min(left).max(ns.lo_ns))),
        ..ns
    }
}

/// Where the mean is no call's.
fn few_long(d: &Diagnosis) -> String {
    let few = d.few_long.filter(|_| d.streams_ledger.is_none());
    few.map_or_else(String::new, |few| wrap("", 0, &few.told().to_string()))
}

/// How much of the time is of calls that have no response time, where that is a good part: in tables of times they
/// are missing.
fn unseen(d: &Diagnosis, calls: u64, total_ns: i64) -> String {
    const WORTH: i64 = 5;
    let timed = d.ops.iter().filter_map(|o| o.client.or(o.server));
    let (count, ns) = timed.fold((0u64, 0i64), |(count, ns), s| {
        (count.saturating_add(s.count), ns.saturating_add(s.total_ns))
    });
    let (calls, ns) = (calls.saturating_sub(count), total_ns.saturating_sub(ns));
    if calls == 0 || ns <= total_ns / WORTH {
        return String::new();
    }
    let text = format!(
        "Of it {} are of {} that the capture has not whole: so long they waited at least.",
        format_duration(ns),
        counted(calls, "call")
    );
    wrap("", 0, &text)
}

fn title(sums: &Sums, calls: u64) -> String {
    let total = format_duration(sums.total.lo_ns);
    match calls {
        0 => format!("What held up the bytes under way: {total}"),
        n => format!(
            "What held {} up for {total}, {} each",
            counted(n, "call"),
            format_duration(sums.total.lo_ns / n as i64)
        ),
    }
}

/// How much of the time is certain to be somebody's, in per cent.
pub(crate) fn certain_per_cent(d: &Diagnosis) -> Option<u64> {
    let sums = d.streams_ledger.as_ref().unwrap_or(&d.ledger);
    let known = sums
        .lines()
        .iter()
        .filter(|s| s.line.side != Place::Unknown)
        .fold(0i64, |sum, s| sum.saturating_add(s.line.ns.lo_ns));
    let unseen = (d.untold_ns)
        .saturating_add(d.cut_ns)
        .saturating_add(sums.longer_ns());
    let total = sums.total.lo_ns.saturating_add(unseen);
    (total > 0).then(|| (i128::from(known.min(total)) * 100 / i128::from(total)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    #[test]
    fn lines_stand_below_their_side_with_what_it_has_at_least_and_at_most() {
        let mut d = samples::diagnosis();
        let text = |d: &Diagnosis| held_up(d).map(OpTable::text).unwrap_or_default();
        expect![[r#"
            What held 2,600 calls up for 86.3 s, 33.2 ms each
                            a call  at least  at most  calls
            server         33.1 ms    86.0 s   86.1 s
              queue        29.0 ms    75.3 s   75.4 s  2,600
              service      4.11 ms    10.7 s           2,600
            network: path  80.0 µs    208 ms   286 ms  2,600
        "#]]
        .assert_eq(&text(&d));
        d.streams_ledger = Some(std::mem::take(&mut d.ledger));
        expect![[r#"
            What held up the bytes under way: 86.3 s
                           at least  at most
            server           86.0 s   86.1 s
              queue          75.3 s   75.4 s
              service        10.7 s
            network: path    208 ms   286 ms
        "#]]
        .assert_eq(&text(&d));
        assert_eq!(certain_per_cent(&d), Some(99));
        d.streams_ledger = None;
        assert_eq!((text(&d), certain_per_cent(&d)), (String::new(), None));
    }
}
