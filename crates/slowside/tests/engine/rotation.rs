//! A capture in several files: the calls are those of one file.

use crate::kit::{Plan, Row, Script, TempFile, Wire, rows};
use model::LinkType;
use proptest::prelude::*;
use std::path::PathBuf;
use testkit::{Format, Random, TestPacket, pcap, pcapng};

fn script(seed: u64) -> (Script, Vec<TestPacket>) {
    let plan = Plan {
        calls: 40,
        ..Plan::default()
    };
    let script = Script::new(plan, &mut Random::new(seed));
    let packets = script.packets(Wire::default());
    (script, packets)
}

/// The files' calls, given in any order.
fn rows_of_files(files: &[Vec<TestPacket>], random: &mut Random, threads: usize) -> Vec<Row> {
    let files: Vec<TempFile> = files
        .iter()
        .map(|packets| {
            let formats: Vec<Format> = Format::ALL.into_iter().filter(|f| f.nanoseconds).collect();
            let format = formats[random.below(formats.len() as u64) as usize];
            let write = if random.chance(500) { pcap } else { pcapng };
            TempFile::new(&write(packets, LinkType(1), format))
        })
        .collect();
    let mut paths: Vec<PathBuf> = files.iter().flat_map(TempFile::paths).collect();
    for i in (1..paths.len()).rev() {
        paths.swap(i, random.below(i as u64 + 1) as usize);
    }
    rows(&paths, threads)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn calls_go_on_across_rotated_files(seed: u64, mut cuts in proptest::collection::vec(any::<prop::sample::Index>(), 1..6)) {
        let (script, packets) = script(seed);
        cuts.sort_by_key(|c| c.index(packets.len()));
        let mut rest = packets.as_slice();
        let mut files = Vec::new();
        for cut in &cuts {
            // Packets of one moment stay together: which file is first could not be told.
            let from = packets.len() - rest.len();
            let mut at = cut.index(packets.len()).max(from) - from;
            while at > 0 && at < rest.len() && rest[at].time == rest[at - 1].time {
                at += 1;
            }
            let (file, later) = rest.split_at(at);
            files.push(file.to_vec());
            rest = later;
        }
        files.push(rest.to_vec());
        prop_assert_eq!(rows_of_files(&files, &mut Random::new(seed), 1), script.truth);
    }

    #[test]
    fn files_that_overlap_are_merged_by_time(seed: u64, files in 2usize..6, threads in 1usize..4) {
        let (script, packets) = script(seed);
        let mut random = Random::new(seed);
        let mut parts = vec![Vec::new(); files];
        for packet in packets {
            parts[random.below(files as u64) as usize].push(packet);
        }
        prop_assert_eq!(rows_of_files(&parts, &mut random, threads), script.truth);
    }

    #[test]
    fn ports_that_both_saw_some_packets_count_them_once(seed: u64, share in 0u32..=1000) {
        let (script, packets) = script(seed);
        let mut random = Random::new(seed);
        let twice = testkit::faults::lose(&packets, 1000 - share, &mut random);
        prop_assert_eq!(rows_of_files(&[packets, twice], &mut random, 1), script.truth);
    }
}
