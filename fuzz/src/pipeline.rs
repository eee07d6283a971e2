//! A capture file through the whole engine.

use crate::scratch;
use slowside::{Captures, Config};
use std::path::PathBuf;

/// Every call as text; an error as text too.
fn calls(files: &[PathBuf], threads: usize) -> Vec<String> {
    let config = Config {
        threads,
        ..Config::default()
    };
    let mut lines = Vec::new();
    let mut take = |call: &model::Call, _: &[String]| {
        lines.push(format!("{call:?}"));
        Ok(())
    };
    let end = slowside::each_call(files, &config, &mut take, &mut |_| ());
    match end {
        Ok(result) => {
            assert_eq!(result.calls, lines.len() as u64);
            assert!(
                result
                    .problems
                    .iter()
                    .all(|(kind, _)| kind != "internal-error")
            );
            lines.push(format!("{result:?}"));
        }
        Err(error) => lines.push(error.to_string()),
    }
    lines
}

/// Reads the capture, and diagnoses it alone or against itself. The number of bytes decides what
/// takes long.
pub fn pipeline(data: &[u8]) {
    let file = vec![scratch::file("capture", data)];
    let lines = calls(&file, 1);
    if data.len().is_multiple_of(8) {
        assert_eq!(lines, calls(&file, 3), "the number of threads shows");
    }
    let captures = if data.len().is_multiple_of(2) {
        Captures::One(file)
    } else {
        Captures::Two(file.clone(), file)
    };
    let config = Config {
        threads: 1,
        ..Config::default()
    };
    // A capture that cannot be read is refused.
    let _ = slowside::diagnose(&captures, &config, &mut |_| ());
}
