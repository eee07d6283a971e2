//! A capture whose connections are shared out among several who each take a part of it: the rows are those of one who
//! reads all of it.

use crate::kit::{EPOCH, MILLISECOND, Plan, SECOND, Script, TempFile, Wire};
use analysis::group::Key;
use analysis::results::ConnectionResult;
use analysis::sql::SqlKey;
use model::{Call, ConnectionId, Time};
use proptest::prelude::*;
use slowside::split::{self, Pieces, Shard};
use slowside::{Captures, Config, Error, calls, conns, diagnose, ops, sql};
use std::path::PathBuf;
use testkit::{Random, TestPacket, datagram, faults, fragments, rpc};

/// Rows as they are, but for numbers that are names within a run.
fn rows(captures: &Captures, config: &Config) -> Result<Vec<String>, Error> {
    let mut rows = Vec::new();
    let mut sink = |seen: &slowside::CallSeen<'_>| {
        let call = Call {
            order: 0,
            connection: ConnectionId(0),
            ..seen.call.clone()
        };
        let (judged, owners, path) = (&seen.judged, seen.owners, seen.path);
        rows.push(format!(
            "{call:?} {judged:?} {:?} {:?} {path:?} {owners:?}",
            seen.connection, seen.unpaired
        ));
        Ok(())
    };
    calls(captures, config, &mut sink, &mut |_| ())?;
    Ok(rows)
}

/// What is said of all of it at once.
fn said(captures: &Captures, config: &Config) -> Result<Vec<String>, Error> {
    let events = &mut |_: slowside::Event| ();
    let diagnosis = diagnose(captures, config, events)?;
    let conns = conns(captures, config, events)?;
    let rows = conns.connections.iter().map(|c| {
        let of_this_run = vec![ConnectionId(0); c.ids.len()];
        let mut c = ConnectionResult {
            ids: of_this_run,
            ..c
        };
        // No row has them, and only whoever looks at calls finds out.
        for d in &mut c.directions {
            (
                d.counts.small_released_by_ack,
                d.counts.small_while_unacknowledged,
            ) = (0, 0);
            (d.counts.late_acks_awaited, d.counts.late_acks_ignored) = (0, 0);
        }
        format!("{c:?}")
    });
    let conns = rows.collect::<Vec<_>>().join("\n") + &format!("{:?}", conns.captures);
    let sql = sql(captures, config, &[SqlKey::Statement], None, events)?;
    let mut said = vec![format!("{diagnosis:?}"), conns, format!("{sql:?}")];
    if let Captures::One(inputs) = captures {
        let ops = ops(inputs, config, &[Key::Op, Key::Client], events)?;
        said.push(format!("{ops:?}"));
    }
    Ok(said)
}

/// Rows of what was handed on.
fn handed_on(file: &TempFile, config: &Config) -> Result<Vec<String>, Error> {
    let config = Config {
        handed_on: true,
        ..config.clone()
    };
    rows(&Captures::One(file.paths()), &config)
}

/// Files that overlap in time, and those that do not each by itself; with the number of the first.
fn together(names: &[String]) -> Result<Vec<(u16, Vec<PathBuf>)>, Error> {
    let mut groups: Vec<(u16, Vec<PathBuf>)> = Vec::new();
    let mut latest: Option<Time> = None;
    for (file, name) in (0..).zip(names) {
        let span = split::span(name.into())?;
        let overlaps = span
            .zip(latest)
            .is_some_and(|([first, _], latest)| latest >= first);
        match groups.last_mut().filter(|_| overlaps) {
            Some((_, paths)) => paths.push(name.into()),
            None => groups.push((file, vec![name.into()])),
        }
        latest = latest.max(span.map(|[_, last]| last));
    }
    Ok(groups)
}

/// What so many shares of these files tell.
fn told(files: &[PathBuf], shares: usize, memory_bytes: u64) -> Result<TempFile, Error> {
    told_with(files, shares, memory_bytes, false)
}

