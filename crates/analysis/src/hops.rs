//! Diagnoses of each two neighbouring capture points of one path into what lies between them: how much longer the same
//! calls take at the one nearer the client. No clock has a part in that; only ways there and back need aligned ones.

use crate::findings::{Of, Rule};
use crate::results::{CaptureResult, Diagnosis, Matched, OpResult, Side, Vantage};
use crate::text::{Text, Value, text};
use std::sync::Arc;

/// What lies between two neighbouring capture points.
#[derive(Clone, Debug)]
pub struct Hop {
    /// Of the captures of both, that nearer the client first.
    pub diagnosis: Diagnosis,
}

/// How much longer one call took at a capture point than at the next one, nearer the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallHop {
    /// What the points are called, by the first file of each.
    pub from: Arc<str>,
    pub to: Arc<str>,
    pub ns: i64,
}

/// How long calls take within a hop, on average.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HopTime {
    /// Calls that are in both captures.
    pub calls: u64,
    /// There and back together.
    pub mean_ns: i64,
    /// Where the clocks could be aligned.
    pub out_ns: Option<i64>,
    pub back_ns: Option<i64>,
}

impl Hop {
    /// `None` where no call is in both captures.
    #[must_use]
    pub fn time(&self) -> Option<HopTime> {
        time(&self.diagnosis.ops)
    }

    /// How much longer calls take at the capture that was given first: less than nothing where that is nearer the
    /// server.
    #[must_use]
    pub fn longer_at_first_ns(&self) -> Option<i64> {
        let is_server = |first: &CaptureResult| first.side == Some(Vantage::Server);
        let mean_ns = self.time()?.mean_ns;
        match self.diagnosis.captures.first().is_some_and(is_server) {
            true => Some(-mean_ns),
            false => Some(mean_ns),
        }
    }

    /// Segments that were lost between its two points.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.diagnosis.lost.iter().flatten().sum()
    }

    /// What its two points are called, by the first file of each.
    #[must_use]
    pub fn names(&self) -> Option<[&str; 2]> {
        match self.diagnosis.captures.as_slice() {
            [from, to] => Some([from.files.first()?, to.files.first()?]),
            _ => None,
        }
    }
}

/// How long calls of these operations take longer at one of two captures, on average.
fn time(ops: &[OpResult]) -> Option<HopTime> {
    let mean = |of: fn(&Matched) -> Option<i64>| {
        let matched = || ops.iter().filter_map(|op| op.matched.as_ref());
        let calls: u64 = matched().map(|m| m.count).sum();
        let total = matched().try_fold(0i128, |sum, m| {
            Some(sum + i128::from(of(m)?) * i128::from(m.count))
        })?;
        let mean = total.checked_div(calls.into())?;
        Some((calls, i64::try_from(mean).unwrap_or(i64::MAX)))
    };
    let (calls, mean_ns) = mean(|m| Some(m.difference_mean_ns))?;
    let of = |way| mean(way).map(|(_, ns)| ns);
    Some(HopTime {
        calls,
        mean_ns,
        out_ns: of(|m| m.request_path_mean_ns),
        back_ns: of(|m| m.reply_path_mean_ns),
    })
}

/// What hosts at capture points hold of a call between what reaches them and what leaves them, on average, and at which
/// point, where there is but one: a proxy does, a router does not.
#[must_use]
pub fn within(d: &Diagnosis) -> Option<(i64, Option<&str>)> {
    let all_ns = time(&d.ops)?.mean_ns;
    let within_ns = all_ns - together_ns(&d.hops);
    let at = match d.hops.as_slice() {
        [] => return None,
        [near, _] => near.names().map(|[_, at]| at),
        _ => None,
    };
    (within_ns > all_ns / 20).then_some((within_ns, at))
}

/// What all of them take of a call, on average.
#[must_use]
pub fn together_ns(hops: &[Hop]) -> i64 {
    let times = hops.iter().filter_map(Hop::time);
    times.fold(0, |sum, t| sum.saturating_add(t.mean_ns.max(0)))
}

