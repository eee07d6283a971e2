//! The findings of a diagnosis as rows; what they rest on is in `slowside.diagnosis/1`.

use crate::table::rows::csv_field;
use analysis::results::{Diagnosis, Finding};
use std::io::{self, Write};

const HEADER: &str =
    "code,side,cost_ns,elapsed_cost_ns,confidence,first_ns,last_ns,fatal,title,why\n";

/// Writes a row per finding, those that cost most first.
///
/// # Errors
/// Those of `out`.
pub fn diagnosis_csv(d: &Diagnosis, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    let mut row = Vec::new();
    for f in &d.findings {
        row.clear();
        write_row(f, &mut row)?;
        out.write_all(&row)?;
    }
    Ok(())
}

fn write_row(f: &Finding, row: &mut Vec<u8>) -> io::Result<()> {
    let known = |n: Option<i64>| n.map(|n| n.to_string()).unwrap_or_default();
    write!(
        row,
        "{},{},{},{},{},{},{},{},",
        f.rule,
        f.side.name(),
        known(f.cost_ns),
        known(f.elapsed_cost_ns),
        f.confidence,
        known(f.first.map(|t| t.0)),
        known(f.last.map(|t| t.0)),
        f.fatal
    )?;
    csv_field(&f.title.to_string(), row);
    row.push(b',');
    csv_field(&f.why.to_string(), row);
    row.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    #[test]
    fn a_finding_is_a_row() {
        let mut out = Vec::new();
        diagnosis_csv(&samples::diagnosis(), &mut out).expect("memory");
        expect![[r#"
            code,side,cost_ns,elapsed_cost_ns,confidence,first_ns,last_ns,fatal,title,why
            server-concurrency-cap,server,75100000000,2300000000,0.95,1700000000000000000,1700000002700000000,false,The server works on a fixed number of calls at a time,Replies leave in fours every 4.1 ms; time in the server grows by 1.03 ms with each further call outstanding; below 4 outstanding a call takes 4.2 ms.
            client-concurrency-cap,client,,,0.6,,,false,The client keeps 32 calls outstanding,Each new call waits for a reply.
        "#]].assert_eq(&String::from_utf8(out).expect("UTF-8"));
    }
}
