use super::*;
use proptest::prelude::*;

fn episode(kind: EpisodeKind, first: i64, last: i64) -> Episode {
    let mark = |at| Mark {
        time: Time(at),
        packet: PacketRef { file: 0, frame: 1 },
    };
    let end = Endpoint {
        address: [10, 0, 0, 1].into(),
        port: 1,
    };
    Episode {
        order: 0,
        connection: ConnectionId(7),
        client: end,
        server: end,
        kind,
        direction: Direction::ToClient,
        first: mark(first),
        last: mark(last),
        retransmissions: 0,
        timeouts: 0,
        spurious: false,
        duplicates_cut_off: false,
        window: 0,
        resent: Vec::new(),
    }
}

proptest! {
    /// In whatever order stretches are told, and also where the oldest are forgotten or runs are joined.
    #[test]
    fn what_overlaps_is_found(list in prop::collection::vec((0..9_000_000i64, 0..3_000_000i64, any::<bool>()), 0..700), from in 0..9_000_000i64, long in 0..3_000_000i64) {
        let mut facts = CaptureFacts::default();
        for (first, long, joins) in list {
            let kind = if joins { EpisodeKind::SmallWindow } else { EpisodeKind::Recovery };
            facts.episode(&episode(kind, first, first + long));
        }
        let (from, to) = (Time(from), Time(from + long));
        let id = ConnectionId(7);
        let span = |t: &Trouble| (t.first, t.last);
        let found: Vec<_> = facts.overlapping(id, from, to).map(span).collect();
        let all = facts.troubles.get(&id).into_iter().flatten();
        let expected: Vec<_> = all.filter(|t| t.first <= to && t.last >= from).map(span).collect();
        prop_assert_eq!(found, expected);
    }
}