/// Tells between which points most of it lies, where the network is to blame: what was lost, if calls wait for that, else
/// what they take; and what the host of a point holds, where that is most.
pub fn tell(d: &mut Diagnosis) {
    let said = match (d.verdict.side, d.verdict.cause) {
        (Side::Network, Some(Rule::NetworkLoss | Rule::NetworkOutage)) => {
            lost(d).or_else(|| taken(d))
        }
        // Of connections that did not come to be, or ended, no call tells.
        (Side::Network, Some(rule)) if !matches!(rule.of(), Of::Calls | Of::Bytes) => lost(d),
        (Side::Network, _) => taken(d),
        (Side::Undetermined, _) => held(d),
        _ => None,
    };
    if let Some(said) = said {
        let before = std::mem::take(&mut d.verdict.sentence);
        d.verdict.sentence = Text::list(vec![before, said], " ");
    }
}

/// At which point most is held.
fn held(d: &Diagnosis) -> Option<Text> {
    let (ns, at) = within(d)?;
    let is_most = ns > together_ns(&d.hops);
    let at = at.filter(|_| is_most)?;
    Some(text!(
        "Of a call, {ns} lie within {at}, between what came there and what went on.",
        ns = Value::Duration(ns),
        at = Value::File(at.into()),
    ))
}

/// Between which points most was lost.
fn lost(d: &Diagnosis) -> Option<Text> {
    let all: u64 = d.hops.iter().map(Hop::lost).sum();
    let hop = d.hops.iter().find(|hop| hop.lost() > all / 2)?;
    let [from, to] = hop.names()?.map(|name| Value::File(name.into()));
    let lost = hop.lost();
    Some(match lost == all {
        true => text!(
            "What was lost, {all,} segment{all||s}, was lost between {from} and {to}.",
            all = all,
            from = from,
            to = to,
        ),
        false => text!(
            "Of {all,} segments that were lost, {lost,} {lost|was|were} lost between {from} and {to}.",
            all = all,
            lost = lost,
            from = from,
            to = to,
        ),
    })
}

/// Between which points calls take most.
fn taken(d: &Diagnosis) -> Option<Text> {
    let all_ns = together_ns(&d.hops);
    let has_most = |t: &HopTime| t.mean_ns > all_ns / 2;
    let mut most = d
        .hops
        .iter()
        .filter_map(|hop| Some((hop, hop.time().filter(has_most)?)));
    let (hop, time) = most.next()?;
    let [from, to] = hop.names()?;
    Some(text!(
        "Of a call, {time} lie between {from} and {to}.",
        time = Value::Duration(time.mean_ns),
        from = Value::File(from.into()),
        to = Value::File(to.into()),
    ))
}

#[cfg(test)]
pub(crate) mod testing {
    use crate::diagnose::Options;
    use crate::diagnosers::Diagnosers;
    use crate::facts::Thresholds;
    use crate::results::{CaptureResult, Diagnosis};

