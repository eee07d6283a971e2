//! Calls to the system that fail, one after the other, in every command: whatever memory, file, thread or byte is not to
//! be had, a run ends by itself with one of its exit codes, says why in a line, and passes nothing off as whole that is
//! not.
//!
//! Some of all the calls are tried, spread over the run; `FAULTS=all` tries every single one, which takes hours for
//! allocations and minutes for all else.

mod lines;
mod run;

use crate::command::COMMANDS;
use lines::LINES;
use run::{Fault, Ran, Runs};

const INTERRUPTED: u32 = 4;
const INPUT_OUTPUT: u32 = 5;
const AGAIN: u32 = 11;
const NO_MEMORY: u32 = 12;
const DENIED: u32 = 13;
const MANY_FILES: u32 = 24;
const NO_SPACE: u32 = 28;
const BROKEN_PIPE: u32 = 32;

/// So many calls of each kind are tried for each line.
const TRIED: u32 = 12;

/// Which of so many calls are let fail: the first, in which most kinds of call are, and some of all others.
fn tried(calls: u32) -> Vec<u32> {
    if std::env::var_os("FAULTS").is_some_and(|f| f == "all") || calls <= TRIED {
        return (1..=calls).collect();
    }
    let first = TRIED / 2;
    let rest = (1..=TRIED - first).map(|n| first + (calls - first) * n / (TRIED - first));
    (1..=first).chain(rest).collect()
}

