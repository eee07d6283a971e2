//! The calls of one session in the order of time: a line each, its statement below it where it is another
//! one than before; and as rows for programs.

use crate::harmless::harmless;
use crate::page::Tone;
use crate::sql_text;
use crate::table::rows::{TakeRows, hand_over};
use crate::table::{Column, Table, columns};
use crate::text::{Grid, counted, grouped, wrap};
use analysis::sql::{FollowedCall, SqlResult};
use model::{Field, Found, Time, format_duration};
use std::io::{self, Write};

/// The rows of `slowside sql --follow`.
pub(crate) struct Followed;

impl Table for Followed {
    type Row<'a> = &'a FollowedCall;
}

type C = Column<Followed>;

pub(crate) const COLUMNS: &[C] = &columns! {
    "begun_ns" Time "when its request began" |c| c.begun.0;
    "first_frame" Ordinal "its first packet" |c| c.first.frame;
    "last_frame" Ordinal "its last" |c| c.last.frame;
    "op" Text "operation" |c| c.op.as_str();
    "step" Text "of an Oracle logon, which call of it" |c| c.detail.word(Field::Step) => or_null;
    "outcome" Text "how it ended" |c| c.outcome.name();
    "response_time_ns" Duration "from first byte to last; null where it could not be timed"
        |c| c.response_time_ns => or_null;
    "wait_ns" Duration "of it from the last byte of the request to the first of the response"
        |c| c.wait_ns => or_null;
    "think_ns" Duration "what the client took before it" |c| c.think_ns => or_null;
    "request_bytes" Bytes "bytes of the request" |c| c.request_bytes;
    "response_bytes" Bytes "bytes of the response" |c| c.response_bytes;
    "cursor" Integer "the database's number of the cursor" |c| c.detail.get(Field::Cursor) => or_null;
    "rows_asked" Count "rows that the client asked for at most" |c| c.detail.get(Field::RowsAsked) => or_null;
    "rows" Count "rows that came back" |c| c.detail.get(Field::Rows) => or_null;
    "affected" Count "rows inserted, changed or deleted" |c| c.detail.get(Field::Affected) => or_null;
    "statement" Text "hash of the statement's normal form, 16 hexadecimal digits"
        |c| c.statement.as_ref().map(|s| format!("{:016x}", s.id)) => or_null;
    "sql" Text "its normal form, without literals; values of bind variables are never read"
        |c| c.statement.as_ref().map(|s| &*s.normal) => or_null;
};

/// The rows; none where no session is followed.
pub(crate) fn rows(result: &SqlResult) -> Vec<&FollowedCall> {
    let followed = result.followed.iter();
    followed.flat_map(|f| &f.calls).collect()
}

/// Hands over a row per call.
///
/// # Errors
/// Those of `to`.
pub fn followed_rows(result: &SqlResult, to: &mut dyn TakeRows) -> io::Result<()> {
    hand_over(COLUMNS, &rows(result), to)
}

/// Writes the session and its calls. `literals`: statements as they were sent.
///
/// # Errors
/// Those of `out`.
pub fn followed_text(result: &SqlResult, literals: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(followed) = &result.followed else {
        return Ok(());
    };
    for session in &result.sessions {
        let (numbers, who) = sql_text::of_session(session);
        out.write_all(wrap("", 3, &format!("Session {numbers}")).as_bytes())?;
        out.write_all(wrap("   ", 3, &who).as_bytes())?;
    }
    let begun = followed.calls.first().map_or(Time(0), |c| c.begun);
    let heads = [
        "at", "frames", "call", "took", "wait", "think", "rows", "ended",
    ];
    let heads = heads.map(str::to_owned).to_vec();
    let cells = followed.calls.iter().map(|c| line(c, begun));
    let mut lines = Grid::new(std::iter::once(heads).chain(cells).collect(), 2)
        .lines()
        .into_iter();
    let head = lines.next().unwrap_or_default();
    out.write_all(format!("\n{head}\n").as_bytes())?;
    let mut before = None;
    for (line, c) in lines.zip(&followed.calls) {
        out.write_all(format!("{line}\n").as_bytes())?;
        if let Some(step) = c.detail.word(Field::Step) {
            out.write_all(
                Tone::Faint
                    .paint_lines(&format!("      {step}\n"))
                    .as_bytes(),
            )?;
        }
        if let Some(s) = &c.statement
            && before != Some(s.id)
        {
            let mark = if s.found == Found::Scanned {
                " … (found by looking for SQL)"
            } else {
                ""
            };
            let text = if literals { &s.text } else { &s.normal };
            let more = if s.truncated { " …" } else { "" };
            let text = format!("{}{more}{mark}", harmless(text));
            out.write_all(
                Tone::Faint
                    .paint_lines(&wrap("      ", 6, &text))
                    .as_bytes(),
            )?;
        }
        before = c.statement.as_ref().map(|s| s.id);
    }
    if followed.left_out > 0 {
        let more = counted(followed.left_out, "further call");
        out.write_all(format!("… and {more}; --from and --to choose others\n").as_bytes())?;
    }
    let end = "at: since the first call. Values of bind variables and rows are never read.";
    out.write_all(Tone::Faint.paint_lines(&wrap("", 0, end)).as_bytes())
}

