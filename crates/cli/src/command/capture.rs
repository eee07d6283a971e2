//! `slowside capture`: what is asked for into a folder of evidence, and that into an answer.

mod sent;
mod shown;

use super::{diagnose, print, probe};
use crate::args::{self, Capture, Command};
use crate::exit::Done;
use crate::out::{self, complain};
use analysis::results::Diagnosis;
use anyhow::{Context, anyhow, bail};
use collect::{Asked, BETWEEN_MOST, CLIENTS_MOST, Collected, Error, Manifest, Side, When, look};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{Harmless, Page};
use shown::Watched;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use trace::host::End;

/// How long it takes where nobody says.
const USUAL_S: u64 = 30;
const DAY_S: u64 = 86_400;

pub(crate) fn run(args: &Capture) -> anyhow::Result<Done> {
    let asked = asked(args)?;
    let names = args.anonymise.as_deref().map(args::by_key).transpose()?;
    let stop = match out::is_caught() {
        true => Arc::new(AtomicBool::new(false)),
        false => probe::stop()?,
    };
    let output = args.output.clone().unwrap_or_else(unnamed);
    if !args.dry_run {
        check(&output)?;
    }
    let private =
        tempfile::tempdir().context("no folder for connections could be made; set TMPDIR")?;
    let mut watched = Watched::new(args.quiet, &asked);
    let mut ready = look(&asked, private.path(), &mut |e| watched.event(&e)).map_err(said)?;
    if args.dry_run {
        print(|out| shown::plan(&ready.plan, out))?;
        return Ok(Done::Fine);
    }
    for note in &ready.plan.notes {
        watched.note(&note.to_string());
    }
    make(&output)?;
    let collected = ready.capture(&output, &stop, &mut |e| watched.event(&e));
    watched.end();
    let collected = collected.map_err(|e| {
        // It is empty.
        let _ = fs::remove_dir(&output);
        said(e)
    })?;
    let mut whole = shown::tell(&collected);
    let words = evidence(&collected, &output);
    let manifest = Manifest::new(
        &ready.plan,
        &collected,
        words.clone(),
        env!("CARGO_PKG_VERSION"),
    );
    // Connections end here.
    drop(ready);
    keep(&output, "manifest.json", &mut |out| {
        out.write_all(&manifest.json()?)
    })?;
    if !collected.ends.iter().any(|e| e.capture.is_some()) {
        bail!(
            "no capture was fetched; what there is of it is in {}",
            output.display()
        );
    }
    let (diagnosis, done) = answer(&output, &words)?;
    if let Some(names) = &names {
        let (folder, is_whole) = sent::write(&output, &collected, &diagnosis, names)?;
        whole &= is_whole;
        print(|out| {
            writeln!(
                out,
                "\nWhat may be sent on, with pseudonyms, is in {}.",
                folder.display()
            )
        })?;
    }
    Ok(if whole { done } else { Done::Unwritten })
}

/// What is missing goes before the line that says so.
fn said(error: Error) -> anyhow::Error {
    if let Error::Missing(problems) = &error {
        problems.iter().for_each(|p| complain(&p.to_string()));
    }
    error.into()
}

fn asked(args: &Capture) -> anyhow::Result<Asked> {
    let ssh: Vec<String> = args.ssh.split_whitespace().map(str::to_owned).collect();
    anyhow::ensure!(
        !ssh.is_empty(),
        "--ssh names no program; leave it out for ssh"
    );
    let mut others = args.client.iter().chain(&args.also);
    anyhow::ensure!(
        others.all(|host| host.port.is_none()),
        "the port is the server's; give it to --server"
    );
    let (client, further) = args.client.split_first().context("--client names nobody")?;
    anyhow::ensure!(
        args.client.len() <= CLIENTS_MOST,
        "--client takes {CLIENTS_MOST} hosts at most"
    );
    anyhow::ensure!(
        further.is_empty() || args.also.is_empty(),
        "--also is for the path of one client: leave it out, or give --client once"
    );
    anyhow::ensure!(
        args.also.len() <= BETWEEN_MOST,
        "--also takes {BETWEEN_MOST} hosts between both ends at most"
    );
    Ok(Asked {
        client: client.clone(),
        server: args.server.clone(),
        further: further.iter().map(|host| host.place.clone()).collect(),
        between: args.also.iter().map(|host| host.place.clone()).collect(),
        between_interfaces: args.also_interface.clone(),
        beneath: args.beneath.clone(),
        seconds: args.duration.unwrap_or(match args.when.is_empty() {
            true => USUAL_S,
            false => DAY_S,
        }),
        when: when(args)?,
        max_bytes: args.max_size,
        snaplen: args.snaplen,
        folder: args.remote_dir.clone(),
        ssh,
        sudo: args.sudo,
        client_address: args.client_address,
        server_address: args.server_address,
        client_interfaces: args.client_interface.clone(),
        server_interface: args.server_interface.clone(),
    })
}

/// What is waited for, if anything is: words for `live`, which looks for it.
fn when(args: &Capture) -> anyhow::Result<Option<When>> {
    if args.when.is_empty() {
        return Ok(None);
    }
    let program = std::env::current_exe().context("this program's own file is not known")?;
    let mut words: Vec<String> = ["--format", "json", "--top", "1", "--quiet"]
        .map(str::to_owned)
        .to_vec();
    words.extend(args.when.iter().map(|when| format!("--when={when}")));
    Ok(Some(When {
        side: args.watch,
        words,
        program,
        before_s: args.before,
        after_s: args.after,
    }))
}

