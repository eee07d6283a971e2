//! What a session is for, told by its CONNECT or by its logon.

use super::{Bytes, DESCRIPTOR, DOWN, Form, UP, calls, connect, data, ops, session};
use model::Purpose;

/// Bytes of the first step of a logon as `user`, by a thin client: its function, the user, how, the pairs.
fn logon(program: &str) -> String {
    let text = |text: &str| -> String {
        let bytes = text.bytes().map(|b| format!("{b:02x} "));
        format!("{:02x} {}", text.len(), bytes.collect::<String>())
    };
    let length = |text: &str| format!("01 {:02x} ", text.len());
    let name = "AUTH_PROGRAM_NM";
    format!(
        "03 76 01 01 01 03 02 01 21 01 01 01 01 {} {}{}{}{} 00",
        text("sys").trim(),
        length(name),
        text(name),
        length(program),
        text(program),
    )
}

#[test]
fn a_session_says_what_it_is_for_by_program_or_service() {
    let purpose = |descriptor: &str, program: &str| {
        let mut events = session(Form::Long);
        events[0] = Bytes(UP, connect(315, descriptor));
        events[2] = Bytes(UP, connect(315, descriptor));
        let steps = [
            Bytes(UP, data(Form::Long, &logon(program))),
            Bytes(DOWN, data(Form::Long, "09 01 01 01 01")),
        ];
        events.splice(4..4, steps);
        let calls = calls(&events);
        assert_eq!(ops(&calls)[..3], ["CONNECT", "CONNECT", "LOGON"]);
        calls[4].sql.as_ref().unwrap().session.purpose
    };
    let standby = DESCRIPTOR.replace("orders", "boston_XPT");
    assert_eq!(purpose(DESCRIPTOR, "sqlplus@web7"), None);
    assert_eq!(
        purpose(&standby, "oracle@db1"),
        Some(Purpose::RedoTransport)
    );
    let redo = "oracle@db1 (TT00)";
    assert_eq!(purpose(DESCRIPTOR, redo), Some(Purpose::RedoTransport));
    let broker = "oracle@db1 (NSV1)";
    assert_eq!(purpose(DESCRIPTOR, broker), Some(Purpose::DataGuardBroker));
}
