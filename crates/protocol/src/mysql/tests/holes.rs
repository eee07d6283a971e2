//! What is missing.

use super::*;

#[test]
fn a_cut_response_ends_before_the_next_command() {
    let result = result(3);
    let events = [
        up(&query("select a from t")),
        Cut(DOWN, result[..20].to_vec(), result.len() as u32 - 20),
        Cut(DOWN, vec![], 100),
        up(&query("select b from t")),
        down(&ok()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("EXECUTE", "ok", [1, 1, 2, 3]),
            expected("EXECUTE", "ok", [4, 4, 5, 5])
        ]
    );
    assert_eq!(calls[0].detail.get(Field::Inferred), Some(1));
    assert_eq!(rows(&calls[0]), None, "nobody has counted them");
    assert_eq!(calls[1].detail.get(Field::Inferred), None);
}

#[test]
fn a_cut_within_a_row_costs_nothing() {
    let row = [&[200][..], &[b'x'; 200]].concat();
    let bytes = packets(1, &[&[1], DEFINITION, EOF, &row, EOF]);
    let head = bytes.len() - row.len() - 9;
    let events = [
        up(&query("select a from t")),
        Cut(DOWN, bytes[..head + 10].to_vec(), row.len() as u32 - 10),
        down(&bytes[bytes.len() - 9..]),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(rows(&calls[0]), Some(1));
    assert_eq!(calls[0].detail.get(Field::Inferred), None);
}

#[test]
fn a_cut_statement_says_so() {
    let text = query("select a from t where a = 'long'");
    let events = [
        Cut(UP, text[..25].to_vec(), text.len() as u32 - 25),
        down(&ok()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(calls[0].outcome.name(), "ok");
    let statement = calls[0].sql.as_ref().unwrap().statement.as_ref().unwrap();
    assert!(statement.truncated);
    assert_eq!(&*statement.text, "select a from t wher");
}

#[test]
fn a_response_in_a_gap_is_not_that_of_the_next_command() {
    let events = [
        up(&query("select a from t")),
        up(&query("select b from t")),
        // The capture lacks the first response, which shows when the second comes.
        Gap(DOWN, 100),
        down(&result(2)),
        up(&query("select c from t")),
        down(&result(3)),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("EXECUTE", "no-response capture-gap", [1, 1, 0, 0]),
            expected("EXECUTE", "ok", [2, 2, 4, 4]),
            expected("EXECUTE", "ok", [5, 5, 6, 6]),
        ]
    );
    assert_eq!(rows(&calls[1]), Some(2));
}

#[test]
fn a_command_in_a_gap_does_not_lend_its_response() {
    let events = [
        up(&query("select a from t")),
        // The response, and in the other direction the next command.
        Gap(DOWN, 100),
        down(&result(2)),
        Gap(UP, 30),
        up(&query("select c from t")),
        down(&result(3)),
        up(&query("select d from t")),
        down(&result(4)),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("EXECUTE", "no-response capture-gap", [1, 1, 0, 0]),
            expected("EXECUTE", "ok", [5, 5, 6, 6]),
            expected("EXECUTE", "ok", [7, 7, 8, 8]),
        ]
    );
}

#[test]
fn a_gap_within_a_response_leaves_its_end_unknown() {
    let result = result(50);
    let events = [
        up(&query("select a from t")),
        down(&result[..100]),
        Gap(DOWN, 101),
        down(&result[201..]),
        up(&query("select b from t")),
        down(&ok()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("EXECUTE", "incomplete capture-gap", [1, 1, 2, 0]),
            expected("EXECUTE", "ok", [5, 5, 6, 6])
        ]
    );
    assert_eq!(rows(&calls[0]), None);
}

#[test]
fn the_answer_to_a_command_that_was_not_seen_is_told() {
    let events = [
        up(&query("select a from t")),
        down(&result(1)),
        down(&result(2)),
        up(&query("select b from t")),
        down(&ok()),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls)[1..],
        [
            expected("OTHER", "no-request before-capture", [0, 0, 3, 3]),
            expected("EXECUTE", "ok", [4, 4, 5, 5])
        ]
    );
}

