//! The judgement itself: each kind of check holds where it should and misses where it should; what cannot fail is
//! refused; the list only shrinks.

use super::judge::{Run, Said};
use super::list::{self, Line};
use serde_json::{Value, json};

fn said() -> Said {
    Said {
        text: "\nThe SERVER is slow: it\nworks on 4 calls.\n\nFindings\n1  chatty\n".into(),
        json: json!({
            "verdict": {"side": "server", "cause": "server-slow", "sentence": "The SERVER is slow: 4 ms."},
            "findings": [
                {"code": "server-slow", "title": "Slow it is", "cost_ns": 1_500_000_000, "facts": {"cap": 4}, "where": [
                    {"by": "client", "value": "10.0.1.1", "share": 0.9},
                    {"by": "time", "value": "every 2.0 s for 1,100 ms", "share": 1.0},
                ]},
                {"code": "chatty", "title": "It chats", "cost_ns": null, "facts": {}},
            ],
            "ops": [{"op": "READ", "count": 7}, {"op": null}],
        }),
        problem: "slowside: app.csv: rows of another hour".into(),
        ..Said::default()
    }
}

fn run(command: &str, field: &str, wanted: &Value) -> Result<Run, String> {
    Run::read(&json!({"name": "both", "command": command, "args": ["a.pcap"], field: wanted}))
}

/// What `diagnose` with this check misses: the check's name, and what is said instead.
fn missed(field: &str, wanted: Value) -> Vec<(String, String)> {
    let run = run("diagnose", field, &wanted).expect("a run that is understood");
    run.misses(&said())
}

#[test]
fn what_is_said_holds() {
    for (field, wanted) in [
        ("side", json!(["mixed", "server"])),
        ("cause", json!([null, "server-slow"])),
        ("find", json!(["chatty", ["network-loss", "server-slow"]])),
        ("forbid", json!(["network-loss"])),
        ("facts", json!({"server-slow": {"cap": [4, 4]}})),
        ("cost_s", json!({"server-slow": [1.5, 2]})),
        (
            "where",
            json!([
                {"of": ["chatty", "server-slow"], "any": {"file": "data2", "client": r"10\.0\.1\.1\b"}, "share": [0.8, 1]},
                {"of": ["server-slow"], "any": {"time": "^every "}, "durations_s": [[1.9, 2.1], [1, 1.2]]},
            ]),
        ),
        ("first", json!(["^The SERVER .* 4 ms"])),
        // Across the end of a line; on standard error.
        ("says", json!(["it works on 4", "another hour"])),
        ("never", json!(["the network"])),
        (
            "json",
            json!({"ops[0].count": {"between": [7, 7]}, "ops[1].op": {"in": [null]}}),
        ),
        ("exit", json!([2])),
    ] {
        assert_eq!(missed(field, wanted), [], "{field}");
    }
}

#[test]
fn what_is_not_said_misses() {
    let sentence = "The SERVER is slow: 4 ms.";
    let paragraph = "The SERVER is slow: it works on 4 calls.";
    let only = "only server-slow, chatty";
    for (field, wanted, check, instead) in [
        ("side", json!(["client"]), "side", sentence),
        ("cause", json!([null]), "cause", sentence),
        ("find", json!([["a", "b"]]), "find a or b", only),
        ("forbid", json!(["chatty"]), "forbid chatty", "It chats"),
        (
            "facts",
            json!({"server-slow": {"cap": [5, 9]}}),
            "facts server-slow.cap",
            "4",
        ),
        (
            "facts",
            json!({"server-slow": {"size": [5, 9]}}),
            "facts server-slow.size",
            "null",
        ),
        (
            "facts",
            json!({"loss": {"n": [1, 2]}}),
            "facts loss.n",
            only,
        ),
        (
            "cost_s",
            json!({"server-slow": [0, 1.4]}),
            "cost_s server-slow",
            "1.500 s",
        ),
        (
            "cost_s",
            json!({"chatty": [0, 9]}),
            "cost_s chatty",
            "no cost",
        ),
        ("cost_s", json!({"loss": [0, 9]}), "cost_s loss", only),
        (
            "where",
            json!([{"of": ["loss"], "any": {"client": "10"}}]),
            "where loss on client 10",
            "no such finding",
        ),
        (
            "where",
            json!([{"of": ["chatty"], "any": {"client": "10"}}]),
            "where chatty on client 10",
            "on nobody",
        ),
        ("first", json!(["works on"]), "first works on", sentence),
        ("says", json!(["client"]), "says client", paragraph),
        ("never", json!(["on \\d"]), "never on \\d", "on 4"),
        (
            "json",
            json!({"ops[0].count": {"between": [8, 9]}}),
            "json ops[0].count",
            "7",
        ),
        (
            "json",
            json!({"ops[0].op": {"in": ["WRITE"]}}),
            "json ops[0].op",
            "\"READ\"",
        ),
        (
            "json",
            json!({"ops[2].op": {"in": [null]}}),
            "json ops[2].op",
            "nothing there",
        ),
    ] {
        assert_eq!(
            missed(field, wanted),
            [(check.to_owned(), instead.to_owned())]
        );
    }
}

/// The subject, the value, the share and each duration that it names must be as asked.
#[test]
fn a_cost_on_somebody_else_misses() {
    let every = |seconds: Value| json!({"of": ["server-slow"], "any": {"time": "^every "}, "durations_s": seconds});
    for wanted in [
        json!({"of": ["server-slow"], "any": {"client": r"10\.0\.0\.1\b"}}),
        json!({"of": ["server-slow"], "any": {"file": r"10\.0\.1\.1\b"}}),
        json!({"of": ["server-slow"], "any": {"client": "10"}, "share": [0.95, 1]}),
        every(json!([[0.9, 1.1], [1, 1.2]])),
        every(json!([[1.9, 2.1], [0.1, 0.2]])),
        every(json!([[1.9, 2.1]])),
    ] {
        let misses = missed("where", json!([wanted]));
        assert_eq!(misses.len(), 1, "{wanted}");
        assert!(
            misses[0]
                .1
                .starts_with("on client 10.0.1.1, share 0.9; time every")
        );
    }
}

