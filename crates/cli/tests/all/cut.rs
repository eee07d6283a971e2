//! `slowside cut` and `--anonymise`: what is written is what was captured, tshark reads it and its comments,
//! slowside reads the same calls in it, and with pseudonyms no name is left.
//!
//! On the captures of `tests/lab` and `tests/databases`, on made ones, and on public ones where they are at
//! hand (`../shared/samples`).

mod formats;
mod pseudonyms;

use crate::kit::{self, command, has, lab, refused, root, sample, slowside, text};
use formats::{conversation, described};
use model::LinkType;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Format, pcap};

fn folder(test: &str) -> PathBuf {
    kit::folder(&format!("cut-{test}"))
}

/// Cuts, and gives the files that were written.
fn cut(test: &str, inputs: &[&Path], arguments: &[&str]) -> Vec<PathBuf> {
    let folder = folder(test);
    let output = folder.join("out.pcapng");
    let mut all: Vec<&OsStr> = vec!["cut".as_ref(), "-o".as_ref(), output.as_ref()];
    all.extend(inputs.iter().map(|p| p.as_os_str()));
    all.extend(arguments.iter().map(OsStr::new));
    let done = slowside(all);
    let code = done.status.code();
    assert!(
        matches!(code, Some(0 | 3)),
        "{arguments:?}: {}",
        text(&done.stderr)
    );
    let entries = fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

/// What tshark says of each packet: time, lengths and a hash of its bytes, and its comment.
fn packets(path: &Path) -> Vec<(String, String)> {
    let output = Command::new("tshark")
        .args(["-o", "frame.generate_md5_hash:TRUE", "-r"])
        .arg(path)
        .args([
            "-T",
            "fields",
            "-E",
            "separator=|",
            "-e",
            "frame.time_epoch",
            "-e",
            "frame.len",
        ])
        .args([
            "-e",
            "frame.cap_len",
            "-e",
            "frame.encap_type",
            "-e",
            "frame.md5_hash",
        ])
        .args(["-e", "frame.comment"])
        .output()
        .expect("tshark");
    let packet = |line: &str| {
        let (packet, comment) = line.rsplit_once('|').expect("fields");
        (packet.to_owned(), comment.to_owned())
    };
    text(&output.stdout).lines().map(packet).collect()
}

/// `frame 12 of a.pcap: why` into number, file and reason.
fn comment(text: &str) -> Option<(usize, &str, &str)> {
    let (frame, rest) = text.strip_prefix("frame ")?.split_once(" of ")?;
    let (file, why) = rest.split_once(": ")?;
    Some((frame.parse().ok()?, file, why))
}

/// Every packet of `cut` is one of `original`, in its order, and each comment names the right frame.
/// Gives how many packets there are and how many have comments.
fn same_packets(cut: &Path, original: &Path) -> (usize, usize) {
    let (cut, original) = (packets(cut), packets(original));
    let mut rest = original.iter();
    for (packet, _) in &cut {
        assert!(
            rest.any(|(p, _)| p == packet),
            "{packet} is not in the capture, or out of order"
        );
    }
    let mut commented = 0;
    for (packet, said) in cut.iter().filter(|(_, c)| !c.is_empty()) {
        let (frame, _, why) = comment(said).unwrap_or_else(|| panic!("{said}"));
        assert_eq!(
            original.get(frame - 1).map(|(p, _)| p),
            Some(packet),
            "{said}"
        );
        assert!(!why.is_empty());
        commented += 1;
    }
    (cut.len(), commented)
}

/// The calls of a capture, by what names them in time, without frames and what depends on others.
fn calls(path: &Path, filter: &str) -> BTreeMap<(String, String), Vec<String>> {
    let mut arguments = vec![OsStr::new("calls"), path.as_os_str()];
    if !filter.is_empty() {
        arguments.extend([OsStr::new("--where"), OsStr::new(filter)]);
    }
    let output = slowside(arguments);
    let row = |line: &str| {
        let columns: Vec<&str> = line.split(',').collect();
        let at = |i: usize| columns.get(i).copied().unwrap_or_default().to_owned();
        // Operation, ends, times, bytes, outcome.
        let rest = [1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]
            .map(at)
            .to_vec();
        ((at(5), at(10)), rest)
    };
    text(&output.stdout).lines().skip(1).map(row).collect()
}

/// Calls that pass `filter` are cut, and read again are what they were.
fn same_calls(test: &str, path: &Path, filter: &str) {
    let wanted = calls(path, filter);
    assert!(
        !wanted.is_empty(),
        "{} has no call with {filter}",
        path.display()
    );
    let files = cut(test, &[path], &["--where", filter]);
    let read = calls(&files[0], "");
    for (key, call) in &wanted {
        assert_eq!(read.get(key), Some(call), "{key:?} of {}", path.display());
    }
}

#[test]
fn calls_that_are_cut_are_read_again_as_they_were() {
    for (name, filter) in [
        ("server-cap/server.pcap.zst", "response_time > 45ms"),
        (
            "server-cap/client.pcap.zst",
            "op = WRITE and response_time > 20ms",
        ),
        ("slow-server/client.pcap.zst", "response_time > 20ms"),
        ("packet-loss/client.pcap.zst", "response_time > 20ms"),
        ("nagle-delayed-ack/client.pcap.zst", "response_time > 30ms"),
    ] {
        let path = root().join("tests/lab").join(name);
        if path.exists() {
            same_calls("again", &path, filter);
        }
    }
    for folder in ["mysql", "pgsql"] {
        let folder = root().join("tests/databases").join(folder);
        let captures = fs::read_dir(folder)
            .expect("captures")
            .map(|e| e.expect("one").path());
        for path in captures.filter(|p| p.to_string_lossy().contains(".pcap")) {
            let all = calls(&path, "response_time > 100us");
            if !all.is_empty() {
                same_calls("again", &path, "response_time > 100us");
            }
        }
    }
}

#[test]
fn so_they_are_on_public_captures() {
    for name in [
        "nfs/nfsv2.pcap",
        "nfs/pcapplusplus-ip-frag.pcap",
        "nfs/nfs_bad_stalls.cap",
        "nfs/eth-ipv4-udp-nfsv3-dup-retransm.pcap",
        "tns/12_sqldeveloper12_2016.pcapng",
        "tns/trex-tun_oracle_0_fixed.pcap",
        "db/beats-mysql_int_string_operations.pcap",
    ] {
        let Some(path) = sample(name) else { return };
        same_calls("public", &path, "response_time > 5ms");
    }
}

#[test]
fn packets_are_those_of_the_capture_and_comments_name_them() {
    if !has("tshark") {
        return;
    }
    let server = lab("server-cap", "server");
    for (arguments, all) in [
        (&["--where", "response_time > 45ms"][..], false),
        (&["--where", "response_time > 45ms", "--only"], true),
        (&["--finding", "1"], false),
        (&["--finding", "server-concurrency-cap", "--only"], true),
        (&["--connection", "2"], false),
        (&["--frames", "812,845,900-910", "--only"], true),
        (&["--frames", "812,845,900-910"], false),
        (&["--from", "0.5s", "--to", "0.6s"], false),
    ] {
        let files = cut("packets", &[&server], arguments);
        let (packets, commented) = same_packets(&files[0], &server);
        assert!(commented > 0, "{arguments:?}");
        assert_eq!(
            packets == commented,
            all,
            "{arguments:?}: {packets}, {commented}"
        );
    }
    let files = cut(
        "packets",
        &[&server],
        &["--frames", "812,845,900-910", "--only"],
    );
    assert_eq!(packets(&files[0]).len(), 13);
}

/// Behind an opening and a hole a session of a database could not be read.
#[test]
fn a_time_is_cut_so_that_its_statements_are_read() {
    let capture = root().join("tests/databases/pgsql/pgbench_simple.pcap");
    let files = cut("time", &[&capture], &["--from", "0.1s"]);
    let (all, cut) = (calls(&capture, ""), calls(&files[0], ""));
    let same = cut.iter().filter(|(id, rest)| all.get(*id) == Some(*rest));
    let (same, read) = (same.count(), cut.len());
    // One may have begun before.
    assert!(read >= 50 && same + 2 >= read, "{same} of {read}");
}

#[test]
fn evidence_of_a_pair_is_cut_from_both() {
    let (client, server) = (lab("server-cap", "client"), lab("server-cap", "server"));
    let files = cut("pair", &[&server, &client], &["--finding", "1"]);
    let names: Vec<_> = files
        .iter()
        .filter_map(|f| f.file_name()?.to_str())
        .collect();
    assert_eq!(names, ["out-client.pcapng", "out-server.pcapng"]);
    let ids = |path: &Path| -> BTreeSet<String> {
        let complete = calls(path, "response_time > 40ms");
        complete.into_keys().map(|(id, _)| id).collect()
    };
    let both: BTreeSet<String> = ids(&files[0])
        .intersection(&ids(&files[1]))
        .cloned()
        .collect();
    assert!(both.len() >= 3, "{both:?}");
    if has("tshark") {
        same_packets(&files[0], &client);
        same_packets(&files[1], &server);
        let why: Vec<String> = packets(&files[1]).into_iter().map(|(_, c)| c).collect();
        let said = |part: &str| why.iter().filter(|c| c.contains(part)).count();
        assert_eq!(said("opening of a connection"), 3, "{why:?}");
        assert!(
            said("request of call 0x") >= 3 && said("finding 1 server-concurrency-cap") >= 6,
            "{why:?}"
        );
    }
}

#[test]
fn what_cannot_be_cut_is_said_with_the_cure() {
    let folder = folder("refused");
    let path = folder.join("a.pcap");
    fs::write(&path, pcap(&conversation(), LinkType(1), Format::ALL[1])).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let out = folder.join("out.pcapng");
    let out = out.to_str().expect("UTF-8");
    for (arguments, part) in [
        (&[][..], "say what to cut: --finding"),
        (&["--finding", "9"], "there is no finding 9"),
        (&["--finding", "nagel"], "did you mean `nagle`"),
        (&["--connection", "7"], "slowside conns --all shows"),
        (&["--call", "0x99"], "slowside calls"),
        (&["--where", "response_time > 9s"], "slowside calls"),
        (&["--frames", "5-3"], "812,845,900-910"),
        (&["--frames", "0"], "812,845,900-910"),
        (&["--frames", "b.pcap:1"], "no file is called b.pcap"),
        (&["--frames", "99"], "no packet is chosen"),
        (&["--frames", "1", "--anonymise=short"], "longer"),
    ] {
        let all = [&["cut", path, "-o", out], arguments].concat();
        let message = refused(&all);
        assert!(message.contains(part), "{message}");
        assert!(!Path::new(out).exists(), "{arguments:?}");
    }
    assert!(refused(["cut", path, "--frames", "1", "-o", path]).contains("is one of the captures"));
    let nowhere = refused(["cut", path, "--frames", "1", "-o", "/nowhere/x"]);
    assert!(nowhere.contains("cannot write /nowhere/x"), "{nowhere}");
    let two = refused(["cut", path, out, "--frames", "1", "-o", "-"]);
    assert!(two.contains("two captures make two files"), "{two}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn damaged_captures_are_survived(at in 0..2_000_usize, bytes in prop::collection::vec(any::<u8>(), 1..40), ng in any::<bool>()) {
        let packets = conversation();
        let mut file = if ng { described(&packets) } else { pcap(&packets, LinkType(1), Format::ALL[1]) };
        for (place, byte) in file.iter_mut().skip(at).zip(bytes) {
            *place = byte;
        }
        let folder = folder("damaged");
        let path = folder.join("a.pcap");
        fs::write(&path, file).expect("a file");
        for arguments in [["--from", "@0"], ["--where", "response_time >= 0"], ["--frames", "1-30"]] {
            let mut command = command(["cut", "--anonymise=a key for tests"]);
            command.arg(&path).args(arguments).arg("-o");
            let output = command.arg(folder.join("out.pcapng")).output().expect("the binary");
            prop_assert!(matches!(output.status.code(), Some(0 | 2 | 3)), "{:?}", output);
            prop_assert!(!text(&output.stderr).contains("panicked"));
        }
    }
}
