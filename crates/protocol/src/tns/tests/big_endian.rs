//! A session of a native client whose numbers have their largest byte first: no capture of one is public.

use super::{Bytes, DOWN, Event, Form, UP, data, ops, run};
use model::{Call, Close, Field};

/// sqlplus 10.2 of 64 bits with each number the other way round: what should come from AIX or SPARC.
#[test]
fn of_big_endian_clients_no_number_is_read() {
    let execute = "03 5e 03 00 00 80 61 00*4 fe ff*7 00*3 24 fe ff*7 00*3 0d fe ff*7 fe ff*7 00*4 00*3 01 00*24 \
         fe ff*7 00*8 fe ff*7 fe ff*7 fe ff*7 00*8 fe ff*7 fe ff*7 \
         '$select name, password from sys.user$' 00*3 01 00*24 00*3 01 00*8 00 00 80 00*13";
    let events: Vec<Event> = [
        (UP, execute),
        (DOWN, "10 17 07 04 'DATA' 04 00*3 01 00 03 01 00*3 01"),
        (UP, "03 05 04 00*3 05 00*3 0f"),
        (DOWN, "06 07 04 'DATA' 04 00*3 01 00 04 01 00*3 10"),
        (UP, "03 5e 05 00 00 80 21 00*4 fe ff*7 00*3 12 fe ff*7 00*3 0d fe ff*7 fe ff*7 00*60 12 'drop table missing' 00*3 01"),
        (DOWN, "04 00*3 01 00 05 01 00*6 03 ae 28 'ORA-00942: table or view does not exist' 0a"),
    ]
    .into_iter()
    .map(|(d, payload)| Bytes(d, data(Form::Short, payload)))
    .collect();
    let seen = run(&events, Close::Finished, true);
    let calls = seen.calls;
    assert_eq!(ops(&calls), ["EXECUTE", "FETCH", "EXECUTE"]);
    let text = |call: &Call| Some(call.sql.as_ref()?.statement.as_ref()?.normal.to_string());
    assert_eq!(
        text(&calls[0]).as_deref(),
        Some("select name, password from sys.user$")
    );
    assert_eq!(text(&calls[1]), None, "whose cursor it is, a number says");
    assert_eq!(calls[2].outcome.name(), "ORA-00942");
    for call in &calls {
        assert!(call.sql.as_ref().is_some_and(|sql| sql.session.big_endian));
        for field in [
            Field::Cursor,
            Field::Rows,
            Field::RowsAsked,
            Field::Affected,
        ] {
            assert_eq!(call.detail.get(field), None, "{field:?}");
        }
    }
}
