//! Sessions that are no application's, by what they say of themselves: Data Guard's redo transport and broker,
//! GoldenGate. All go through the listener like any other session.
//!
//! - A database's own processes are programs like `oracle@host (TT00)`. Those that ship redo are named in
//!   Oracle's reference, V$DATAGUARD_PROCESS: ARCn, LGWR, NSSn, TTnn, FAL, and LNSn and NSAn before 12.1.
//! - Standby databases register services of fixed endings with their listener: `_XPT` for redo (10.2), `_DGB`
//!   for the broker, `_DGMGRL` for its command line.
//! - GoldenGate's programs are `replicat` and `ggsci`. Its `extract` has a name that others have too, and is
//!   not told by it.
//!
//! From documentation alone: no public capture has one.

use model::Purpose;

/// What a session is for, by its program and its service.
pub(super) fn of(program: Option<&str>, service: Option<&str>) -> Option<Purpose> {
    let by_program = program.and_then(of_program);
    by_program.or_else(|| of_service(service?))
}

fn of_program(program: &str) -> Option<Purpose> {
    if let Some(process) = background(program) {
        return of_process(process);
    }
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = file.split(['@', '.', ' ']).next().unwrap_or(file);
    let is = |word: &str| name.eq_ignore_ascii_case(word);
    (is("replicat") || is("ggsci")).then_some(Purpose::GoldenGate)
}

/// The background process in `oracle@host (TT00)`; on Windows the program is `ORACLE.EXE (TT00)`.
fn background(program: &str) -> Option<&str> {
    let oracle = program.get(..6)?.eq_ignore_ascii_case("oracle");
    let (_, inside) = program.rsplit_once('(').filter(|_| oracle)?;
    Some(inside.strip_suffix(')')?.trim())
}

fn of_process(process: &str) -> Option<Purpose> {
    let numbered = |prefix: &str| {
        let rest = process.strip_prefix(prefix);
        rest.is_some_and(|n| {
            (1..=2).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    };
    let redo = ["LGWR", "FAL"].contains(&process)
        || ["ARC", "NSS", "NSA", "LNS", "TT"].into_iter().any(numbered);
    if redo {
        return Some(Purpose::RedoTransport);
    }
    let broker = process == "DMON" || ["NSV", "RSM"].into_iter().any(numbered);
    broker.then_some(Purpose::DataGuardBroker)
}

fn of_service(service: &str) -> Option<Purpose> {
    // The domain stands behind it.
    let name = service
        .split('.')
        .next()
        .unwrap_or(service)
        .to_ascii_uppercase();
    if name.ends_with("_XPT") {
        Some(Purpose::RedoTransport)
    } else if name.ends_with("_DGB") || name.ends_with("_DGMGRL") {
        Some(Purpose::DataGuardBroker)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_s_processes_are_told_by_their_names() {
        for process in [
            "LGWR", "ARC0", "ARC3", "TT00", "TT0A", "LNS1", "NSA2", "NSS3", "FAL",
        ] {
            let program = format!("oracle@prim1 ({process})");
            assert_eq!(
                of(Some(&program), None),
                Some(Purpose::RedoTransport),
                "{process}"
            );
        }
        assert_eq!(
            of(Some("ORACLE.EXE (TT00 )"), None),
            Some(Purpose::RedoTransport)
        );
        assert_eq!(
            of(Some("oracle@prim1 (NSV1)"), None),
            Some(Purpose::DataGuardBroker)
        );
        // A database link, a job, a program of somebody's.
        for other in [
            "oracle@prim1",
            "oracle@prim1 (TNS V1-V3)",
            "oracle@prim1 (J000)",
            "report (TT00)",
        ] {
            assert_eq!(of(Some(other), None), None, "{other}");
        }
    }

    #[test]
    fn services_of_a_standby_have_fixed_endings() {
        let oracle = Some("oracle");
        assert_eq!(
            of(oracle, Some("chicago_XPT.example.com")),
            Some(Purpose::RedoTransport)
        );
        assert_eq!(
            of(oracle, Some("chicago_dgb")),
            Some(Purpose::DataGuardBroker)
        );
        assert_eq!(
            of(oracle, Some("chicago_DGMGRL.example.com")),
            Some(Purpose::DataGuardBroker)
        );
        assert_eq!(of(oracle, Some("chicago")), None);
    }

    #[test]
    fn goldengate_is_told_where_its_name_is_nobody_else_s() {
        assert_eq!(
            of(Some("replicat@gg1 (TNS V1-V3)"), None),
            Some(Purpose::GoldenGate)
        );
        assert_eq!(
            of(Some("/u01/ogg/replicat"), None),
            Some(Purpose::GoldenGate)
        );
        assert_eq!(of(Some("extract@gg1 (TNS V1-V3)"), None), None);
    }
}
