//! Whole traces, as text, into records and counted problems.

use crate::Error;
use crate::oracle::{CallKind, Record, TraceFile, read_from};
use proptest::prelude::*;
use std::io::Cursor;

/// Records in short form, and what is known of the file.
fn told_in(bytes: &[u8], unit_ns: Option<i64>) -> Result<(Vec<String>, TraceFile), Error> {
    let mut told = Vec::new();
    let file = read_from(
        "t".to_owned(),
        Cursor::new(bytes.to_vec()),
        unit_ns,
        &mut |record| {
            told.push(match record {
                Record::Statement(s) => format!("#{} dep {}: {}", s.cursor, s.depth, s.text),
                Record::Call(c) => format!("{} #{} e {}", c.kind.name(), c.cursor, c.elapsed_ns),
                Record::Wait(w) => format!("{} {}", w.event, w.elapsed_ns),
                Record::Transaction(t) => format!("end, read only {}", t.read_only),
                Record::Binds { cursor } => format!("binds #{cursor}"),
                Record::Date(date) => format!("date {}", date.local_ns / 1_000_000_000),
                other => format!("{other:?}"),
            });
        },
    )?;
    Ok((told, file))
}

fn told(text: &str) -> (Vec<String>, TraceFile) {
    told_in(text.as_bytes(), None).unwrap()
}

/// Kind, number, line and byte offset of the first.
fn problems(file: &TraceFile) -> Vec<(&'static str, u64, u64, u64)> {
    let place = |w: &model::Where| (w.line.unwrap_or(0), w.offset.unwrap_or(0));
    let rows = file.problems.iter();
    rows.map(|(kind, p)| (kind, p.count, place(&p.first).0, place(&p.first).1))
        .collect()
}

const STATEMENT: &str = "PARSING IN CURSOR #7 len=49 dep=0 uid=1 oct=3 lid=1 tim=10 hv=4 ad='b3' sqlid='x'\n\
    select 1\nWAIT #7: nam='x' ela= 1 p1=1\nfrom dual\nEND OF STMT\n";

#[test]
fn a_statement_may_hold_lines_that_look_like_records() {
    let (told, file) = told(&format!("{STATEMENT}EXEC #7:c=1,e=2,dep=0,tim=12\n"));
    assert_eq!(
        told,
        [
            "#7 dep 0: select 1\nWAIT #7: nam='x' ela= 1 p1=1\nfrom dual",
            "EXEC #7 e 2000"
        ]
    );
    assert!(file.problems.is_empty());
}

#[test]
fn a_statement_without_its_end_is_over_when_its_length_is() {
    let text = "PARSING IN CURSOR #7 len=8 dep=0 uid=1 tim=10 hv=4 ad='b3'\n\
        select 1\nEXEC #7:c=1,e=2,dep=0,tim=12\n";
    let (told, file) = told(text);
    assert_eq!(told, ["#7 dep 0: select 1", "EXEC #7 e 2000"]);
    assert_eq!(problems(&file), [("statement-without-end", 1, 3, 68)]);
}

#[test]
fn errors_of_parsing_have_a_text_without_an_end() {
    let text = "PARSE ERROR #9:len=14 dep=1 uid=1 oct=3 lid=1 tim=61 err=942\n\
        select nothing\nCLOSE #9:c=1,e=1,dep=1,type=0,tim=62\n";
    let (told, file) = told(text);
    assert_eq!(told, ["#9 dep 1: select nothing", "CLOSE #9 e 1000"]);
    assert!(file.problems.is_empty());
}

#[test]
fn values_of_binds_are_passed_over() {
    let text = "BINDS #7:\n\n Bind#0\n  oacdty=01 mxl=128(80)\n\
        *** 2022-10-25T15:07:20.941104+02:00 (PDB(3))\n  value=\"secret\"\nEXEC #7:c=1,e=2,dep=0,tim=12\n";
    let (told, file) = told(text);
    assert_eq!(told, ["binds #7", "date 1666710440", "EXEC #7 e 2000"]);
    assert!(!format!("{file:?}").contains("secret"));
}

#[test]
fn what_is_broken_is_counted_and_left_out_whole() {
    let text = "WAIT #7: nam='a' ela= 5 p1=1 p2=2 p3=3 obj#=1 tim=10\n\
        FETCH #7:c=1,e=4,dep=0,tim=11WAIT #7: nam='b' ela= 6 p1=1 p2=2 p3=3 obj#=1 tim=20\n\
        WAIT #7: nam='c' ela= 7 p1=1 p2=2 p3=\n\
        EXEC #7:c=1,e=4,dep=0,ti\n\
        EXEC #7:c=1,e=9,dep=0,tim=1";
    let (told, file) = told(text);
    assert_eq!(told, ["a 5000", "FETCH #7 e 4000", "b 6000"]);
    assert_eq!(
        problems(&file),
        [("cut-record", 3, 3, 135), ("lines-run-together", 1, 2, 53)]
    );
    assert!(file.problems.any_damage());
}

