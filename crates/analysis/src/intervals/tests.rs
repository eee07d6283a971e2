use super::*;
use model::{Cast, Mark, PacketRef};

fn packet(order: u64, ms: i64, length: u32) -> Sight {
    Sight {
        order,
        at: Mark {
            time: Time(1_700_000_000_000_000_000 + ms * 1_000_000),
            packet: PacketRef {
                file: 0,
                frame: order as u32 + 1,
            },
        },
        length,
        captured: length,
        kind: SightKind::Udp,
        cast: Cast::Unknown,
        vlan: None,
        addresses: None,
        ports: None,
    }
}

fn rows(packets: &[(i64, u32)], width_ms: i64) -> (Vec<IntervalRow>, IntervalRow) {
    let mut intervals = Intervals::new(width_ms * 1_000_000);
    let mut rows = Vec::new();
    for (i, &(ms, length)) in packets.iter().enumerate() {
        intervals.packet(&packet(i as u64, ms, length));
        intervals.take(&mut |row| rows.push(*row));
    }
    let total = intervals.finish(&mut Problems::default(), &mut |row| rows.push(*row));
    (rows, total)
}

#[test]
fn intervals_begin_with_the_first_packet_and_empty_ones_are_there() {
    let (rows, total) = rows(&[(3, 60), (12, 100), (13, 200), (45, 60)], 10);
    let counts: Vec<u64> = rows.iter().map(|r| r.sizes.count).collect();
    assert_eq!(counts, [2, 1, 0, 0, 1]);
    assert_eq!(rows[0].start.0 % 1_000_000_000, 3_000_000);
    assert_eq!(rows[0].sizes.mean(), Some(80.0));
    assert_eq!(rows[0].sizes.deviation(), Some(20.0));
    assert_eq!(
        (rows[2].sizes.mean(), rows[2].sizes.deviation()),
        (None, None)
    );
    assert_eq!((total.sizes.count, total.sizes.bytes), (4, 420));
    assert_eq!(total.width_ns, 42_000_000);
}

#[test]
fn packets_out_of_order_find_their_interval_and_none_is_lost() {
    let (rows, total) = rows(&[(0, 60), (25, 60), (9, 60), (21, 60), (-5, 60)], 10);
    let counts: Vec<u64> = rows.iter().map(|r| r.sizes.count).collect();
    assert_eq!(counts, [3, 0, 2]);
    assert_eq!(total.sizes.count, 5);
}

#[test]
fn a_day_of_silence_is_left_out() {
    let (rows, _) = rows(&[(0, 60), (86_400_000, 60)], 1);
    assert_eq!(rows.len(), 2);
}

#[test]
fn silences_are_written_as_far_as_packets_pay_for_them() {
    let packets: Vec<_> = (0..100).map(|n| (n * 9_000, 60)).collect();
    let (rows, _) = rows(&packets, 1);
    let most = limits::EMPTY_INTERVALS + 100 * limits::EMPTY_FOR_EACH;
    // One silence is, and when the others have paid for it another one.
    assert!(
        rows.len() > 9_000 && rows.len() as i64 <= most + 100,
        "{}",
        rows.len()
    );
    assert_eq!(rows.iter().filter(|r| r.sizes.count > 0).count(), 100);
}

#[test]
fn what_the_bounds_change_is_counted() {
    // Behind more open intervals than the bound a packet comes too late for its own, and a long silence
    // is left out.
    let open = limits::OPEN_INTERVALS as i64;
    let mut intervals = Intervals::new(1_000_000);
    for (n, ms) in (0..open + 9).chain([2, 3, 100_000]).enumerate() {
        intervals.packet(&packet(n as u64, ms, 60));
        intervals.take(&mut |_| {});
    }
    let mut problems = Problems::default();
    let total = intervals.finish(&mut problems, &mut |_| {});
    assert_eq!(total.sizes.count, open as u64 + 12);
    let counts: Vec<_> = problems.iter().map(|(kind, p)| (kind, p.count)).collect();
    let silence = 100_000 - (open as u64 + 9);
    let expected = [
        ("empty-intervals-left-out", silence),
        ("intervals-closed", 2),
    ];
    assert_eq!(counts, expected);
    // None of them is damage.
    assert!(!problems.any_damage());
}
