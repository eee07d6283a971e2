//! What a host sampled, one stream of all its files, into files: each has a line with how many bytes it has, a line with its
//! name, and the bytes. One stream, as each further one would be a connection of its own.

use crate::run::Fetched;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

/// What is sampled, which is how files may be called.
const TOOLS: [&str; 13] = [
    "ss",
    "nstat",
    "netstat",
    "nfs",
    "nfsd",
    "mountstats",
    "ethtool",
    "psi-cpu",
    "psi-io",
    "psi-memory",
    "vmstat",
    "iostat",
    "mpstat",
];

/// Bytes of a line before a file.
const LINE: u64 = 256;

/// What makes the stream of a folder's `*.txt`, a line of a shell.
pub(crate) const STREAM: &str =
    "for f in *.txt; do if [ -s \"$f\" ]; then wc -c <\"$f\"; echo \"$f\"; cat \"$f\"; fi; done";

/// The files of a stream, into `output/SIDE`; what has another name is left out.
pub(crate) fn unpack(stream: impl Read, output: &Path, side: &str) -> io::Result<Vec<Fetched>> {
    let mut stream = BufReader::new(stream);
    let mut fetched = Vec::new();
    loop {
        let (size, name) = (line(&mut stream)?, line(&mut stream)?);
        if size.is_empty() {
            return Ok(fetched);
        }
        let bytes: u64 = size
            .parse()
            .map_err(|_| io::Error::other("it is not what was asked for"))?;
        let mut content = stream.by_ref().take(bytes);
        let tool = name.strip_suffix(".txt").unwrap_or_default();
        let copied = match TOOLS.contains(&tool) {
            true => {
                fs::create_dir_all(output.join(side))?;
                let file = format!("{side}/{name}");
                let copied = io::copy(&mut content, &mut File::create_new(output.join(&file))?)?;
                fetched.push(Fetched {
                    tool: tool.to_owned(),
                    file,
                    bytes,
                });
                copied
            }
            false => io::copy(&mut content, &mut io::sink())?,
        };
        if copied < bytes {
            return Err(io::Error::other("it ends early"));
        }
    }
}

/// What a program said, beside them.
pub(crate) fn keep(output: &Path, side: &str, tool: &str, said: &str) -> io::Result<Fetched> {
    fs::create_dir_all(output.join(side))?;
    let file = format!("{side}/{tool}.txt");
    File::create_new(output.join(&file))?.write_all(format!("{said}\n").as_bytes())?;
    Ok(Fetched {
        tool: tool.to_owned(),
        file,
        bytes: said.len() as u64 + 1,
    })
}

/// The next line, empty at the end.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.take(LINE).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(stream: &[u8]) -> (io::Result<usize>, Vec<String>) {
        let folder = tempfile::tempdir().expect("a folder");
        let result = unpack(stream, folder.path(), "client");
        let files = fs::read_dir(folder.path().join("client"))
            .into_iter()
            .flatten();
        let names = files.map(|f| {
            f.expect("a file")
                .file_name()
                .to_string_lossy()
                .into_owned()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        (result.map(|f| f.len()), names)
    }

    #[test]
    fn files_of_a_stream_are_unpacked_and_no_other_names() {
        let (fetched, names) = unpacked(
            b" 5\nss.txt\na\nb\n\n3\n../../etc/x.txt\nxyz0\nnfs.txt\n4\nvmstat.txt\n1 2\n",
        );
        assert_eq!(fetched.expect("files"), 3);
        assert_eq!(names, ["nfs.txt", "ss.txt", "vmstat.txt"]);
        assert_eq!(unpacked(b"").0.expect("none"), 0);
    }

    #[test]
    fn what_is_no_stream_is_refused() {
        for stream in [
            &b"no\nnumber\n"[..],
            b"7\nss.txt\nearly",
            b"1\nss.txt\na1\nss.txt\nb",
        ] {
            assert!(unpacked(stream).0.is_err(), "{stream:?}");
        }
    }
}
