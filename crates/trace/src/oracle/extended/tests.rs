use super::*;

fn record(text: &str) -> Record<'_> {
    match line(text, 1_000, true) {
        Line::Record(record) => record,
        other => panic!("{text}: {other:?}"),
    }
}

fn lacks(text: &str) -> &'static str {
    match line(text, 1_000, true) {
        Line::Broken(broken) => broken.lacks,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn calls_have_their_numbers() {
    // 19c, 9.2 (no plan), and an operation on a LOB.
    let text = "FETCH #140:c=444,e=445,p=1,cr=4,cu=2,mis=0,r=10,dep=1,og=1,plh=2725028981,tim=5793511831311";
    let Record::Call(fetch) = record(text) else {
        panic!()
    };
    assert_eq!(
        (fetch.kind, fetch.cursor, fetch.depth),
        (CallKind::Fetch, 140, Some(1))
    );
    assert_eq!((fetch.cpu_ns, fetch.elapsed_ns), (444_000, 445_000));
    assert_eq!(
        (fetch.tim_ns, fetch.plan),
        (5_793_511_831_311_000, Some(2_725_028_981))
    );
    assert_eq!(
        (
            fetch.physical_reads,
            fetch.consistent_reads,
            fetch.current_reads
        ),
        (1, 4, 2)
    );
    assert_eq!(
        (fetch.rows, fetch.missed, fetch.start_ns()),
        (10, false, 5_793_511_830_866_000)
    );
    let text = "EXEC #1:c=0,e=9,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=4,tim=12";
    let Record::Call(exec) = record(text) else {
        panic!()
    };
    assert_eq!(
        (exec.kind, exec.missed, exec.plan),
        (CallKind::Exec, true, None)
    );
    let text = "LOBWRITE: type=TEMPORARY LOB,bytes=5,c=169,e=170,p=0,cr=0,cu=7,tim=4696599871319";
    let Record::Call(lob) = record(text) else {
        panic!()
    };
    assert_eq!(
        (lob.kind.name(), lob.elapsed_ns, lob.depth),
        ("LOBWRITE", 170_000, None)
    );
    let Record::Call(close) = record("CLOSE #7:c=3,e=4,dep=0,type=1,tim=99") else {
        panic!()
    };
    assert_eq!((close.kind, close.elapsed_ns), (CallKind::Close, 4_000));
    assert!(
        matches!(record("SORT UNMAP #3:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=1"), Record::Call(c) if c.kind == CallKind::SortUnmap)
    );
}

#[test]
fn waits_have_names_parameters_and_times() {
    let text = "WAIT #5: nam='db file sequential read' ela= 343 file#=414 block#=2090520 blocks=1 obj#=-1 tim=5793511831255";
    let Record::Wait(wait) = record(text) else {
        panic!()
    };
    assert_eq!(
        (wait.cursor, wait.event, wait.elapsed_ns),
        (5, "db file sequential read", 343_000)
    );
    assert_eq!(
        wait.parameters,
        [
            ("file#", Some(414)),
            ("block#", Some(2_090_520)),
            ("blocks", Some(1))
        ]
    );
    assert_eq!(
        (wait.object, wait.tim_ns),
        (Some(-1), Some(5_793_511_831_255_000))
    );
    // Names with blanks, and a number beyond 63 bits.
    let text = "WAIT #5: nam='library cache lock' ela= 208 handle address=18446744073709551615 lock address=41833868080 100*mode+namespace=-4288151550 obj#=69455 tim=7098546245092";
    let Record::Wait(wait) = record(text) else {
        panic!()
    };
    assert_eq!(
        wait.parameters,
        [
            ("handle address", None),
            ("lock address", Some(41_833_868_080)),
            ("100*mode+namespace", Some(-4_288_151_550))
        ]
    );
    let text = "WAIT #8: nam='enq: TX - row lock contention' ela= 7 name|mode=1415053318 usn<<16 | slot=327697 sequence=5150 obj#=1 tim=4";
    let Record::Wait(wait) = record(text) else {
        panic!()
    };
    assert_eq!(wait.parameter("usn<<16 | slot"), Some(327_697));
    // 9i: no tim.
    let text = "WAIT #1: nam='SQL*Net message to client' ela= 3 p1=1413697536 p2=1 p3=0";
    assert!(
        matches!(line(text, 1_000, false), Line::Record(Record::Wait(w)) if w.tim_ns.is_none())
    );
    assert_eq!(lacks(text), "tim");
}

#[test]
fn statements_transactions_and_the_rest_are_known() {
    let text = "PARSING IN CURSOR #140 len=123 dep=1 uid=127 oct=3 lid=127 tim=579 hv=41568804 ad='b3cba2e50' sqlid='atxg62s17nkj4'";
    let Line::Statement(head) = line(text, 1_000, true) else {
        panic!()
    };
    assert_eq!(
        (head.cursor, head.length, head.depth, head.sql_id),
        (140, 123, 1, Some("atxg62s17nkj4"))
    );
    assert!(!head.cut && head.tim == Some(579_000));
    let Line::Statement(head) = line(
        "PARSE ERROR #9:len=67 dep=1 uid=112 oct=3 lid=112 tim=61 err=10980",
        1,
        true,
    ) else {
        panic!()
    };
    assert_eq!(
        (head.error, head.is_error, head.cut),
        (Some(10_980), true, false)
    );
    assert_eq!(
        record("XCTEND rlbk=1, rd_only=0, tim=6"),
        Record::Transaction(TransactionEnd {
            rollback: true,
            read_only: false,
            tim_ns: Some(6_000)
        })
    );
    assert!(matches!(record("XCTEND rlbk=0, rd_only=1"), Record::Transaction(t) if t.read_only));
    assert_eq!(
        record("ERROR #13:err=27403 tim=3034700188655"),
        Record::Error {
            cursor: 13,
            code: 27_403
        }
    );
    assert_eq!(record("BINDS #13:"), Record::Binds { cursor: 13 });
    assert_eq!(
        record("STAT #1 id=1 cnt=1 pid=0 pos=1 obj=0 op='FOR UPDATE (cr=4 time=399 us)'"),
        Record::PlanLine { cursor: 1 }
    );
    assert_eq!(
        record(" 48 bytes sent via fast-path"),
        Record::Bytes(NetBytes {
            sent: true,
            overflow: false,
            bytes: 48
        })
    );
    assert_eq!(
        record(" (overflow) 8057 bytes sent via fast-path"),
        Record::Bytes(NetBytes {
            sent: true,
            overflow: true,
            bytes: 8_057
        })
    );
    assert_eq!(
        record(" 152 bytes received via SQL*Net"),
        Record::Bytes(NetBytes {
            sent: false,
            overflow: false,
            bytes: 152
        })
    );
    assert_eq!(
        record(
            "NSMTIO: qertbFetch:NoDirectRead:[- STT < OBJECT_SIZE < MTT]:Obect's size: 10617 (blocks), Threshold: MTT(20979 blocks),"
        ),
        Record::Decision {
            function: "qertbFetch",
            direct: false,
            reason: "- STT < OBJECT_SIZE < MTT"
        }
    );
    assert_eq!(
        record("NSMTIO: kcbdpc:DirectRead: tsn: 4, objd: 20480, objn: 20480"),
        Record::Decision {
            function: "kcbdpc",
            direct: true,
            reason: ""
        }
    );
    assert_eq!(
        line(
            "NSMTIO: kcbism: islarge 1 next 0 nblks 10617 type 3",
            1,
            true
        ),
        Line::Other
    );
    assert_eq!(line("WAITING for it", 1, true), Line::Other);
}

#[test]
fn what_is_cut_says_what_it_lacks() {
    assert_eq!(
        lacks("EXEC #14:c=73,e=73,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,plh=2725028981,ti"),
        "tim"
    );
    assert_eq!(lacks("EXEC #14:c=73,e=7"), "e");
    assert_eq!(lacks("WAIT #14: nam='db file seq"), "nam or ela");
    assert_eq!(
        lacks("WAIT #14: nam='db file sequential read' ela= 34"),
        "ela"
    );
    assert_eq!(lacks("WAIT #1"), "everything but its beginning");
    assert_eq!(lacks("XCTEND rlbk=0, rd_only=1,"), "tim");
    assert_eq!(
        lacks("STAT #1 (cr=0 pr=0 pw=0 str=1 time=29 us)'"),
        "its beginning or end"
    );
    let text =
        "FETCH #1:c=4,e=4,tim=57WAIT #1: nam='x' ela= 1 p1=1 p2=2 p3=3 obj#=8 tim=5WAIT #2: nam='a";
    let at = second_record(text).unwrap();
    assert!(text[at..].starts_with("WAIT #1"));
    assert!(text[at..][second_record(&text[at..]).unwrap()..].starts_with("WAIT #2"));
}
