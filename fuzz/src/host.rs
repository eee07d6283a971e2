//! What tools say of hosts through `trace::host::read_bytes`.

/// A byte that says how the file is called, and the file.
pub fn host(data: &[u8]) {
    let Some((&named, text)) = data.split_first() else {
        return;
    };
    let name = ["h", "server-cpu", "psi.io", "memory"][usize::from(named) % 4];
    match trace::host::read_bytes(name, text) {
        Ok(host) => {
            let tells = !host.series.is_empty() || !host.connections.is_empty();
            assert!(tells || host.sums.is_some());
            assert!(!host.tools.is_empty());
            assert_eq!(host.skipped_lines > 0, host.first_skipped.is_some());
            for series in &host.series {
                assert!(!series.samples.is_empty());
                assert!(
                    series
                        .samples
                        .iter()
                        .all(|s| s.from_ns < s.until_ns && s.milli >= 0)
                );
                assert!(series.samples.is_sorted());
            }
            for c in &host.connections {
                assert!(
                    c.samples
                        .iter()
                        .all(|s| s.busy_ns >= 0 && s.rwnd_limited_ns >= 0)
                );
            }
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
    }
}