#[test]
fn behind_a_gap_nothing_is_believed_of_who_does_not_wait() {
    let pair = [
        query("insert into t values (1)"),
        query("insert into t values (2)"),
    ]
    .concat();
    let events = [
        up(&pair),
        down(&[ok(), ok()].concat()),
        up(&pair),
        Gap(DOWN, 11),
        down(&ok()),
        up(&query("select 1")),
        down(&ok()),
    ];
    let seen = joined(&events, Close::Finished);
    let complete = seen.calls.iter().filter(|c| c.is_complete()).count();
    assert_eq!(complete, 2);
    assert!(
        seen.problems
            .iter()
            .any(|(kind, _)| kind == "mysql-pairing-lost")
    );
}

#[test]
fn a_capture_may_end_at_any_moment() {
    let reason = |events: &[Event], end| summaries(&joined(events, end).calls).pop().unwrap().1;
    let asked = [up(&query("select a from t"))];
    assert_eq!(
        reason(&asked, Close::EndOfCapture),
        "no-response after-capture"
    );
    assert_eq!(reason(&asked, Close::Reset), "no-response no-answer");
    let begun = [asked[0].clone(), down(&result(9)[..50])];
    assert_eq!(
        reason(&begun, Close::EndOfCapture),
        "incomplete after-capture"
    );
    assert_eq!(reason(&begun, Close::Reset), "incomplete no-answer");
}

/// What is cut off holds where its next packet stands. They have numbers, among them 0, and may look like commands.
#[test]
fn a_file_that_the_snap_length_cuts_goes_on_until_the_server_answers() {
    let mut looks_like_a_command = query("select 2");
    looks_like_a_command.extend([b'x'; 40]);
    let events = [
        up(&query("load data local infile 'f' into table t")),
        down(&packets(1, &[b"\xfbf"])),
        Cut(UP, packets(2, &[&[b'1'; 300]])[..40].to_vec(), 3_000),
        Cut(UP, looks_like_a_command[..20].to_vec(), 1_000),
        up(&query("select 3")),
        Cut(UP, vec![b'3'; 20], 1_000),
        down(&packets(9, &[&[0, 3, 0, 2, 0, 0, 0]])),
        up(&query("select 1")),
        down(&result(1)),
    ];
    let calls = joined(&events, Close::Finished).calls;
    assert_eq!(
        summaries(&calls),
        [
            expected("COPY", "ok", [1, 6, 7, 7]),
            expected("EXECUTE", "ok", [8, 8, 9, 9])
        ]
    );
    assert_eq!(calls[0].detail.get(Field::Affected), Some(3));
}

#[test]
fn a_file_goes_on_behind_a_gap_in_it() {
    let calls_of = |sent: [Event; 3]| {
        let asked = [
            up(&query("load data local infile 'f' into table t")),
            down(&packets(1, &[b"\xfbf"])),
        ];
        let answered = [
            down(&packets(9, &[&[0, 3, 0, 2, 0, 0, 0]])),
            up(&query("select 1")),
            down(&result(1)),
        ];
        let events = asked.into_iter().chain(sent).chain(answered);
        summaries(&joined(&events.collect::<Vec<_>>(), Close::Finished).calls)
    };
    let part = || up(&packets(2, &[b"1\n2\n3\n"]));
    assert_eq!(
        calls_of([part(), Gap(UP, 5_000), up(&query("select 2"))]),
        [
            expected("COPY", "ok", [1, 5, 6, 6]),
            expected("EXECUTE", "ok", [7, 7, 8, 8])
        ]
    );
    // All of it.
    assert_eq!(
        calls_of([Gap(UP, 500), Gap(UP, 500), Gap(UP, 500)]).last(),
        Some(&expected("EXECUTE", "ok", [7, 7, 8, 8]))
    );
}
