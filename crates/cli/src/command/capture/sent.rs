//! A folder of evidence into what of it may be sent on: the same captures and the same answer, with pseudonyms in place of
//! addresses and names. Counters of hosts and the manifest name them, and stay where they are.

use super::keep;
use crate::command::cut::{CUT, PIECE_BYTES};
use crate::out::complain;
use analysis::results::Diagnosis;
use analysis::text::Text;
use anyhow::Context;
use collect::Collected;
use jiff::tz::TimeZone;
use pseudonyms::Anonymiser;
use replace::Replacement;
use report::{Anonymise, Page};
use slowside::{Captures, Config, CutRequest, Moment};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What it is called.
const NAME: &str = "anonymised";

/// Writes it, and says where it is, and whether all captures are in it.
pub(super) fn write(
    output: &Path,
    collected: &Collected,
    diagnosis: &Diagnosis,
    names: &Anonymiser,
) -> anyhow::Result<(PathBuf, bool)> {
    let folder = output.join(NAME);
    super::make(&folder)?;
    // What each is called there, by what it is called now.
    let mut called = Vec::new();
    let mut is_whole = true;
    for end in &collected.ends {
        let Some(capture) = &end.capture else {
            continue;
        };
        let from = output.join(&capture.file);
        let name = format!("{}.pcapng", end.side.name());
        let to = folder.join(&name);
        called.push((from.display().to_string(), name));
        let written = packets(&from, &to, names);
        if let Err(why) = written.with_context(|| format!("{} was not written", to.display())) {
            complain(&format!("{why:#}"));
            is_whole = false;
        }
    }
    let mut anonymised = diagnosis.clone().anonymised(names);
    // Frames have the numbers that they had. What tells of several hosts names their captures by pseudonyms.
    if anonymised.peers.is_empty() {
        for (to, from) in anonymised.captures.iter_mut().zip(&diagnosis.captures) {
            let found = called.iter().find(|(path, _)| from.files.contains(path));
            if let Some((_, name)) = found {
                to.files = vec![name.clone()];
            }
        }
    }
    anonymised.notes.push(Text::from(
        "Names and addresses are pseudonyms, the same as in the captures beside this.",
    ));
    let diagnosis = anonymised;
    keep(&folder, "diagnosis.json", &mut |out| {
        report::diagnosis_json(&diagnosis, out)
    })?;
    let zone = TimeZone::system();
    keep(&folder, "diagnosis.txt", &mut |out| {
        report::on_page(Page::PLAIN, || {
            report::diagnosis_text(&diagnosis, &zone, out)
        })
    })?;
    Ok((folder, is_whole))
}

/// All of a capture's packets.
fn packets(from: &Path, to: &Path, names: &Anonymiser) -> anyhow::Result<()> {
    let config = Config {
        from: Some(Moment::AfterStart(0)),
        ..Config::default()
    };
    let request = CutRequest {
        finding: None,
        connection: None,
        call: None,
        calls: false,
        frames: Vec::new(),
        only: true,
        words: "all of it".to_owned(),
        application: concat!("slowside ", env!("CARGO_PKG_VERSION")).to_owned(),
        anonymiser: Some(names.clone()),
    };
    let file = Replacement::create(to, &CUT)?;
    let mut out = Some(file.writer()?);
    let mut open = |_, _, _| -> std::io::Result<Box<dyn Write>> {
        let one = out
            .take()
            .ok_or_else(|| std::io::Error::other("a second capture"))?;
        Ok(Box::new(BufWriter::with_capacity(PIECE_BYTES, one)))
    };
    let captures = Captures::One(vec![from.to_owned()]);
    slowside::cut(&captures, &request, &config, &mut open, &mut |_| {})?;
    file.commit()?;
    Ok(())
}
