//! Command lines to copy: exact whatever files are called.

use crate::text::shell;

/// Cuts the packets out that a filter shows.
pub(super) fn tshark(file: &str, filter: &str) -> String {
    format!(
        "tshark -r {} -Y {} -w evidence.pcapng",
        shell(file),
        shell(filter)
    )
}

/// Cuts packets out by number; `None` where there are none.
pub(super) fn editcap(file: &str, frames: &[u32]) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let frames: Vec<String> = frames.iter().map(u32::to_string).collect();
    Some(format!(
        "editcap -r {} evidence.pcapng {}",
        shell(file),
        frames.join(" ")
    ))
}
