//! Captures that are read more than once: what can be read only once is kept first.

use crate::Error;
use crate::config::{Captures, Event};
use std::path::PathBuf;

/// Makes captures readable again: standard input and named pipes among their inputs are read to their
/// end and kept in a file in the folder for temporary files, which vanishes with the process. All else
/// is left as it is. To be called before anything reads these captures.
///
/// # Errors
/// When an input cannot be read, or there is no room for it.
pub fn spool(captures: &Captures, events: &mut dyn FnMut(Event)) -> Result<(), Error> {
    let inputs: Vec<&PathBuf> = match captures {
        Captures::One(inputs) | Captures::Client(inputs) | Captures::Server(inputs) => {
            inputs.iter().collect()
        }
        Captures::Two(client, server) | Captures::Sides { client, server } => {
            client.iter().chain(server).collect()
        }
    };
    for input in inputs {
        if !capture::is_read_once(input) {
            continue;
        }
        let name = match input.display().to_string() {
            name if name == "-" => "standard input".to_owned(),
            name => name,
        };
        let folder = std::env::temp_dir();
        let mut copied = false;
        let mut progress = |read| {
            if !copied {
                let folder = folder.display();
                events(Event::Note(format!(
                    "{name} is kept in {folder} while this runs, as it is read more than once"
                )));
                copied = true;
            }
            events(Event::Progress {
                read,
                total: None,
                packets: 0,
            });
        };
        capture::keep(input, &mut progress).map_err(|e| Error::Message(e.to_string()))?;
    }
    Ok(())
}
