//! A program on this host with a limit of time and a bound on what it says.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// What is kept of standard error: a line of it is shown.
const SAID: usize = 16 << 10;

/// Behind the end of a program, how long another that has its standard error (a master of ssh) is waited for.
const LINGERS: Duration = Duration::from_millis(300);

/// Why it did not do what it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot start {program}: {error}")]
    Start { program: String, error: io::Error },
    #[error("no answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("more than {0} bytes came")]
    Long(u64),
    #[error("{said}")]
    Failed { code: Option<i32>, said: String },
    #[error("cannot keep what came: {0}")]
    Sink(io::Error),
}

impl Failure {
    /// Whether ssh itself failed, and not what it was asked to run.
    #[must_use]
    pub(crate) fn is_of_the_way(&self) -> bool {
        matches!(
            self,
            Failure::Late(_)
                | Failure::Start { .. }
                | Failure::Failed {
                    code: Some(255) | None,
                    ..
                }
        )
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
}

enum Piece {
    Out(Vec<u8>),
    Err(Vec<u8>),
    OutEnds,
    ErrEnds,
}

/// Runs it to its end: `input` into it, what it writes into `sink`. Ctrl-C does not reach it.
pub(crate) fn run(
    mut command: Command,
    input: &[u8],
    bounds: Bounds,
    sink: &mut dyn Write,
) -> Result<(), Failure> {
    apart(&mut command);
    run_at_terminal(command, input, bounds, sink)
}

/// The same of what may have to ask somebody at the terminal, which is for its foreground alone.
pub(crate) fn run_at_terminal(
    mut command: Command,
    input: &[u8],
    bounds: Bounds,
    sink: &mut dyn Write,
) -> Result<(), Failure> {
    let deadline = Instant::now() + bounds.time;
    let mut child = start(&mut command)?;
    let (pieces, come) = sync_channel(16);
    read(
        child.stdout.take(),
        pieces.clone(),
        Piece::Out,
        Piece::OutEnds,
    );
    read(child.stderr.take(), pieces, Piece::Err, Piece::ErrEnds);
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_vec();
        // Who ends without reading has failed for another reason, which its exit code tells.
        thread::spawn(move || stdin.write_all(&input));
    }
    let mut said = Vec::new();
    let done = collected(&come, &mut child, deadline, bounds, sink, &mut said);
    match done {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(status, &said)),
        Err(failure) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(failure)
        }
    }
}

pub(crate) fn start(command: &mut Command) -> Result<Child, Failure> {
    command.stdin(Stdio::piped());
    start_with(command)
}

/// The same with the standard input that it has.
pub(crate) fn start_with(command: &mut Command) -> Result<Child, Failure> {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Start {
            program: command.get_program().to_string_lossy().into_owned(),
            error,
        })
}

/// Ctrl-C is for us: what was begun is ended in order.
#[cfg(unix)]
pub(crate) fn apart(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
pub(crate) fn apart(_: &mut Command) {}

fn read(
    from: Option<impl Read + Send + 'static>,
    to: SyncSender<Piece>,
    piece: fn(Vec<u8>) -> Piece,
    ends: Piece,
) {
    thread::spawn(move || {
        let mut from = from;
        let mut bytes = vec![0; 1 << 16];
        while let Some(n) = from
            .as_mut()
            .and_then(|f| f.read(&mut bytes).ok())
            .filter(|&n| n > 0)
        {
            let read = bytes.get(..n).unwrap_or_default().to_vec();
            if to.send(piece(read)).is_err() {
                return;
            }
        }
        let _ = to.send(ends);
    });
}

fn collected(
    come: &Receiver<Piece>,
    child: &mut Child,
    deadline: Instant,
    bounds: Bounds,
    sink: &mut dyn Write,
    said: &mut Vec<u8>,
) -> Result<ExitStatus, Failure> {
    let (mut bytes, mut out_open, mut err_open) = (0_u64, true, true);
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        let until = ended.map_or(deadline, |(_, at)| at + LINGERS);
        let wait = until.saturating_duration_since(Instant::now());
        match come.recv_timeout(wait.min(Duration::from_millis(50))) {
            Ok(Piece::Out(piece)) => {
                bytes += piece.len() as u64;
                if bytes > bounds.bytes {
                    return Err(Failure::Long(bounds.bytes));
                }
                sink.write_all(&piece).map_err(Failure::Sink)?;
            }
            Ok(Piece::Err(piece)) => {
                let room = SAID.saturating_sub(said.len());
                said.extend(piece.iter().take(room));
            }
            Ok(Piece::OutEnds) => out_open = false,
            Ok(Piece::ErrEnds) => err_open = false,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if ended.is_none() {
            ended = child
                .try_wait()
                .map_err(Failure::Sink)?
                .map(|s| (s, Instant::now()));
        }
        match ended {
            Some((status, _)) if !out_open && !err_open => return Ok(status),
            Some((status, at)) if !out_open && at.elapsed() > LINGERS => return Ok(status),
            _ if Instant::now() > deadline => return Err(Failure::Late(bounds.time)),
            // Pipes that have ended give no more to wait for.
            None if !out_open && !err_open => thread::sleep(Duration::from_millis(5)),
            _ => {}
        }
    }
}

/// The last line that says something: programs say what was wrong at the end.
fn failed(status: ExitStatus, said: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(said);
    let last = text.lines().map(str::trim).rfind(|l| !l.is_empty());
    Failure::Failed {
        code: status.code(),
        said: last.map_or_else(|| format!("it ended with {status}"), str::to_owned),
    }
}