fn line(c: &FollowedCall, begun: Time) -> Vec<String> {
    let time = |ns: Option<i64>| ns.map_or("-".to_owned(), format_duration);
    let frames = match (c.first, c.last) {
        (a, b) if a.file != b.file || a.frame == b.frame => a.frame.to_string(),
        (a, b) => format!("{}-{}", a.frame, b.frame),
    };
    let get = |field| c.detail.get(field);
    let rows = match (get(Field::Rows), get(Field::Affected)) {
        (Some(n), _) | (None, Some(n)) => grouped(n),
        (None, None) => "-".to_owned(),
    };
    vec![
        format!("+{:.6}s", (c.begun - begun) as f64 / 1e9),
        frames,
        c.op.as_str().to_owned(),
        time(c.response_time_ns),
        time(c.wait_ns),
        time(c.think_ns),
        rows,
        harmless(c.outcome.name()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use expect_test::expect;

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.sql.1", "/$defs/followed", COLUMNS);
    }

    #[test]
    fn a_session_is_followed_call_by_call_without_its_values() {
        let result = samples::followed();
        let mut out = Vec::new();
        followed_text(&result, false, &mut out).expect("memory");
        let page = String::from_utf8(out).expect("UTF-8");
        expect![[r#"
            Session 1. 10.0.0.1:700 → [fe80::1]:2049 tns: 3 round trips, 540 B sent, 197 kB
               received; 89.0 ms: work 87.0 ms, client 2.00 ms
               user scott, database orcl, SDU 8,192 B

            at          frames     call     took     wait    think  rows  ended
            +0.000000s   10-13  EXECUTE  29.0 ms  24.0 ms        -     1     ok
                  select * from t where name = ?
            +0.030000s   10-13    FETCH  29.0 ms  24.0 ms  1.00 ms   100     ok
            +0.060000s   10-13   COMMIT  29.0 ms  24.0 ms  1.00 ms     -     ok
            at: since the first call. Values of bind variables and rows are never read.
        "#]]
        .assert_eq(&page);
        assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
        assert!(!page.contains("secret"), "{page}");
    }

    #[test]
    fn rows_of_csv_have_the_columns_of_its_header() {
        let text =
            samples::written(|out| followed_rows(&samples::followed(), &mut samples::Csv(out)));
        expect![[r#"
            begun_ns,first_frame,last_frame,op,step,outcome,response_time_ns,wait_ns,think_ns,request_bytes,response_bytes,cursor,rows_asked,rows,affected,statement,sql
            1700000000000000000,10,13,EXECUTE,,ok,29000000,24000000,,180,65700,,,1,,445299c112c75ebf,select * from t where name = ?
            1700000000030000000,10,13,FETCH,,ok,29000000,24000000,1000000,180,65700,,,100,,445299c112c75ebf,select * from t where name = ?
            1700000000060000000,10,13,COMMIT,,ok,29000000,24000000,1000000,180,65700,,,,,,
        "#]].assert_eq(&text);
    }
}