/// The same, with accounts of all connections or of those whose calls say nothing.
fn told_with(
    files: &[PathBuf],
    shares: usize,
    memory_bytes: u64,
    accounts: bool,
) -> Result<TempFile, Error> {
    let (names, _) = split::files(files, true)?;
    let shard = |share| Shard::new(share, shares, names.clone(), memory_bytes, accounts);
    let mut shards: Vec<Shard> = (0..shares).map(shard).collect();
    let mut told = Vec::new();
    for (file, paths) in together(&names)? {
        let mut pieces = Pieces::open(&paths, file, shares)?;
        while let Some(of_batch) = pieces.next()? {
            for (share, (shard, piece)) in shards.iter_mut().zip(of_batch).enumerate() {
                let of_share = shard.take(&piece)?.into_iter();
                told.extend(of_share.map(|(number, bytes)| (number, share, bytes)));
            }
        }
    }
    for (share, shard) in shards.into_iter().enumerate() {
        let of_share = shard.finish()?.into_iter();
        told.extend(of_share.map(|(number, bytes)| (number, share, bytes)));
    }
    told.sort();
    let bytes = told.into_iter().map(|(_, _, bytes)| bytes);
    let all: Vec<Vec<u8>> = std::iter::once(split::TOLD.to_vec()).chain(bytes).collect();
    Ok(TempFile::new(&all.concat()))
}

/// Several clients of a server over TCP, one over UDP in fragments, with a silence in which connections are forgotten; some
/// packets are lost.
fn packets(seed: u64, lost_per_mille: u32) -> Vec<TestPacket> {
    let mut random = Random::new(seed);
    let server = ([10, 0, 0, 2], 2049).into();
    let mut all = Vec::new();
    for client in 0..5_u8 {
        let plan = Plan {
            calls: 30,
            ..Plan::default()
        };
        let client = ([10, 0, 1, client], 700 + u16::from(client)).into();
        let script = Script::between(client, server, plan, &mut random);
        all.extend(script.packets(Wire::default()));
    }
    let client = ([10, 0, 2, 1], 800).into();
    for id in 0..20_u32 {
        let at = 2 * SECOND + i64::from(id) * 9 * MILLISECOND;
        let request = rpc::read_call(id, &[3; 32], 0, 8_000);
        let reply = rpc::read_reply(id, &[7; 8_000], false);
        let request = datagram(at, client, server, id as u16, &request);
        let reply = datagram(
            at + 2 * MILLISECOND,
            server,
            client,
            900 + id as u16,
            &reply,
        );
        all.push(request);
        all.extend(fragments(&reply, 1_500, id));
    }
    all.sort_by_key(|p| p.time);
    let middle = all.len() / 2;
    for p in all.iter_mut().skip(middle) {
        p.time += 1_500 * SECOND;
    }
    let mut all = faults::clock(&all, EPOCH, 0);
    // A clock that is set back for a moment.
    if let Some(p) = all.get_mut(middle / 2) {
        p.time -= 40 * SECOND;
    }
    faults::lose(&all, lost_per_mille, &mut random)
}

fn files(packets: &[TestPacket], cuts: &[prop::sample::Index]) -> Vec<TempFile> {
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|c| 1 + c.index(packets.len() - 1))
        .collect();
    places.extend([0, packets.len()]);
    places.sort_unstable();
    places.dedup();
    let parts = places.windows(2).filter_map(|w| packets.get(w[0]..w[1]));
    parts.map(TempFile::capture).collect()
}