#[test]
fn a_command_that_failed_keeps_nothing() {
    let failed = Said {
        bad_exit: Some(2),
        problem: "no such file".into(),
        ..said()
    };
    for (field, wanted) in [
        ("forbid", json!(["network-loss"])),
        ("never", json!(["the network"])),
        ("side", json!(["server"])),
        ("exit", json!([0])),
    ] {
        let run = run("diagnose", field, &wanted).expect("a run");
        let misses = run.misses(&failed);
        assert_eq!(misses.len(), 1, "{field}");
        assert_eq!(misses[0].1, "exit 2: no such file");
    }
    let allowed = |more| run("diagnose", "exit", &more).expect("a run").exits;
    assert_eq!(allowed(json!([2])), [2]);
    let usual = run("diagnose", "side", &json!(["none"])).expect("a run");
    assert_eq!(usual.exits, [0, 1, 3]);
}

#[test]
fn silence_is_no_innocence() {
    for (field, wanted) in [
        ("forbid", json!(["network-loss"])),
        ("never", json!(["lost"])),
    ] {
        let run = run("diagnose", field, &wanted).expect("a run");
        assert_eq!(run.misses(&Said::default()).len(), 1, "{field}");
    }
}

#[test]
fn only_a_diagnosis_has_its_sentence_in_the_verdict() {
    let wanted = json!(["it works on 4 calls"]);
    let other = run("ops", "first", &wanted).expect("a run");
    assert!(other.needs_text() && !other.needs_json());
    assert_eq!(other.misses(&said()), []);
    let diagnosis = run("diagnose", "first", &wanted).expect("a run");
    assert!(diagnosis.needs_json() && !diagnosis.needs_text());
    assert_eq!(diagnosis.misses(&said()).len(), 1);
}

#[test]
fn what_cannot_fail_or_be_understood_is_refused() {
    for (field, wanted) in [
        ("sides", json!(["server"])),
        ("side", json!("server")),
        ("find", json!([])),
        ("facts", json!({"chatty": {}})),
        ("facts", json!({"chatty": {"n": [2, 1]}})),
        ("facts", json!({"chatty": {"n": [1]}})),
        ("first", json!([".*"])),
        ("says", json!(["(unfinished"])),
        ("never", json!([])),
        ("where", json!([{"of": [], "any": {"client": "a"}}])),
        ("where", json!([{"of": ["chatty"], "any": {}}])),
        ("where", json!([{"of": ["chatty"], "any": {"client": ""}}])),
        (
            "where",
            json!([{"of": ["chatty"], "any": {"client": "a"}, "low": 1}]),
        ),
        ("json", json!({"ops": {}})),
        ("json", json!({"ops": {"between": [1, 2], "in": [1]}})),
        ("find", json!(["chatty", "chatty"])),
        ("args", json!(["b.pcap"])),
    ] {
        let refused = run("diagnose", field, &wanted).is_err();
        assert!(refused, "{field} {wanted}");
    }
}

fn line(case: &str, check: &str, said: &str) -> Line {
    Line::new(case, "both", check, said)
}

#[test]
fn the_list_is_what_does_not_hold_and_nothing_else() {
    let checks = [
        line("a1", "side", ""),
        line("a1", "cause", ""),
        line("b5", "side", ""),
    ];
    let listed = [line("a1", "cause", "before")];
    let misses = [line("a1", "cause", "today")];
    assert!(list::differences(&listed, &checks, &misses).is_empty());

    let wrong =
        |listed: &[Line], misses: &[Line]| list::differences(listed, &checks, misses).join("; ");
    let more = [misses[0].clone(), line("b5", "side", "network")];
    assert_eq!(
        wrong(&listed, &more),
        "does not hold: b5, run both, side: network"
    );
    assert_eq!(
        wrong(&listed, &[]),
        "holds, take it off the list: a1, run both, cause"
    );
    let gone = [listed[0].clone(), line("a1", "find x", "y")];
    assert!(
        wrong(&gone, &misses).starts_with("is listed, but there is no such: a1, run both, find x")
    );
    let twice = [listed[0].clone(), listed[0].clone()];
    assert!(wrong(&twice, &misses).starts_with("is listed twice"));
}

#[test]
fn the_list_never_grows_but_by_a_new_case() {
    let listed = [
        line("a1", "cause", "before"),
        line("a1", "side", "before"),
        line("z", "side", ""),
    ];
    let misses = [line("a1", "cause", "today"), line("b5", "side", "today")];
    assert_eq!(
        list::shrunk(&listed, &misses),
        [line("a1", "cause", "today")]
    );

    let grown = list::with_new(&listed, "b5", &misses).expect("a new case");
    let cases: Vec<&str> = grown.iter().map(|l| l.case.as_str()).collect();
    assert_eq!(cases, ["a1", "a1", "b5", "z"]);
    assert_eq!(&grown[..2], &listed[..2]);
    assert!(list::with_new(&listed, "a1", &misses).is_err());
}

#[test]
fn the_list_is_written_as_it_is_read() {
    let lines = [
        line("a1", "says \\d\t+", "two\nlines"),
        line("a1", "side", &"x".repeat(400)),
    ];
    let text = list::write(&lines);
    assert_eq!(text.lines().count(), 3);
    assert_eq!(list::read(&text).expect("four columns"), lines);
    assert!(list::read("a1\tboth\tside\n").is_err());
}
