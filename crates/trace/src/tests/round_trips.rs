//! Round trips of a server's trace, and the clock that they are on.

use super::{error, read, read_named};
use crate::Operation;

/// A logon's last answer, an execution with its fetch, and a commit; 12c, whose `tim` counts since the host was started.
const TRACE: &str = "\
Trace file /u01/app/oracle/diag/rdbms/orcl/orcl/trace/orcl_ora_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
Unix process pid: 4711, image: oracle@db
*** 2023-05-19T05:28:00.000000+02:00
*** SESSION ID:(2773.37935) 2023-05-19T05:28:00.000000+02:00
WAIT #0: nam='SQL*Net message to client' ela= 2 driver id=1650815232 #bytes=1 p3=0 obj#=-1 tim=70000100
*** 2023-05-19T05:28:10.500010+02:00
WAIT #0: nam='SQL*Net message from client' ela= 10400000 driver id=1650815232 #bytes=1 p3=0 obj#=-1 tim=80400100
PARSE #1:c=10,e=20,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim=80400200
EXEC #1:c=10,e=20,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=0,tim=80400300
WAIT #1: nam='db file sequential read' ela= 5000 file#=4 block#=266 blocks=1 obj#=1 tim=80405400
WAIT #1: nam='SQL*Net message to client' ela= 1 driver id=1650815232 #bytes=1 p3=0 obj#=1 tim=80405450
FETCH #1:c=50,e=5150,p=1,cr=3,cu=0,mis=0,r=1,dep=0,og=1,plh=1,tim=80405500
WAIT #1: nam='SQL*Net message from client' ela= 900 driver id=1650815232 #bytes=1 p3=0 obj#=1 tim=80406450
XCTEND rlbk=0, rd_only=1, tim=80406500
WAIT #0: nam='SQL*Net message to client' ela= 1 driver id=1650815232 #bytes=1 p3=0 obj#=1 tim=80406520
WAIT #0: nam='SQL*Net message from client' ela= 70 driver id=1650815232 #bytes=1 p3=0 obj#=1 tim=80406600
";

/// 2023-05-19T03:28:10.500010Z is when 80,400,100 µs had passed.
const AHEAD_US: i64 = 1_684_466_890_500_010 - 80_400_100;

fn spans(operations: &[Operation]) -> Vec<(i64, i64)> {
    operations.iter().map(|o| (o.start_ns, o.end_ns)).collect()
}

fn on_wall(tims_us: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let at = |us: i64| (us + AHEAD_US) * 1_000;
    tims_us.iter().map(|(a, b)| (at(*a), at(*b))).collect()
}

#[test]
fn a_round_trip_is_from_a_message_until_the_last_that_was_done_before_the_next_wait() {
    let found = read(TRACE);
    assert_eq!(
        spans(&found.operations),
        on_wall(&[(80_400_100, 80_405_500), (80_406_450, 80_406_520)])
    );
    assert!(
        found
            .operations
            .iter()
            .all(|o| o.absolute && o.session == Some(0))
    );
    assert_eq!(found.sessions, [None]);
    // What it waited for itself is told beside.
    assert_eq!(found.blocks.expect("blocks").waits.len(), 1);
    assert!(found.of_servers);
}

#[test]
fn the_top_of_a_file_may_be_older_than_what_follows() {
    let late = TRACE.replace("05:28:00.000000", "05:20:00.000000");
    assert_eq!(
        spans(&read(&late).operations),
        spans(&read(TRACE).operations)
    );
}

#[test]
fn a_clock_that_counts_since_1970_needs_no_zone() {
    let of_11g = |tim: &str| {
        TRACE
            .replace(
                "19c Enterprise Edition Release 19.0.0.0.0",
                "11g Enterprise Edition Release 11.2.0.3.0",
            )
            .replace("T05", " 05")
            .replace("+02:00", "")
            .replace("tim=8040", &format!("tim={tim}"))
            .replace(
                "tim=70000100",
                &format!("tim={}", tim.replace("8904", "8804") + "0100"),
            )
    };
    let found = read(&of_11g("168446689040"));
    let at = |us: i64| (us + 1_684_466_810_000_000) * 1_000;
    let all = [(80_400_100, 80_405_500), (80_406_450, 80_406_520)];
    assert_eq!(
        spans(&found.operations),
        all.map(|(a, b)| (at(a), at(b))).to_vec()
    );
    assert!(found.operations.iter().all(|o| o.absolute));
    // Of another clock and no zone only how long they took is known.
    let found = read(&of_11g("8040"));
    assert!(found.operations.iter().all(|o| !o.absolute));
    assert_eq!(found.operations.len(), 2);
}

#[test]
fn each_process_and_file_is_a_session() {
    let other = TRACE.replace("pid: 4711", "pid: 4712");
    let two = read_named(
        &[("a.trc", TRACE.as_bytes()), ("b.trc", other.as_bytes())],
        100,
    );
    let two = two.unwrap();
    let numbers: Vec<_> = two.operations.iter().map(|o| o.session).collect();
    assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1)]);
    assert_eq!(two.sessions, [None, None]);
}

#[test]
fn a_trace_without_blocks_still_has_its_round_trips() {
    let without: Vec<&str> = TRACE.lines().filter(|l| !l.contains("db file")).collect();
    assert_eq!(read(&(without.join("\n") + "\n")).operations.len(), 2);
    let neither: Vec<&str> = TRACE.lines().filter(|l| !l.contains("WAIT")).collect();
    assert!(error(&(neither.join("\n") + "\n")).contains("trace with waits"));
}
