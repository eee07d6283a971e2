//! Latency logs through `trace::read`.

use crate::scratch;

/// Two bytes that say where the second of two files begins (0: there is one), and the files.
pub fn app(data: &[u8]) {
    let Some((split, text)) = data.split_first_chunk() else {
        return;
    };
    let split = usize::from(u16::from_le_bytes(*split)).min(text.len());
    let mut files = vec![scratch::file("a", &text[split..])];
    if split > 0 {
        files.push(scratch::file("b", &text[..split]));
    }
    match trace::read(&files) {
        Ok(found) => {
            assert!(found.operations.iter().all(|o| o.start_ns <= o.end_ns));
            assert!(!found.format.is_empty());
            let rows = !found.operations.is_empty() || !found.samples.is_empty();
            let sums = !found.summaries.is_empty() || !found.histograms.is_empty();
            assert!(rows || sums || found.blocks.is_some() || found.disks.is_some());
            for bucket in found.histograms.iter().flat_map(|h| &h.buckets) {
                assert!(bucket.count > 0);
                assert!(bucket.until_ns.is_none_or(|until| bucket.from_ns <= until));
            }
            let sessions = found.sessions.len();
            let mut named = found.operations.iter().filter_map(|o| o.session);
            assert!(named.all(|s| (s as usize) < sessions));
            assert_eq!(found.skipped_lines > 0, found.first_skipped.is_some());
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
}
