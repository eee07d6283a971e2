//! An end, and three things that can be done there: run a script, put a file, get one. By what the system has: a shell
//! here, `ssh` with its configuration, agents and jump hosts, `docker exec`, `kubectl exec`. No protocol and no
//! cryptography of our own.
//!
//! - A script is standard input of `/bin/sh -s` at the end: no login shell reads it, and no list of processes shows it.
//! - ssh connects once, if its configuration says nothing else: a master (`ControlMaster`) in a folder of this run's own
//!   carries all that follows, so that a password is asked for once, and ends with the run.

mod process;
mod talk;

pub(crate) use process::{Failure, apart, start_with};
pub(crate) use talk::Talk;

use crate::place::Place;
use crate::quote;
use process::{Bounds, run, run_at_terminal, start};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// What a script may say.
const ANSWER: u64 = 256 << 10;

/// How long ssh may take to connect, passwords and jump hosts included.
const CONNECT: Duration = Duration::from_secs(60);

const SHELL: &str = "/bin/sh";

pub(crate) struct Reach {
    place: Place,
    /// The program and its options.
    ssh: Vec<String>,
    /// Options of ssh that its configuration leaves to us.
    options: Vec<String>,
    /// Where the master of ssh listens, if it is ours.
    master: Option<String>,
    sudo: bool,
}

impl Reach {
    /// The way to an end, which is opened: who asks for a password does so now. `folder` is private to this run.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub(crate) fn open(place: &Place, ssh: &[String], folder: &Path) -> Result<Reach, Failure> {
        let mut reach = Reach {
            place: place.clone(),
            ssh: ssh.to_vec(),
            options: Vec::new(),
            master: None,
            sudo: false,
        };
        if matches!(place, Place::Ssh { .. }) {
            reach.configure(folder);
        }
        let bounds = Bounds {
            time: CONNECT,
            bytes: ANSWER,
        };
        run_at_terminal(
            reach.shell(Some("exit 0")),
            b"",
            bounds,
            &mut std::io::sink(),
        )?;
        Ok(reach)
    }

    /// From here on as root, without a password.
    pub(crate) fn with_sudo(&mut self) {
        self.sudo = true;
    }

    /// What the user's configuration says stays so; what it leaves out is ours to choose.
    fn configure(&mut self, folder: &Path) {
        let mut command = self.ssh();
        command.arg("-G").arg(self.target());
        let mut said = Vec::new();
        let bounds = Bounds {
            time: Duration::from_secs(10),
            bytes: ANSWER,
        };
        // Where that fails, so will what follows, which says why.
        let _ = run(command, b"", bounds, &mut said);
        let text = String::from_utf8_lossy(&said);
        let is_set = |name: &str| {
            let mut lines = text.lines().filter_map(|l| l.split_once(' '));
            lines.any(|(n, value)| n == name && !matches!(value, "none" | "0"))
        };
        let mut add = |option: &str| self.options.extend(["-o".to_owned(), option.to_owned()]);
        if !is_set("connecttimeout") {
            add("ConnectTimeout=15");
        }
        if !is_set("serveraliveinterval") {
            add("ServerAliveInterval=5");
            add("ServerAliveCountMax=3");
        }
        if !is_set("controlpath") {
            let path = folder.join("%C").to_string_lossy().into_owned();
            add("ControlMaster=auto");
            add("ControlPersist=60");
            add(&format!("ControlPath={path}"));
            self.master = Some(path);
        }
    }

    fn ssh(&self) -> Command {
        let mut words = self.ssh.iter();
        let mut command = Command::new(words.next().map_or("ssh", String::as_str));
        command.args(words);
        command
    }

    fn target(&self) -> String {
        self.place.to_string()
    }

    /// A shell at the end, which reads its script from standard input, or is given one of a single line.
    fn shell(&self, script: Option<&str>) -> Command {
        let sudo: &[&str] = if self.sudo { &["sudo", "-n"] } else { &[] };
        let asked = match script {
            Some(script) => vec![SHELL, "-c", script],
            None => vec![SHELL, "-s"],
        };
        let words: Vec<&str> = sudo.iter().copied().chain(asked).collect();
        let mut command = match &self.place {
            Place::Local => {
                let mut words = words.iter();
                let mut command = Command::new(words.next().unwrap_or(&SHELL));
                command.args(words);
                return command;
            }
            Place::Ssh { .. } => {
                let mut command = self.ssh();
                command.args(["-T", "-x"]).args(&self.options);
                command.arg("--").arg(self.target());
                command.arg(format!("exec {}", quote::line(words)));
                return command;
            }
            Place::Docker { container } => {
                let mut command = Command::new("docker");
                command.args(["exec", "-i", container]);
                command
            }
            Place::Kubectl {
                namespace,
                pod,
                container,
            } => {
                let mut command = Command::new("kubectl");
                command.args(["exec", "-i", pod]);
                for (option, value) in [("-n", namespace), ("-c", container)] {
                    command.args(value.iter().flat_map(|v| [option, v]));
                }
                command.arg("--");
                command
            }
        };
        command.args(words);
        command
    }

    /// Runs a script there, and gives what it says.
    ///
    /// # Errors
    /// When it fails, takes longer, or says more than anybody needs.
    pub(crate) fn run(&self, script: &str, within: Duration) -> Result<String, Failure> {
        // All of it is read before any of it runs: what it runs would take the rest for its input.
        let script = format!("{{\n{script}\n}} </dev/null\nexit $?\n");
        let mut said = Vec::new();
        let bounds = Bounds {
            time: within,
            bytes: ANSWER,
        };
        run(self.shell(None), script.as_bytes(), bounds, &mut said)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    /// Puts a file there that its owner alone may read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn put(&self, bytes: &[u8], path: &str, within: Duration) -> Result<(), Failure> {
        let script = format!("umask 077; cat >{}", quote::word(path));
        let bounds = Bounds {
            time: within,
            bytes: ANSWER,
        };
        run(
            self.shell(Some(&script)),
            bytes,
            bounds,
            &mut std::io::sink(),
        )
    }

    /// Gets what a line of a shell writes there, at most so many bytes.
    ///
    /// # Errors
    /// When it fails, has more bytes, takes longer, or cannot be kept.
    pub(crate) fn get(
        &self,
        script: &str,
        most: u64,
        within: Duration,
        to: &mut dyn Write,
    ) -> Result<(), Failure> {
        let bounds = Bounds {
            time: within,
            bytes: most,
        };
        run(self.shell(Some(script)), b"", bounds, to)
    }

    /// Runs a line of a shell there whose output is for another program.
    pub(crate) fn stream(&self, script: &str) -> Result<Child, Failure> {
        let mut command = self.shell(Some(script));
        apart(&mut command);
        start(&mut command)
    }

    /// A shell that stays; `script` is one line that answers lines with lines.
    pub(crate) fn talk(&self, script: &str) -> Result<Talk, Failure> {
        Talk::start(self.shell(Some(script)))
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        let Some(path) = &self.master else { return };
        let mut command = self.ssh();
        command.arg("-o").arg(format!("ControlPath={path}"));
        command.args(["-O", "exit", "--"]).arg(self.target());
        let bounds = Bounds {
            time: Duration::from_secs(5),
            bytes: ANSWER,
        };
        // There may be none any more.
        let _ = run(command, b"", bounds, &mut std::io::sink());
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
