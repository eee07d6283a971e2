//! What tcpdump says when it ends, into what it captured and lost.

/// Packets as the program counted them; unknown where it did not say.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct Counts {
    pub captured: Option<u64>,
    pub received: Option<u64>,
    pub dropped: Option<u64>,
    pub dropped_by_interface: Option<u64>,
}

impl Counts {
    pub(crate) fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Counts {
        let mut counts = Counts::default();
        for line in lines {
            let Some((number, what)) = line.trim().split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            // "1 packet captured" is the singular.
            let what = what
                .strip_prefix("packets ")
                .or_else(|| what.strip_prefix("packet "));
            match what {
                Some("captured") => counts.captured = Some(number),
                Some("received by filter") => counts.received = Some(number),
                Some("dropped by kernel") => counts.dropped = Some(number),
                Some("dropped by interface") => counts.dropped_by_interface = Some(number),
                _ => {}
            }
        }
        counts
    }

    /// What is missing in the capture.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.dropped
            .unwrap_or(0)
            .saturating_add(self.dropped_by_interface.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read() {
        let said = "tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 512 bytes\n\
                    1 packet captured\n12 packets received by filter\n3 packets dropped by kernel\n";
        let counts = Counts::read(said.lines());
        assert_eq!(
            (counts.captured, counts.received, counts.dropped),
            (Some(1), Some(12), Some(3))
        );
        assert_eq!((counts.dropped_by_interface, counts.lost()), (None, 3));
        assert_eq!(
            Counts::read("x packets captured\n".lines()),
            Counts::default()
        );
    }
}
