//! What the program that captured says it counted, into what a capture whose file says nothing of it lost. Which capture
//! it was: of the host's side, or the only one, and of as many packets.

use super::{Ends, whose};
use crate::results::{CaptureResult, CountsFit, Side, Vantage};
use trace::host::{CaptureCounts, Host};

/// Tells captures what they lost, where hosts say it and files do not.
pub(crate) fn tell_drops(hosts: &[Host], ends: &Ends, results: &mut [CaptureResult]) {
    for host in hosts {
        let (side, _) = whose::of(host, ends);
        let Some((capture, fit)) = fits(host, side, results) else {
            continue;
        };
        let lost = host.counts.and_then(|c| c.lost());
        // Of a part it is known only if the whole lost nothing.
        let lost = match fit {
            CountsFit::Whole => lost,
            CountsFit::Part => lost.filter(|n| *n == 0),
            CountsFit::Other | CountsFit::NoCapture => None,
        };
        if let Some(result) = capture.and_then(|i| results.get_mut(i)) {
            result.dropped = result.dropped.max(lost);
        }
    }
}

/// Which capture it was, and how that fits; `None` where the host counted none.
fn fits(
    host: &Host,
    side: Option<Side>,
    results: &[CaptureResult],
) -> Option<(Option<usize>, CountsFit)> {
    let captured = host.counts?.captured?;
    let at = match side {
        Some(Side::Client) => Some(Vantage::Client),
        Some(Side::Server) => Some(Vantage::Server),
        _ => None,
    };
    let is_own = |r: &CaptureResult| at.is_some() && r.side == at;
    let has_own = results.iter().any(is_own);
    let all = results.iter().enumerate();
    let candidates: Vec<_> = all.filter(|(_, r)| !has_own || is_own(r)).collect();
    if let Some((i, _)) = candidates.iter().find(|(_, r)| r.packets == captured) {
        return Some((Some(*i), CountsFit::Whole));
    }
    let [(i, result)] = candidates.as_slice() else {
        return Some((None, CountsFit::NoCapture));
    };
    // The only capture may be the other end's.
    let is_others =
        at.is_some() && !has_own && matches!(result.side, Some(Vantage::Client | Vantage::Server));
    Some(match captured > result.packets {
        _ if is_others => (None, CountsFit::NoCapture),
        true => (Some(*i), CountsFit::Part),
        false => (None, CountsFit::Other),
    })
}

/// What a host counted, and how that fits.
pub(super) fn of(
    host: &Host,
    side: Option<Side>,
    results: &[CaptureResult],
) -> Option<(CaptureCounts, CountsFit)> {
    let (_, fit) = fits(host, side, results)?;
    Some((host.counts?, fit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::host::End;

    /// What captures of so many packets, each taken there, are told to have lost.
    fn lost(captures: &[(u64, Vantage)], said: Option<End>, counted: [u64; 2]) -> Vec<Option<u64>> {
        let result = |(packets, side): &(u64, Vantage)| CaptureResult {
            packets: *packets,
            side: Some(*side),
            ..CaptureResult::default()
        };
        let mut results: Vec<CaptureResult> = captures.iter().map(result).collect();
        let host = Host {
            said,
            counts: Some(CaptureCounts {
                captured: Some(counted[0]),
                dropped: Some(counted[1]),
                ..CaptureCounts::default()
            }),
            ..Host::default()
        };
        tell_drops(&[host], &Ends::default(), &mut results);
        results.iter().map(|r| r.dropped).collect()
    }

    #[test]
    fn the_capture_of_that_side_and_that_many_packets_is_told() {
        let both = [(100, Vantage::Client), (100, Vantage::Server)];
        assert_eq!(lost(&both, Some(End::Server), [100, 3]), [None, Some(3)]);
        assert_eq!(lost(&both, Some(End::Client), [100, 0]), [Some(0), None]);
        let differ = [(100, Vantage::Client), (90, Vantage::Server)];
        assert_eq!(lost(&differ, None, [90, 3]), [None, Some(3)]);
        assert_eq!(lost(&[(100, Vantage::Unknown)], None, [100, 3]), [Some(3)]);
    }

    #[test]
    fn a_part_is_told_nothing_but_that_the_whole_lost_nothing() {
        let one = [(100, Vantage::Client)];
        assert_eq!(lost(&one, None, [500, 3]), [None]);
        assert_eq!(lost(&one, None, [500, 0]), [Some(0)]);
    }

    #[test]
    fn what_is_of_another_capture_is_left_out() {
        let one = [(100, Vantage::Client)];
        assert_eq!(lost(&one, None, [99, 0]), [None]);
        assert_eq!(lost(&one, Some(End::Server), [500, 0]), [None]);
        let both = [(100, Vantage::Client), (90, Vantage::Server)];
        assert_eq!(lost(&both, None, [500, 0]), [None, None]);
    }
}