fn unnamed() -> PathBuf {
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("slowside-capture-{now}"))
}

/// Whether the folder may be made, before hosts are asked for anything: nobody's captures are written over.
fn check(output: &Path) -> anyhow::Result<()> {
    let taken = || {
        format!(
            "{} is there already; name a new folder with -o",
            output.display()
        )
    };
    match fs::read_dir(output) {
        Ok(mut files) => anyhow::ensure!(files.next().is_none(), taken()),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(_) => bail!(taken()),
    }
    Ok(())
}

/// Makes it, for its owner alone: packets are in it.
fn make(output: &Path) -> anyhow::Result<()> {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(output).with_context(|| {
        format!(
            "cannot make the folder {}; name another with -o",
            output.display()
        )
    })
}

/// The one place that says which of the files an answer rests on, and as what: words for `slowside`, in the folder. Counters in
/// which nothing can be used are left out, and that is said.
fn evidence(collected: &Collected, folder: &Path) -> Vec<String> {
    let mut words = vec!["diagnose".to_owned()];
    let mut of_ends = 0;
    let has = |side| {
        let mut ends = collected.ends.iter();
        ends.any(|e| e.side == side && e.capture.is_some())
    };
    for end in &collected.ends {
        let option = match end.side {
            Side::Client => "--client",
            Side::Server => "--server",
            // By clocks of their own, which nothing but the server's capture joins.
            Side::Further(_) if !has(Side::Server) && has(Side::Client) => continue,
            Side::Further(_) => "--client",
            // Between two ends, or between none.
            Side::Between(_) if of_ends < 2 => continue,
            Side::Between(_) => "--between",
        };
        if let Some(capture) = &end.capture {
            of_ends += 1;
            words.extend([option.to_owned(), capture.file.clone()]);
        }
    }
    for end in &collected.ends {
        let side = match end.side {
            Side::Client => End::Client,
            Side::Server => End::Server,
            // Its counters are no end's, or not that of the client which is told of.
            Side::Further(_) | Side::Between(_) => continue,
        };
        for sample in &end.samples {
            match trace::host::read(&[(Some(side), folder.join(&sample.file))]) {
                Ok(_) => words.extend([
                    "--host".to_owned(),
                    format!("{}={}", end.side.name(), sample.file),
                ]),
                Err(why) => complain(&format!("left out: {why}")),
            }
        }
    }
    words
}

/// Diagnoses what was fetched, says so, and keeps that beside it.
fn answer(output: &Path, words: &[String]) -> anyhow::Result<(Diagnosis, Done)> {
    let diagnosis = match diagnosed(output, words) {
        Ok(diagnosis) => diagnosis,
        Err(why) if words.iter().any(|w| w == "--host") => {
            complain(&format!("counters of the hosts are left out: {why:#}"));
            let captures = words.iter().take_while(|w| *w != "--host");
            diagnosed(output, &captures.cloned().collect::<Vec<_>>())?
        }
        Err(why) => return Err(why),
    };
    let zone = TimeZone::system();
    keep(output, "diagnosis.json", &mut |out| {
        report::diagnosis_json(&diagnosis, out)
    })?;
    keep(output, "diagnosis.txt", &mut |out| {
        report::on_page(Page::PLAIN, || {
            report::diagnosis_text(&diagnosis, &zone, out)
        })
    })?;
    let page = [&["report".to_owned()], words.get(1..).unwrap_or_default()].concat();
    print(|out| {
        report::diagnosis_text(&diagnosis, &zone, out)?;
        writeln!(
            out,
            "\nAll of it is in {}. In there, a page to look at, and the same answer again:",
            output.display()
        )?;
        for words in [&page[..], words] {
            let line = std::iter::once("slowside".to_owned()).chain(words.iter().cloned());
            writeln!(out, "  {}", report::command_line(line))?;
        }
        Ok(())
    })?;
    let damaged = diagnosis.captures.iter().any(|c| c.problems.any_damage());
    Ok((diagnosis, Done::with_damage(damaged)))
}

fn diagnosed(output: &Path, words: &[String]) -> anyhow::Result<Diagnosis> {
    // A folder may begin with a hyphen; what begins so among the words is an option.
    let folder = match output.as_os_str().as_encoded_bytes().starts_with(b"-") {
        true => Path::new(".").join(output),
        false => output.to_owned(),
    };
    let placed = words.iter().map(|word| match word.split_once('=') {
        _ if word.starts_with("--") || word == "diagnose" => word.into(),
        Some((side, file)) => {
            let mut word = OsString::from(format!("{side}="));
            word.push(folder.join(file));
            word
        }
        None => folder.join(word).into_os_string(),
    });
    let arguments = args::parse(std::iter::once("slowside".into()).chain(placed))
        .map_err(|e| anyhow!("{e}"))?;
    match &arguments.command {
        Some(Command::Diagnose(args)) => diagnose::diagnosis(args),
        _ => bail!("{} cannot be diagnosed", output.display()),
    }
}

/// A file of the folder, in which nothing acts.
fn keep(
    output: &Path,
    name: &str,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    let path = output.join(name);
    let mut kept = || -> io::Result<()> {
        let mut out = Harmless::new(io::BufWriter::new(fs::File::create_new(&path)?));
        write(&mut out)?;
        out.flush()
    };
    kept().with_context(|| format!("cannot write {}", path.display()))
}
