//! Compression, damage, and what is no log at all.

use super::{error, read_named, times};
use std::io::Write;
use std::path::{Path, PathBuf};

const CSV: &[u8] = b"start_ns,end_ns\n1,2\n3,4\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_told_by_its_magic_number_and_may_have_several_members() {
    let mut members = gzip(CSV);
    members.extend(gzip(b"5,6\n"));
    let found = read_named(&[("log.csv", &members)], 10).unwrap();
    assert_eq!(times(&found), [(1, 2), (3, 4), (5, 6)]);
}

#[test]
fn a_cut_gzip_file_gives_what_it_has() {
    let mut text = CSV.to_vec();
    for i in 0..20_000_u32 {
        text.extend(format!("{},{}\n", i * 7, i * 7 + 100 + i % 13).bytes());
    }
    let whole = gzip(&text);
    for share in [8, 2] {
        let cut = &whole[..whole.len() - whole.len() / share];
        let found = read_named(&[("log.csv.gz", cut)], 100_000).unwrap();
        assert!(found.operations.len() > 1000);
        assert_eq!(found.skipped_lines, 1);
        let first = found.first_skipped.unwrap();
        assert!(
            first.contains("the compressed file is damaged here"),
            "{first}"
        );
    }
}

#[test]
fn a_line_without_end_is_counted_and_the_next_one_read() {
    let mut text = CSV.to_vec();
    text.extend(std::iter::repeat_n(b'9', 300_000));
    text.extend(b"\n5,6");
    let found = read_named(&[("log", &text)], 10).unwrap();
    assert_eq!(times(&found), [(1, 2), (3, 4), (5, 6)]);
    assert_eq!(
        found.first_skipped.as_deref(),
        Some("log, line 4: longer than 65536 bytes")
    );
}

#[test]
fn what_is_no_log_is_refused_with_the_cure() {
    for page in [
        "<html lang=\"en\"><head><title>AWR Report",
        "\n<!DOCTYPE HTML>\n<html>",
    ] {
        assert_eq!(
            error(page),
            "log is a page (HTML); have it written as text; Oracle's awrrpt.sql asks which"
        );
    }
    assert_eq!(
        error(""),
        "log is empty; wait until the application has written and closed its log"
    );
    assert!(error("\n \n").starts_with("log is empty; "));
    let nfsd =
        "rc 0 5 7\nfh 0 0 0 0 0\nio 812 93\nth 8 0 0.000 0.000\nnet 9 0 9 1\nrpc 9 0 0 0 0\n";
    assert!(
        error(nfsd)
            .starts_with("log is /proc/net/rpc/nfsd, which counts operations and says no time")
    );
    assert!(error("\nhello\n").starts_with("log, line 2: \"hello\" is no latency log; "));
    let refused = |bytes: &[u8]| read_named(&[("log", bytes)], 10).unwrap_err().to_string();
    assert_eq!(
        refused(b"\x28\xb5\x2f\xfdxxxx"),
        "log is zstd-compressed; decompress it with zstd -d"
    );
    assert_eq!(
        refused(b"\xff\xfes\0t\0"),
        "log is UTF-16 text; save it as UTF-8"
    );
    assert!(refused(b"\xd4\xc3\xb2\xa1\x02\0\x04\0").starts_with("log is binary; "));
    assert!(refused(b"\x1f\x8bnonsense").starts_with("cannot read log: "));
}

#[test]
fn files_of_two_formats_are_refused() {
    let message = read_named(&[("a", CSV), ("b", b"5, 10, 0, 4096\n")], 10)
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "a is CSV, but b is a fio latency log; give files of one format"
    );
}

#[test]
fn paths_that_cannot_be_read_are_named() {
    let message = crate::read(&[]).unwrap_err().to_string();
    assert_eq!(message, "no file given for --app; name a latency log");
    let message = crate::read(&[PathBuf::from("/nonexistent/ops.csv")]);
    let message = message.unwrap_err().to_string();
    assert!(
        message.starts_with("cannot open /nonexistent/ops.csv: "),
        "{message}"
    );
}

#[test]
fn a_real_log_is_read_whole() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/lab/out/n6/client_ops.csv.gz");
    if !path.exists() {
        eprintln!("skipped: {} is absent", path.display());
        return;
    }
    let found = crate::read(&[path]).unwrap();
    assert!(found.operations.len() > 1000);
    assert_eq!((found.skipped_lines, found.beyond_limit), (0, 0));
    assert!(
        found
            .operations
            .iter()
            .all(|o| o.absolute && o.start_ns < o.end_ns)
    );
}