#[test]
fn the_header_tells_who_wrote_it_and_the_unit() {
    let text = "Trace file /u01/x_ora_4711.trc\r\n\
        Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\r\n\
        System name:\tLinux\r\nNode name:\tdb1.example.com\r\nInstance name: x\r\n\
        Unix process pid: 4711, image: oracle@db1.example.com\r\n\
        *** 2023-05-19T05:28:00.339263+02:00 (PDB(11))\r\n\
        *** SESSION ID:(2773.37935) 2023-05-19T05:28:00.339309+02:00\r\n\
        *** MODULE NAME:(perl@a (TNS V1-V3)) 2023-05-19T05:28:00.339309+02:00\r\n\
        CLOSE #7:c=3,e=4,dep=0,type=1,tim=99\r\n";
    let (told, file) = told(text);
    assert_eq!(
        told,
        ["Process(4711)", "date 1684474080", "CLOSE #7 e 4000"]
    );
    assert_eq!(file.release, Some((19, 0)));
    assert_eq!(
        (file.host.as_deref(), file.process),
        (Some("db1.example.com"), Some(4711))
    );
    assert_eq!(file.module.as_deref(), Some("perl@a (TNS V1-V3)"));
    assert_eq!((file.sessions, file.unit_ns), (1, 1_000));
    let offset = file.first.and_then(|s| s.offset_s);
    assert_eq!((offset, file.other_lines), (Some(7_200), 0));

    let (told_8i, _) = told_in(
        b"Oracle8i Enterprise Edition Release 8.1.7.0.0 - Production\nEXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=9\n",
        None,
    )
    .unwrap();
    assert_eq!(told_8i, ["EXEC #1 e 20000000"]);
}

/// As `trcsess` writes them.
#[test]
fn a_file_of_several_processes_says_whose_the_next_lines_are() {
    let text = "*** [ Unix process pid: 11 ]\nCLOSE #7:c=3,e=4,dep=0,type=1,tim=99\n\
        *** [ Unix process pid: twelve ]\n*** [ Unix process pid: 12 ]\n";
    let (told, file) = told(text);
    assert_eq!(told, ["Process(11)", "CLOSE #7 e 4000", "Process(12)"]);
    assert_eq!((file.process, file.other_lines), (None, 1));
}

/// Ten seconds by the dates, in units of `ns`.
fn old_trace(ns: i64) -> String {
    let units = 10_000_000_000 / ns;
    format!(
        "Oracle9i Enterprise Edition Release 9.2.0.8.0 - Production\nSystem name: Linux\n\
         *** 2005-03-01 12:00:00.000\nEXEC #1:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim=1000\n\
         WAIT #1: nam='SQL*Net message from client' ela= {units} p1=1 p2=1 p3=0\n\
         *** 2005-03-01 12:00:10.003\nEXEC #1:c=0,e=1,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=4,tim={}\n",
        1000 + units
    )
}

