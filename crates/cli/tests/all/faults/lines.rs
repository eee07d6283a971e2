//! What each command is asked while its calls fail: small captures, in every way that inputs come and outputs go.

use crate::command::Listening;
use crate::kit::{self, lab, root};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// `P` is a capture as it is, `G` the same packed by gzip and `D` a folder of its halves, `Z` and `Y` those of two ends packed by
/// Zstandard, `S` a saved run, `T` a trace, `HOST` a probe's listener and `TOKEN` its token, `O` a folder to write to.
pub(super) const LINES: &[&str] = &[
    "diagnose Z Y --threads 2",
    "diagnose D --format json --threads 3",
    "diagnose --client Z --server Y --save O/run.saved --format markdown --threads 1",
    "diagnose G --app T --threads 1",
    "calls P --threads 3",
    "calls Z Y --format jsonl --threads 1",
    "calls P --sort start --threads 1",
    "calls P --format parquet -o O/calls.parquet --threads 1",
    "stat P --format arrow --threads 1",
    "ops P --by op,client,time=10ms --format json --threads 3",
    "ops - --threads 1 --anonymise=a-long-key",
    "conns Z --format json --threads 2",
    "conns Z --series 1s --format csv --threads 1",
    "sql P --all --threads 3",
    "startup Z --threads 1",
    "info Z --format json --threads 2",
    "info D G --threads 1",
    "stat P --format jsonl --threads 2",
    "live - --format json --interval 10ms --threads 2",
    "live P --format json --interval 10s --threads 1 --when p99>1ns --files 1 --write O/moment.pcapng",
    "whatif P --rtt 1ms --threads 1",
    "compare P P --format json --threads 2",
    "compare S P -o O/page.html --threads 1",
    "report Z Y -o O/page.html --threads 2",
    "cut Z --from @0 -o O/cut.pcapng --threads 1",
    "cut P --frames 3-9 -o O/cut.pcapng --anonymise=a-long-key --threads 1",
    "trace T",
    "trace - --format json",
    "probe HOST --connect-only --rate 200 --duration 20ms --warm-up 0 --histogram O/times.hgrm",
    "probe HOST --token-file TOKEN --duration 20ms --warm-up 0 --format json",
    "probe --listen 127.0.0.1:0 --token-file TOKEN",
    "demo reset-by-server --dir O",
    "explain nagle",
    "completions bash",
    "man",
    "man --dir O",
    "capture --help",
    "calls --help",
];

/// Of the format of `P`.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// What the lines name.
pub(super) struct Inputs {
    folder: PathBuf,
    listening: Listening,
}

impl Inputs {
    pub(super) fn new(test: &str) -> Inputs {
        let test = format!("faults-{test}");
        let inputs = Inputs {
            folder: kit::folder(&test),
            listening: Listening::new(&format!("{test}-listener"), &[]),
        };
        let write = |name: &str, bytes: &[u8]| {
            fs::write(inputs.folder.join(name), bytes).expect("cargo's folder for tests");
        };
        let capture = fs::read(inputs.path("P")).expect("a capture");
        fs::create_dir(inputs.path("D")).expect("cargo's folder for tests");
        let packet = |at: usize| capture.get(at + 8..at + 12)?.try_into().ok();
        let mut ends = std::iter::successors(Some(FILE_HEADER), |&at| {
            Some(at + PACKET_HEADER + u32::from_le_bytes(packet(at)?) as usize)
        });
        let middle = ends.nth(10).expect("packets");
        write("D/a.pcap", &capture[..middle]);
        write(
            "D/b.pcap",
            &[&capture[..FILE_HEADER], &capture[middle..]].concat(),
        );
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(&capture).expect("a vector");
        write("G", &packed.finish().expect("a vector"));
        let words = ["diagnose", "P", "-q", "--save", "S"].map(|w| inputs.path(w));
        kit::said(words);
        inputs
    }

    /// A line with what it names; `out` is the folder to write to.
    pub(super) fn words(&self, line: &str, out: &Path) -> Vec<PathBuf> {
        let word = |word: &str| match word.strip_prefix("O/") {
            Some(name) => out.join(name),
            None if word == "O" => out.to_owned(),
            None => self.path(word),
        };
        line.split(' ').map(word).collect()
    }

    /// What standard input is.
    pub(super) fn input(&self, line: &str) -> Option<PathBuf> {
        let name = if line.starts_with("trace") { "T" } else { "P" };
        line.contains(" - ").then(|| self.path(name))
    }

    fn path(&self, word: &str) -> PathBuf {
        match word {
            "P" => root().join("tests/databases/pgsql/pipeline.pcap"),
            "Z" => lab("chatty", "client"),
            "Y" => lab("chatty", "server"),
            "T" => root().join("tests/field/i29-trace/PROD_ora_4711.trc"),
            "D" | "G" | "S" => self.folder.join(word),
            "HOST" => PathBuf::from(&self.listening.address),
            "TOKEN" => self.listening.token.clone(),
            _ => PathBuf::from(word),
        }
    }
}
