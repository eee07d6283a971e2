//! A shell at an end that stays, and answers a line with a line: what is asked often costs no connection, and its time is
//! a round trip.

use super::process::{Failure, apart, start};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes of a line that are read.
const LINE: u64 = 4_096;

pub(crate) struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Talk {
    pub(crate) fn start(mut command: Command) -> Result<Talk, Failure> {
        apart(&mut command);
        let mut child = start(&mut command)?;
        let (send, lines) = sync_channel(16);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        thread::spawn(move || {
            let Some(stdout) = stdout else { return };
            let mut reader = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match reader.by_ref().take(LINE).read_until(b'\n', &mut line) {
                    Ok(n) if n > 0 => {}
                    _ => return,
                }
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        // What is said there is told by those that are run to an end.
        thread::spawn(move || stderr.map(|mut s| std::io::copy(&mut s, &mut std::io::sink())));
        Ok(Talk {
            stdin: child.stdin.take(),
            child,
            lines,
        })
    }

    /// The line that answers this one.
    pub(crate) fn ask(&mut self, line: &str, within: Duration) -> Result<String, Failure> {
        let broken = || Failure::Failed {
            code: None,
            said: "the connection is lost".to_owned(),
        };
        // What came too late for an earlier question is no answer to this one.
        while self.lines.try_recv().is_ok() {}
        let stdin = self.stdin.as_mut().ok_or_else(broken)?;
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .map_err(|_| broken())?;
        self.lines.recv_timeout(within).map_err(|e| match e {
            std::sync::mpsc::RecvTimeoutError::Timeout => Failure::Late(within),
            std::sync::mpsc::RecvTimeoutError::Disconnected => broken(),
        })
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // The shell ends with its input; ssh that does not is ended.
        drop(self.stdin.take());
        for _ in 0..20 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