#[test]
fn the_clocks_of_9i_and_10g_are_held_against_the_dates() {
    let folder = std::env::temp_dir().join(format!("slowside-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for unit_ns in [1_000, 1_024] {
        let path = folder.join(format!("{unit_ns}.trc"));
        std::fs::write(&path, old_trace(unit_ns)).unwrap();
        let mut waited = 0;
        let file = crate::oracle::read(&path, &mut |record| {
            if let Record::Wait(wait) = record {
                waited = wait.elapsed_ns;
            }
        })
        .unwrap();
        assert_eq!((file.unit_ns, file.problems.len()), (unit_ns, 0));
        assert!((waited - 10_000_000_000).abs() < unit_ns, "{waited}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // What comes once cannot be read before: it says that it does not know.
    let (_, file) = told(&old_trace(1_024));
    assert_eq!(
        (file.unit_ns, problems(&file)[0].0),
        (1_000, "unit-uncertain")
    );
}

#[test]
fn packed_files_are_read() {
    let unhex = |text: &str| -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        pairs
            .map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap())
            .collect()
    };
    // `xz` of one line, `zip` of three, `zip -0` of one (Python's lzma and zipfile).
    let xz = concat!(
        "fd377a585a000004e6d6b4460200210116000000742fe5a301001f584354454e4420726c626b",
        "3d302c2072645f6f6e6c793d312c2074696d3d350a00500d0dae5863085c000138201829770c",
        "1fb6f37d010000000004595a"
    );
    let zip = concat!(
        "504b03041400000008000000215cca808d52250000006000000005000000612e7472638b700e",
        "71f5735128ca49cab635d051284a89cfcfcba9b435d45128c9ccb535e58aa0501e00504b0102",
        "14031400000008000000215cca808d5225000000600000000500000000000000000000008001",
        "00000000612e747263504b0506000000000100010033000000480000000000"
    );
    let stored = concat!(
        "504b03041400000000000000215c6b16f886200000002000000005000000612e747263584354",
        "454e4420726c626b3d302c2072645f6f6e6c793d312c2074696d3d350a504b01021403140000",
        "0000000000215c6b16f886200000002000000005000000000000000000000080010000000061",
        "2e747263504b0506000000000100010033000000430000000000"
    );
    let line = "end, read only true".to_owned();
    for (packed, lines) in [(xz, 1), (zip, 3), (stored, 1)] {
        let (told, file) = told_in(&unhex(packed), None).unwrap();
        assert_eq!(told, vec![line.clone(); lines]);
        assert_eq!(file.bytes, 32 * lines as u64);
    }
    // Cut in the middle: an error, or what could be unpacked and a problem; never a panic.
    let bytes = unhex(xz);
    for length in 0..bytes.len() {
        if let Ok((_, file)) = told_in(&bytes[..length], None) {
            assert!(file.problems.any_damage(), "{length}");
        }
    }
}

#[test]
fn other_files_are_refused_with_the_cure() {
    let error = |bytes: &[u8]| told_in(bytes, None).unwrap_err().to_string();
    assert!(error(b"").contains("is empty"));
    assert!(error(b"hello\nworld\n").contains("no trace of an Oracle database"));
    assert!(error(b"BZh91AY&SY").contains("bunzip2"));
    assert!(error(b"\x28\xb5\x2f\xfdxxx").contains("unzstd"));
    assert!(
        error(b"15440 17:39:44.632302 write(14, \"C4\", 2) = 2 <0.000015>\n").contains("strace")
    );
    assert!(error(b"ab\0cd\n").contains("binary"));
}

/// Lines of which trouble is made.
fn piece() -> impl Strategy<Value = String> {
    let lines = [
        "PARSING IN CURSOR #7 len=8 dep=0 uid=1 tim=10 hv=4 ad='b3'",
        "select 1",
        "END OF STMT",
        "PARSE ERROR #9:len=14 dep=1 uid=1 oct=3 lid=1 tim=61 err=942",
        "EXEC #7:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=1,og=1,plh=0,tim=12",
        "FETCH #7:c=1,e=9223372036854775807,r=18446744073709551615,dep=0,tim=-9223372036854775808",
        "WAIT #7: nam='SQL*Net message from client' ela= 5 driver id=1 #bytes=1 p3=0 obj#=-1 tim=10",
        "WAIT #0: nam='db file sequential read' ela= 9223372036854775807 file#=1 block#=2 blocks=1",
        "LOBREAD: type=PERSISTENT LOB,bytes=9,c=1,e=2,p=0,cr=0,cu=0,tim=9",
        "XCTEND rlbk=0, rd_only=0, tim=12",
        "STAT #7 id=1 cnt=1 pid=0 pos=1 obj=0 op='X (cr=1 time=3 us)'",
        "BINDS #7:",
        " Bind#0",
        "*** 2005-03-01 12:00:10.003",
        "*** SESSION ID:(9.9) 2005-03-01 12:00:10.003",
        "=====================",
        "[03-FEB-2014 10:56:17:937] nspsend: plen=32, type=2",
        "[03-FEB-2014 10:56:17:937] nttwr: socket 17 had bytes written=32",
        "[03-FEB-2014 10:56:17:938] nsprecv: tlen=266, plen=266, type=1",
        "[03-FEB-2014 10:56:17:938] nsprecv: 00 E3 00 00 01 00 28 44  |......(D|",
        "2014-11-15 16:12:24.300524 : nscon:got NSPTCN packet",
        " 48 bytes sent via fast-path",
        "NSMTIO: qertbFetch:DirectRead:[OBJECT_SIZE>VLOT]",
        "",
        "é\u{0}\u{85}",
    ];
    proptest::sample::select(lines.to_vec()).prop_map(str::to_owned)
}

fn trace() -> impl Strategy<Value = String> {
    let ends = proptest::sample::select(vec!["\n", "\n", "\n", "\r\n", "", " "]);
    proptest::collection::vec((piece(), ends), 0..40)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text_is_survived_and_every_line_counted(text in trace(), cut in any::<proptest::sample::Index>()) {
        let bytes = text.as_bytes();
        let cut = &bytes[..cut.index(bytes.len() + 1)];
        let Ok((all, file)) = told_in(bytes, Some(1_000)) else {
            return Ok(());
        };
        prop_assert_eq!(file.bytes, bytes.len() as u64);
        prop_assert_eq!(file.lines, text.lines().count() as u64);
        // A cut takes away, and changes at most what it goes through: a statement, a packet and its dump wait
        // for their ends.
        if let Ok((some, _)) = told_in(cut, Some(1_000)) {
            let same = all.iter().zip(&some).take_while(|(a, b)| a == b).count();
            prop_assert!(same + 3 >= some.len(), "{some:?} of {all:?}");
        }
    }
}

#[test]
fn kinds_of_calls_are_named_as_in_the_trace() {
    assert_eq!(CallKind::SortUnmap.name(), "SORT UNMAP");
}