fn paths(files: &[TempFile]) -> Vec<PathBuf> {
    files.iter().flat_map(TempFile::paths).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_number_of_shares_has_the_rows_of_one_process(
        seed: u64,
        lost in 0u32..20,
        shares in 1usize..9,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let packets = packets(seed, lost);
        let files = files(&packets, &cuts);
        let config = Config { threads: 1, ..Config::default() };
        let told = told(&paths(&files), shares, config.memory_bytes).expect("readable files");
        let found = handed_on(&told, &config).expect("rows");
        prop_assert_eq!(found, rows(&Captures::One(paths(&files)), &config).expect("rows"));
    }

    #[test]
    fn what_they_tell_is_judged_and_listed_as_by_one_process(
        seed: u64,
        lost in 0u32..20,
        shares in 1usize..9,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let packets = packets(seed, lost);
        let files = files(&packets, &cuts);
        let config = Config { threads: 1, ..Config::default() };
        let told = told_with(&paths(&files), shares, config.memory_bytes, true).expect("readable files");
        let others = Config { handed_on: true, ..config.clone() };
        let found = said(&Captures::One(told.paths()), &others).expect("answers");
        let alone = said(&Captures::One(paths(&files)), &config).expect("answers");
        prop_assert_eq!(found, alone);
    }

    #[test]
    fn so_are_two_ends(seed: u64, lost in 0u32..20, shares in [1usize..9, 1usize..9]) {
        let mut random = Random::new(seed);
        let packets = packets(seed, 0);
        let client = faults::lose(&packets, lost, &mut random);
        let mut server = faults::clock(&packets, 0, 20);
        for p in &mut server {
            p.time += 7 * MILLISECOND;
        }
        let ends = [client, server].map(|packets| TempFile::capture(&packets));
        let [client, server] = ends.each_ref().map(TempFile::paths);
        let alone = Captures::Sides { client, server };
        let told: Vec<TempFile> = (ends.iter().zip(shares))
            .map(|(end, shares)| told_with(&end.paths(), shares, 1 << 30, true).expect("readable files"))
            .collect();
        let handed = Captures::Sides { client: told[0].paths(), server: told[1].paths() };
        let config = Config { threads: 1, ..Config::default() };
        let others = Config { handed_on: true, ..config.clone() };
        prop_assert_eq!(said(&handed, &others).expect("answers"), said(&alone, &config).expect("answers"));
        let rows_of = |captures: &Captures, config: &Config| rows(captures, config).expect("rows");
        prop_assert_eq!(rows_of(&handed, &others), rows_of(&alone, &config));
    }

    #[test]
    fn so_it_has_of_files_that_overlap_in_time(seed: u64, shares in 1usize..5, ports in 2u64..4) {
        let mut random = Random::new(seed);
        let mut parts = vec![Vec::new(); 2 * ports as usize];
        let packets = packets(seed, 0);
        for (n, packet) in packets.iter().enumerate() {
            // Ports that were captured apart, in two files each.
            let port = random.below(ports) as usize;
            let later = usize::from(n > packets.len() / 2) * ports as usize;
            parts[port + later].push(packet.clone());
        }
        let files: Vec<TempFile> = parts.iter().map(|part| TempFile::capture(part)).collect();
        let told = told(&paths(&files), shares, 1 << 30).expect("readable files");
        let config = Config { threads: 1, ..Config::default() };
        let found = handed_on(&told, &config).expect("rows");
        prop_assert_eq!(found, rows(&Captures::One(paths(&files)), &config).expect("rows"));
    }

    #[test]
    fn no_bytes_hurt_a_shard_or_who_reads_what_it_told(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        place: prop::sample::Index,
        value: u8,
    ) {
        let _ = Shard::new(0, 2, Vec::new(), 1 << 30, false).take(&bytes);
        let file = TempFile::capture(&packets(1, 0));
        let mut pieces = Pieces::open(&file.paths(), 0, 2).expect("a capture");
        let mut piece = pieces.next().expect("readable").expect("a batch").swap_remove(0);
        let at = place.index(piece.len().min(400));
        piece[at] = value;
        let _ = Shard::new(0, 2, Vec::new(), 1 << 30, false).take(&piece);
        for head in [split::TOLD, split::SEEN] {
            let file = TempFile::new(&[&head[..], &bytes].concat());
            let _ = handed_on(&file, &Config::default());
        }
        let told = told(&paths(&[file]), 2, 1 << 30).expect("a capture");
        let mut bytes = std::fs::read(&told.0).expect("readable");
        let at = place.index(bytes.len());
        bytes[at] = value;
        let _ = handed_on(&TempFile::new(&bytes), &Config::default());
    }
}

#[test]
fn what_one_process_would_forget_for_want_of_memory_is_refused() {
    let files = files(&packets(1, 0), &[]);
    let refused = |told: Result<TempFile, Error>| told.err().expect("an error").to_string();
    // Of each share alone, and of all together.
    assert!(refused(told(&paths(&files), 2, 4_000)).contains("memory="));
    let told = told(&paths(&files), 2, 1 << 30).expect("room");
    let config = Config {
        memory_bytes: 4_000,
        ..Config::default()
    };
    let refused = handed_on(&told, &config).expect_err("no room");
    assert!(refused.to_string().contains("memory="), "{refused}");
}

/// A file from a stranger that begins like one is no capture.
#[test]
fn nothing_is_handed_on_unasked() {
    let told = told(&paths(&files(&packets(1, 0), &[])), 2, 1 << 30).expect("readable files");
    let refused = rows(&Captures::One(told.paths()), &Config::default()).expect_err("no capture");
    assert!(refused.to_string().contains("capture"), "{refused}");
}
