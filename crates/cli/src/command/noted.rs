//! Files that hosts wrote themselves (`--app`, `--server-app`, `--host`) into what a diagnosis holds against the packets, with
//! a note of what of them could not be used.

use crate::args::HostFile;
use analysis::text::{Text, Value, text};
use anyhow::Context;
use std::path::PathBuf;
use std::sync::Arc;
use trace::host::{End, Host};

/// What hosts noted, by who noted it.
#[derive(Default)]
pub(super) struct Noted {
    pub(super) app: Option<Arc<trace::Application>>,
    pub(super) server_app: Option<Arc<trace::Application>>,
    pub(super) hosts: Arc<[Host]>,
}

impl Noted {
    pub(super) fn read(
        app: &[PathBuf],
        server_app: &[PathBuf],
        host: &[HostFile],
        notes: &mut Vec<Text>,
    ) -> anyhow::Result<Noted> {
        let hosts = hosts_of(host, notes)?;
        Ok(Noted {
            app: rows_of(app, "--app", notes)?.or_else(|| client_sums(&hosts)),
            server_app: rows_of(server_app, "--server-app", notes)?,
            hosts,
        })
    }

    pub(super) fn is_any(&self) -> bool {
        self.app.is_some() || self.server_app.is_some() || !self.hosts.is_empty()
    }
}

/// An application's, a server's or a disk's operations.
fn rows_of(
    files: &[PathBuf],
    option: &'static str,
    notes: &mut Vec<Text>,
) -> anyhow::Result<Option<Arc<trace::Application>>> {
    if files.is_empty() {
        return Ok(None);
    }
    let application = trace::read(files).context(option)?;
    if let Some(disks) = &application.disks {
        note_left_out(disks, notes);
    }
    note_left_out(&application, notes);
    Ok(Some(Arc::new(application)))
}

/// What tools said of hosts.
fn hosts_of(files: &[HostFile], notes: &mut Vec<Text>) -> anyhow::Result<Arc<[Host]>> {
    let hosts = trace::host::read(files).context("--host")?;
    for host in &hosts {
        if host.skipped_lines > 0 {
            notes.push(text!(
                "{lines,} lines of {file} could not be used{first}.",
                lines = host.skipped_lines,
                file = Value::File(host.file.as_str().into()),
                first = first_of_them(host.first_skipped.as_deref()),
            ));
        }
        if host.beyond_limit > 0 {
            notes.push(text!(
                "{samples,} samples of {file} are more than are remembered and were left out.",
                samples = host.beyond_limit,
                file = Value::File(host.file.as_str().into()),
            ));
        }
    }
    Ok(hosts.into())
}

/// What an NFS client's system counted stands for its application, where that noted nothing itself.
fn client_sums(hosts: &[Host]) -> Option<Arc<trace::Application>> {
    let clients = hosts.iter().filter(|h| h.said != Some(End::Server));
    clients.filter_map(|h| h.sums.clone()).next()
}

/// A line that is another's, and where it stands.
fn first_of_them(line: Option<&str>) -> Text {
    line.map_or_else(Text::default, |line| {
        text!(
            ", the first of them: {line}",
            line = Value::Quoted(line.into())
        )
    })
}

/// What could not be read of it.
fn note_left_out(application: &trace::Application, notes: &mut Vec<Text>) {
    if application.skipped_lines > 0 {
        notes.push(text!(
            "{lines} lines of the {format} could not be read{first}.",
            lines = application.skipped_lines,
            format = application.format.clone(),
            first = first_of_them(application.first_skipped.as_deref()),
        ));
    }
    let left_out = [
        (
            application.unfinished,
            "operations without an end, unfinished or failed when it was written",
        ),
        (
            application.beyond_limit,
            "operations beyond those that are remembered",
        ),
    ];
    for (count, what) in left_out.into_iter().filter(|(n, _)| *n > 0) {
        notes.push(text!(
            "{count,} {what}, of the {format} were left out.",
            count = count,
            what = what,
            format = application.format.clone(),
        ));
    }
}
