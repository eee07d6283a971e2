//! `slowside demo`: captures with a known fault that are built in, into files, and those into an answer.
//!
//! They are those of `tests/lab` and `tests/field`, as they lie there, so that what is shown is what tests hold.

use super::print;
use crate::args::{self, Demo};
use crate::exit::Done;
use analysis::filter::nearest;
use anyhow::{Context, anyhow};
use replace::{Kind, Replacement};
use std::fs;
use std::path::Path;

const CAPTURE: Kind = Kind {
    name: "compressed file",
    option: "--dir",
    // Magic numbers of zstd (RFC 8878 section 3.1.1) and gzip (RFC 1952 section 2.3.1).
    is: |head| head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || head.starts_with(&[0x1f, 0x8b]),
};

struct Case {
    name: &'static str,
    fault: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    /// What is asked of slowside: words, of which those that are files lie in the case's folder.
    asks: &'static [&'static str],
}

#[cfg(feature = "demo")]
macro_rules! recorded {
    ($($path:literal),+) => {
        include_bytes!(concat!("../../../../tests/", $($path),+))
    };
}

/// For who asks questions only ([`Line::ask`](crate::Line::ask)), and so never for this.
#[cfg(not(feature = "demo"))]
macro_rules! recorded {
    ($($path:literal),+) => {
        b""
    };
}

/// A folder of `tests/lab`.
macro_rules! pair {
    ($name:literal, $fault:literal) => {
        Case {
            name: $name,
            fault: $fault,
            files: &[
                (
                    "server.pcap.zst",
                    recorded!("lab/", $name, "/server.pcap.zst"),
                ),
                (
                    "client.pcap.zst",
                    recorded!("lab/", $name, "/client.pcap.zst"),
                ),
            ],
            asks: &["server.pcap.zst", "client.pcap.zst"],
        }
    };
}

const CASES: &[Case] = &[
    pair!(
        "server-cap",
        "NFS: the server works on 4 calls at a time, and 32 are asked for"
    ),
    pair!("healthy", "NFS: nothing is wrong"),
    pair!("slow-server", "NFS: the server's storage takes 8 ms"),
    pair!("server-stall", "NFS: the server stands still three times"),
    pair!("network-delay", "NFS: 7 ms each way"),
    pair!("packet-loss", "NFS: 1.5 % of the packets are lost"),
    pair!("outage", "NFS: nothing gets through for 1.5 s"),
    Case {
        name: "client-cap",
        fault: "NFS: the client sends 8 of 64 threads' calls at a time (--app)",
        files: &[
            (
                "server.pcap.zst",
                recorded!("lab/client-cap/server.pcap.zst"),
            ),
            (
                "client.pcap.zst",
                recorded!("lab/client-cap/client.pcap.zst"),
            ),
            (
                "client_ops.csv.gz",
                recorded!("lab/client-cap/client_ops.csv.gz"),
            ),
        ],
        asks: &[
            "server.pcap.zst",
            "client.pcap.zst",
            "--app",
            "client_ops.csv.gz",
        ],
    },
    Case {
        name: "small-fetch",
        fault: "a query whose client asks for ten rows at a time (sql)",
        files: &[
            (
                "server.pcap.zst",
                recorded!("field/e16-fetch-sizes/fetch-10-server.pcap.zst"),
            ),
            (
                "client.pcap.zst",
                recorded!("field/e16-fetch-sizes/fetch-10-client.pcap.zst"),
            ),
        ],
        asks: &["sql", "server.pcap.zst", "client.pcap.zst"],
    },
    Case {
        name: "slow-login",
        fault: "a program that takes 10 s to log in (startup)",
        files: &[(
            "client.pcap.zst",
            recorded!("field/f20-login/client.pcap.zst"),
        )],
        asks: &["startup", "client.pcap.zst"],
    },
    pair!("chatty", "TCP: a row per question, 10 ms each way"),
    pair!(
        "nagle-delayed-ack",
        "TCP: small writes wait for delayed acknowledgements"
    ),
    pair!(
        "small-window",
        "TCP: a receive buffer of 32 KiB, 15 ms each way"
    ),
    pair!("full-link", "TCP: the line is full"),
    pair!("slow-reader", "TCP: the server reads slowly"),
    pair!("black-hole", "TCP: large packets vanish"),
    pair!("reset-by-server", "TCP: the server breaks the connection"),
];

pub(crate) fn run(args: &Demo) -> anyhow::Result<Done> {
    if args.list {
        let width = CASES.iter().map(|c| c.name.len()).max().unwrap_or(0);
        let line = |c: &Case| format!("{:width$}  {}\n", c.name, c.fault);
        let list: String = CASES.iter().map(line).collect();
        print(|out| out.write_all(list.as_bytes()))?;
        return Ok(Done::Fine);
    }
    let case = case(&args.case)?;
    let folder = args.dir.join(case.name);
    unpack(case, &folder)?;
    let words = |words: &[&str]| -> Vec<String> {
        let program = std::iter::once("slowside".to_owned());
        program
            .chain(words.iter().map(|w| in_folder(case, w, &folder)))
            .collect()
    };
    let asked = words(case.asks);
    let head = report::wrap("", 0, &format!("{}: {}.", case.name, case.fault));
    let line = report::command_line(asked.clone());
    print(|out| writeln!(out, "{head}$ {line}"))?;
    let arguments = args::parse(asked.into_iter().map(Into::into));
    let done = crate::run(&arguments.map_err(|e| anyhow!("{e}"))?)?;
    let captures = case.files.iter().map(|(name, _)| *name);
    let captures = captures.filter(|name| name.contains(".pcap"));
    let page: Vec<&str> = std::iter::once("report").chain(captures).collect();
    let page = report::command_line(words(&page));
    print(|out| {
        write!(
            out,
            "\nAs a page to look at, and other cases:\n  {page}\n  slowside demo --list\n"
        )
    })?;
    Ok(done)
}

fn case(name: &str) -> anyhow::Result<&'static Case> {
    CASES.iter().find(|c| c.name == name).ok_or_else(|| {
        let near = nearest(name, CASES.iter().map(|c| c.name));
        match near.first() {
            Some(near) => anyhow!("no case is called `{name}`; did you mean `{near}`?"),
            None => anyhow!("no case is called `{name}`; slowside demo --list shows all"),
        }
    })
}

fn unpack(case: &Case, folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| {
        format!(
            "cannot make the folder {}; name another with --dir",
            folder.display()
        )
    })?;
    for (name, bytes) in case.files {
        Replacement::create(&folder.join(name), &CAPTURE)?.write(bytes)?;
    }
    Ok(())
}

fn in_folder(case: &Case, word: &str, folder: &Path) -> String {
    match case.files.iter().any(|(name, _)| *name == word) {
        true => folder.join(word).to_string_lossy().into_owned(),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_built_in_is_at_most_2_mb() {
        let sizes = CASES
            .iter()
            .flat_map(|c| c.files)
            .map(|(_, bytes)| bytes.len());
        let all: usize = sizes.sum();
        assert!((1..=2_000_000).contains(&all), "{all} bytes");
    }
}
