//! Waits for blocks as releases write them.

use super::{error, read, read_named};
use crate::{BlockWait, ReadEvent};

const TRACE: &str = "\
Trace file /u01/app/oracle/diag/rdbms/orcl/orcl/trace/orcl_ora_4711.trc
Oracle Database 11g Enterprise Edition Release 11.2.0.3.0 - 64bit Production
WAIT #3: nam='db file sequential read' ela= 6629 file#=4 block#=266 blocks=1 obj#=83951 tim=1414517425511184
WAIT #3: nam='SQL*Net message to client' ela= 3 driver id=1650815232 #bytes=1 p3=0 obj#=1 tim=1414517425511190
WAIT #3: nam='db file scattered read' ela= 5970 file#=4 block#=267 blocks=5 obj#=83951 tim=1414517425517483
WAIT #3: nam='direct path read' ela= 4878 file number=4 first dba=20476 block cnt=1 obj#=83952 tim=1414517425559306
WAIT #3: nam='db file parallel read' ela= 487 files=1 blocks=13 requests=13 obj#=83952 tim=1414517425559406
WAIT #3: nam='control file sequential read' ela= 12 file#=0 block#=1 blocks=1 obj#=-1 tim=1414517425559506
WAIT #3: nam='db file sequential read' ela= 10 file#=4 block#=-1 blocks=1 obj#=1 tim=1414517425559606
";

#[test]
fn waits_that_name_their_blocks_are_taken() {
    let found = read(TRACE);
    assert_eq!(found.format, "Oracle trace");
    let waits = &found.blocks.expect("waits").waits;
    let wait = |tim_us: i64, ela_us: i64, block, blocks, event| BlockWait {
        end_ns: tim_us * 1_000,
        elapsed_ns: ela_us * 1_000,
        file: 4,
        block,
        blocks,
        event,
    };
    assert_eq!(
        *waits,
        [
            wait(1_414_517_425_511_184, 6_629, 266, 1, ReadEvent::Sequential),
            wait(1_414_517_425_517_483, 5_970, 267, 5, ReadEvent::Scattered),
            wait(1_414_517_425_559_306, 4_878, 20_476, 1, ReadEvent::Direct),
        ]
    );
}

#[test]
fn a_cut_line_is_counted_and_several_files_are_put_together() {
    let cut = TRACE.replace("obj#=83952 tim=1414517425559306", "obj#=8");
    let found = read_named(
        &[("a.trc", cut.as_bytes()), ("b.trc", TRACE.as_bytes())],
        10,
    )
    .unwrap();
    assert_eq!(found.blocks.unwrap().waits.len(), 5);
    assert_eq!(found.skipped_lines, 1);
    assert!(found.first_skipped.unwrap().starts_with("a.trc, line 6"));
}

#[test]
fn what_cannot_be_held_against_a_capture_is_refused() {
    let untimed: String = TRACE
        .lines()
        .map(|l| l.split(" tim=").next().unwrap().to_owned() + "\n")
        .collect();
    assert!(error(&untimed).ends_with("no tim, as those of 9i: slowside trace reads it alone"));
    let calls = "PARSE #3:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=5\n";
    assert!(error(calls).ends_with("trace with waits (level 8 of event 10046, waits => true)"));
    let mixed = read_named(
        &[("a", TRACE.as_bytes()), ("b", b"start_ns,end_ns\n1,2\n")],
        10,
    );
    assert!(
        mixed
            .unwrap_err()
            .to_string()
            .starts_with("a is an Oracle trace, but b is CSV")
    );
}