/// Lets calls of this kind fail, one in each run, and all from one on in another.
fn one_after_the_other(test: &str, kind: char, errors: &[u32]) {
    let runs = Runs::new(test);
    let mut wrong = Vec::new();
    for line in LINES {
        let none = Fault {
            kind,
            error: 0,
            from: u32::MAX,
            until: 0,
        };
        let clean = runs.run(line, none);
        let code = clean.status.and_then(|s| s.code());
        assert!(matches!(code, Some(0 | 3)), "{line}: {clean:?}");
        for from in tried(clean.calls) {
            for &error in errors {
                for until in [from, u32::MAX] {
                    let fault = Fault {
                        kind,
                        error,
                        from,
                        until,
                    };
                    let ran = runs.run(line, fault);
                    if let Err(why) = judged(line, fault, &clean, &ran) {
                        let said = ran.said.trim_end();
                        wrong.push(format!(
                            "{line}: {fault:?}: {why}: {:?}: {said}",
                            ran.status
                        ));
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What is wrong with a run in which a call failed.
fn judged(line: &str, fault: Fault, clean: &Ran, ran: &Ran) -> Result<(), String> {
    let wrong = |why: &str| Err(why.to_owned());
    let Some(status) = ran.status else {
        return wrong("it hangs");
    };
    let Some(code @ 0..=3) = status.code() else {
        return wrong("not an exit code of slowside's");
    };
    for bad in ["panicked", "stack backtrace"] {
        if ran.said.contains(bad) {
            return Err(format!("says {bad}"));
        }
    }
    // What is measured, and who came, is another each time; of a damaged input less is saved, and cut.
    let measured = line.starts_with("probe ");
    for (name, bytes) in &ran.files {
        let known = clean.files.get(name);
        // As after a kill: between its hidden name and its own it is whole.
        if fault.kind == 'm' && name.starts_with(".slowside-") {
            continue;
        }
        if known.is_none() {
            return Err(format!("leaves {name}"));
        }
        if known != Some(bytes) && !measured && code != 3 {
            return Err(format!("{name} is not whole"));
        }
    }
    // Nobody hears, or nobody reads.
    let all_writes = fault.kind == 'w' && fault.until == u32::MAX;
    let unheard = all_writes || fault.kind == 'w' && ran.of == 2;
    let unread = fault.error == BROKEN_PIPE;
    let same = ran.output == clean.output && ran.files == clean.files || measured;
    let known = |line: &str| clean.said.contains(line) || line.contains(" written, ");
    let more = ran.said.lines().any(|line| !known(line));
    // The libraries of C and Rust have words of their own where they keep what belongs to a thread.
    const WORDS: [&str; 4] = [
        "slowside: ",
        "Fatal glibc error: ",
        "memory allocation of ",
        "note: ",
    ];
    let complaint = |line: &str| WORDS.iter().any(|w| line.starts_with(w));
    let complaints = ran.said.lines().all(complaint);
    match code {
        0 if !same && !unread => wrong("what is missing is not told"),
        2 if !complaints => wrong("not a line"),
        2 if !more && !unheard => wrong("why is not told"),
        3 if ran.status != clean.status && !more && !unheard => wrong("damage is not told"),
        _ => Ok(()),
    }
}

#[test]
fn every_command_has_a_line() {
    for name in COMMANDS {
        let line = |l: &&&str| l.split(' ').next() == Some(name);
        assert!(LINES.iter().any(|l| line(&l)), "{name} is not in the list");
    }
}

#[test]
fn whichever_allocation_fails() {
    one_after_the_other("memory", 'm', &[NO_MEMORY]);
}

#[test]
fn whichever_read_fails() {
    one_after_the_other("read", 'r', &[INPUT_OUTPUT]);
}

#[test]
fn whichever_write_fails() {
    one_after_the_other("write", 'w', &[NO_SPACE, INPUT_OUTPUT, BROKEN_PIPE]);
}

#[test]
fn whichever_file_cannot_be_opened() {
    one_after_the_other("open", 'o', &[MANY_FILES, DENIED]);
}

#[test]
fn whichever_question_about_a_file_fails() {
    one_after_the_other("about", 'a', &[INPUT_OUTPUT]);
}

#[test]
fn whichever_step_to_the_disk_fails() {
    one_after_the_other("place", 'p', &[INPUT_OUTPUT]);
}

#[test]
fn whichever_thread_is_not_to_be_had() {
    one_after_the_other("thread", 't', &[AGAIN]);
}

/// Fewer bytes than asked for, and signals while the system waits, are no failures.
#[test]
fn short_and_interrupted_calls_change_nothing() {
    let runs = Runs::new("short");
    for line in LINES {
        for kind in ['r', 'w'] {
            for error in [0, INTERRUPTED] {
                let fault = |from| Fault {
                    kind,
                    error,
                    from,
                    until: u32::MAX,
                };
                let clean = runs.run(line, fault(u32::MAX));
                let ran = runs.run(line, fault(1));
                let same = ran.output == clean.output && ran.files == clean.files;
                assert_eq!(ran.status, clean.status, "{line}: {kind} {error}: {ran:?}");
                assert!(same || line.starts_with("probe "), "{line}: {kind} {error}");
                assert!(ran.failed > 0 || clean.calls == 0, "{line}: {kind} {error}");
            }
        }
    }
}

/// One line of slowside's, or of the C library and the standard library, which may say before it what they lacked memory
/// for; nothing of where in the program that was.
fn says_so(said: &str) -> bool {
    let is_told = said.contains("memory") || said.lines().count() == 1;
    is_told && said.lines().count() <= 3 && !said.contains("panicked")
}

/// Threads take memory beside the allocator's: stacks, and what the C library keeps of each.
#[test]
fn whatever_memory_there_is_a_run_ends_by_itself() {
    let runs = Runs::new("limits");
    let mut refused = 0;
    for line in ["diagnose Z Y --threads 8", "report P -o O/page.html"] {
        let clean = runs.limited(line, None);
        assert_eq!(clean.status.and_then(|s| s.code()), Some(0), "{clean:?}");
        let (before, mut done) = (refused, 0);
        for limit in (1..=120).map(|n| n * 2_000) {
            let mut ran = runs.limited(line, Some(limit));
            if ran.status.and_then(|s| s.code()).is_none() && refused > before {
                // The system ends, by a signal, whose stack cannot grow: rarely, and not twice.
                ran = runs.limited(line, Some(limit));
            }
            let code = ran.status.and_then(|s| s.code());
            // So little that the system cannot start it.
            let not_begun = code.is_none() || code == Some(127);
            if not_begun && (refused, done) == (before, 0) {
                continue;
            }
            let same = ran.output == clean.output && ran.files == clean.files;
            let said = &ran.said;
            match code {
                Some(0) if same => done += 1,
                Some(2) if says_so(said) && ran.files.is_empty() => refused += 1,
                _ => panic!("{line}: {limit} KiB: {code:?}: {said}"),
            }
        }
        assert!(done > 0, "{line}");
    }
    // What hardly needs more than the system does to start it is never refused.
    assert!(refused > 0);
}
