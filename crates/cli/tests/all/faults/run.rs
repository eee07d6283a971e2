//! A line and a fault into what became of it: how it ended, what it said, which files it left.

use super::lines::Inputs;
use crate::kit::{SLOWSIDE, folder, root, signal};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A run that takes longer hangs. Without faults none takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(20);

/// Which calls fail, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    /// A letter of `shim.c`.
    pub(super) kind: char,
    pub(super) error: u32,
    pub(super) from: u32,
    pub(super) until: u32,
}

/// What became of a line.
#[derive(Debug)]
pub(super) struct Ran {
    /// `None` where it had to be killed.
    pub(super) status: Option<ExitStatus>,
    pub(super) output: Vec<u8>,
    pub(super) said: String,
    /// What lies in the folder that it was to write to.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// How many calls of the kind there were.
    pub(super) calls: u32,
    pub(super) failed: u32,
    /// The descriptor of the last that failed, where there was one.
    pub(super) of: i32,
}

/// The library that lets calls fail.
fn shim() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = folder("faults-shim").join("shim.so");
        let source = root().join("crates/cli/tests/all/faults/shim.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&made)
            .arg(source)
            .arg("-ldl");
        assert!(cc.status().expect("a C compiler").success());
        made
    })
}

/// The files of a folder, and of those in it.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the test's own folder");
    let path = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").path();
    let within = |path: PathBuf| match path.is_dir() {
        true => files_in(&path),
        false => vec![path],
    };
    entries.map(path).flat_map(within).collect()
}

/// Where runs of one test go, one after the other.
pub(super) struct Runs {
    inputs: Inputs,
    folder: PathBuf,
}

impl Runs {
    pub(super) fn new(test: &str) -> Runs {
        Runs {
            inputs: Inputs::new(test),
            folder: folder(&format!("faults-{test}-runs")),
        }
    }

    pub(super) fn run(&self, line: &str, fault: Fault) -> Ran {
        let mut command = Command::new(SLOWSIDE);
        command
            .env("LD_PRELOAD", shim())
            .env("FAULT_FILE", self.folder.join("told"))
            .env("FAULT_KIND", fault.kind.to_string())
            .env("FAULT_ERROR", fault.error.to_string())
            .env("FAULT_FROM", fault.from.to_string())
            .env("FAULT_UNTIL", fault.until.to_string());
        self.started(command, line)
    }

    /// With so much memory, in KiB.
    pub(super) fn limited(&self, line: &str, limit: Option<u32>) -> Ran {
        let mut command = Command::new("sh");
        let limit = limit.map_or_else(String::new, |limit| format!("ulimit -v {limit}; "));
        let script = format!("{limit}exec \"$0\" \"$@\"");
        command.args(["-c", &script, SLOWSIDE]);
        self.started(command, line)
    }

    fn started(&self, mut command: Command, line: &str) -> Ran {
        // What is said is one line, where nobody has asked for more.
        command.env_remove("RUST_BACKTRACE");
        let at = |name: &str| self.folder.join(name);
        let (told, out, files) = (at("told"), at("output"), at("files"));
        let _ = fs::remove_dir_all(&files);
        fs::create_dir(&files).expect("the test's own folder");
        fs::write(&told, [0; 12]).expect("the test's own folder");
        let create = |path: &Path| File::create(path).expect("the test's own folder");
        let input = match self.inputs.input(line) {
            Some(path) => File::open(path).expect("a file").into(),
            None => Stdio::null(),
        };
        let child = command
            .args(self.inputs.words(line, &files))
            .env("TZ", "UTC")
            .stdin(input)
            .stdout(create(&out))
            .stderr(create(&at("said")))
            .spawn();
        let status = ended(child.expect("the binary that cargo built"), &out);
        let read = |path: PathBuf| fs::read(path).expect("the test's own folder");
        let told = read(told);
        let number = |at: usize| u32::from_ne_bytes(told[at..at + 4].try_into().expect("four"));
        let paths = files_in(&files).into_iter();
        let named = |path: &PathBuf| path.file_name().map(|n| n.to_string_lossy().into_owned());
        Ran {
            status,
            files: paths.filter_map(|p| Some((named(&p)?, read(p)))).collect(),
            output: read(out),
            said: String::from_utf8_lossy(&read(at("said"))).into_owned(),
            calls: number(0),
            failed: number(4),
            of: number(8).cast_signed(),
        }
    }
}

/// Waits for the end. Who listens is visited and then asked to stop.
fn ended(mut child: Child, out: &Path) -> Option<ExitStatus> {
    let begun = Instant::now();
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return Some(status);
        }
        let said = fs::read_to_string(out).unwrap_or_default();
        let listens = said
            .strip_prefix("Listening at ")
            .and_then(|l| l.split_once(';'));
        if let Some((address, _)) = listens.filter(|_| !asked) {
            drop(TcpStream::connect(address));
            sleep(Duration::from_millis(30));
            // What fails may have ended it.
            let _ = signal("INT", child.id());
            asked = true;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().expect("it hangs");
            child.wait().expect("an end");
            return None;
        }
        sleep(Duration::from_micros(500));
    }
}