    /// Of two captures of these names in which nothing passed.
    pub(crate) fn diagnosis(files: [&str; 2]) -> Diagnosis {
        let captures = files.map(|file| CaptureResult {
            files: vec![file.to_owned()],
            ..CaptureResult::default()
        });
        let options = Options {
            thresholds: Thresholds {
                fast_enough_ns: 2_000_000,
                tail_ns: 20_000_000,
            },
            stated: [None; 2],
            clock_offset_ns: None,
            statements_bytes: u64::MAX,
            whole: true,
            app: None,
            server_app: None,
            hosts: Default::default(),
            passes_on: false,
            has_peers: false,
        };
        Diagnosers::new(2, options).finish(captures.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::diagnosis;
    use super::*;
    use model::Protocol;

    /// Between these files, where `calls` of an operation take so much longer at the first, each.
    fn hop(files: [&str; 2], ops: &[(u64, i64, Option<i64>)]) -> Hop {
        let op = |&(count, longer_ns, out_ns): &(u64, i64, Option<i64>)| OpResult {
            protocol: Protocol::Nfs3,
            op: "READ".to_owned(),
            client: None,
            server: None,
            matched: Some(Matched {
                count,
                difference_mean_ns: longer_ns,
                request_path_mean_ns: out_ns,
                reply_path_mean_ns: out_ns.map(|ns| longer_ns - ns),
                ..Matched::default()
            }),
            unmatched: Default::default(),
            errors: 0,
        };
        let mut diagnosis = diagnosis(files);
        diagnosis.ops = ops.iter().map(op).collect();
        Hop { diagnosis }
    }

    #[test]
    fn each_call_counts_alike_whatever_its_operation() {
        let one = hop(
            ["a", "b"],
            &[(1, 10_000, Some(4_000)), (3, 2_000, Some(1_000))],
        );
        let time = HopTime {
            calls: 4,
            mean_ns: 4_000,
            out_ns: Some(1_750),
            back_ns: Some(2_250),
        };
        assert_eq!(one.time(), Some(time));
        // A way that is not known of some is not known.
        let unaligned = hop(["a", "b"], &[(1, 10_000, None), (3, 2_000, Some(1_000))]);
        assert_eq!(unaligned.time().and_then(|t| t.out_ns), None);
        assert_eq!(hop(["a", "b"], &[]).time(), None);
    }

    #[test]
    fn what_was_lost_is_told_before_what_calls_take() {
        let told = |cause, near: [u64; 2], far: [u64; 2]| {
            let mut d = diagnosis(["on/client", "at/server"]);
            (d.verdict.side, d.verdict.cause) = (Side::Network, Some(cause));
            d.hops = vec![
                hop(["on/client", "wall"], &[(9, 900, None)]),
                hop(["wall", "at/server"], &[(9, 100, None)]),
            ];
            (d.hops[0].diagnosis.lost, d.hops[1].diagnosis.lost) = (Some(near), Some(far));
            tell(&mut d);
            d.verdict.sentence.to_string()
        };
        let said = told(Rule::NetworkLoss, [1, 0], [2, 5]);
        let expected = "Of 8 segments that were lost, 7 were lost between wall and at/server.";
        assert!(said.ends_with(expected), "{said}");
        let said = told(Rule::NetworkLoss, [0, 0], [0, 1]);
        let expected = "What was lost, 1 segment, was lost between wall and at/server.";
        assert!(said.ends_with(expected), "{said}");
        // Nothing was lost in most of them, or they were not what calls waited for.
        for (cause, far) in [(Rule::NetworkLoss, [1, 0]), (Rule::NetworkDelay, [2, 5])] {
            let said = told(cause, [1, 0], far);
            assert!(
                said.ends_with("900 ns lie between on/client and wall."),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_nearer_the_server_is_less_than_nothing_longer() {
        let mut one = hop(["a", "b"], &[(1, 10_000, None)]);
        assert_eq!(one.longer_at_first_ns(), Some(10_000));
        one.diagnosis.captures[0].side = Some(Vantage::Server);
        assert_eq!(one.longer_at_first_ns(), Some(-10_000));
    }

    /// What is told of two hops that take so long, where a side is to blame.
    fn told(side: Side, near_ns: i64, far_ns: i64) -> String {
        let mut d = diagnosis(["on/client", "at/server"]);
        d.verdict.side = side;
        d.verdict.sentence = "So it is.".into();
        d.hops = vec![
            hop(["on/client", "wall"], &[(9, near_ns, None)]),
            hop(["wall", "at/server"], &[(9, far_ns, None)]),
        ];
        tell(&mut d);
        d.verdict.sentence.to_string()
    }

    #[test]
    fn the_hop_that_has_most_is_named_if_there_is_one_and_the_network_is_to_blame() {
        let far = "So it is. Of a call, 3.00 ms lie between wall and at/server.";
        assert_eq!(told(Side::Network, 2_000_000, 3_000_000), far);
        assert_eq!(told(Side::Network, 3_000_000, 3_000_000), "So it is.");
        assert_eq!(told(Side::Server, 2_000_000, 3_000_000), "So it is.");
    }

    #[test]
    fn where_calls_pass_says_nothing_of_connections_from_which_nothing_comes_back() {
        let mut d = diagnosis(["on/client", "at/server"]);
        (d.verdict.side, d.verdict.cause) = (Side::Network, Some(Rule::SilentPeer));
        d.verdict.sentence = "So it is.".into();
        d.hops = vec![
            hop(["on/client", "wall"], &[(9, 2_000_000, None)]),
            hop(["wall", "at/server"], &[(9, 3_000_000, None)]),
        ];
        tell(&mut d);
        assert_eq!(d.verdict.sentence.to_string(), "So it is.");
    }
}
