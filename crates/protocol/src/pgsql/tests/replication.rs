//! Logs that are copied, and copies of tables that are not.

use super::messages::{complete, logged_on, message, query, ready};
use super::{run, told};
use crate::kit::{self, Event, down, up};
use model::{Change, Close};

/// 8 bytes of the log that end at this position, and that a standby has flushed it so far (section 55.4).
fn log_until(end: u64) -> Vec<u8> {
    let start = (end - 8).to_be_bytes();
    message(
        b'd',
        &[b"w".as_slice(), &start, &[0; 16], b"log log "].concat(),
    )
}

fn flushed_until(end: u64) -> Vec<u8> {
    let position = end.to_be_bytes();
    message(
        b'd',
        &[b"r".as_slice(), &position, &position, &[0; 17]].concat(),
    )
}

/// Changes of a standby's copy.
fn copied(events: &[Event], opened: bool) -> Vec<Change> {
    let connection = if opened { kit::opened } else { kit::joined };
    let seen = kit::seen(&connection(5_432), events, Close::Finished);
    let all = seen.outstanding.iter().map(|o| o.change);
    all.filter(|c| matches!(c, Change::Shipped | Change::Confirmed))
        .collect()
}

#[test]
fn a_standby_confirms_what_the_server_ships() {
    let [ship, confirm] = [Change::Shipped, Change::Confirmed];
    let both = message(b'W', &[0, 0, 0]);
    let begun = [up(&query("START_REPLICATION 0/0")), down(&both)];
    let copy = [
        down(&[log_until(0x100), log_until(0x108)].concat()),
        up(&flushed_until(0x100)),
        down(&log_until(0x110)),
        up(&flushed_until(0x110)),
    ];
    let told = [ship, ship, confirm, ship, confirm, confirm];
    assert_eq!(
        copied(&logged_on(&[&begun[..], &copy].concat()), true),
        told
    );
    // Joined on the way, from the first time on that the standby tells how far it is.
    let again = [down(&log_until(0x118)), up(&flushed_until(0x118))];
    let joined = copied(&[&copy[..], &again].concat(), false);
    assert_eq!(joined, [ship, confirm, ship, confirm]);
    // What is not confirmed is given up in the end.
    let cut_off = logged_on(&[&begun[..], &copy[..1]].concat());
    assert_eq!(copied(&cut_off, true), [ship, ship, confirm, confirm]);
}

/// Lines of a table that begin with the letters of replication.
#[test]
fn the_rest_of_a_copy_that_began_before_the_capture_is_its_request() {
    let rows = [message(b'd', b"1\n"), message(b'd', b"2\n")].concat();
    let end = [complete("COPY 900"), ready()].concat();
    let copied = |sent: &[Event]| {
        let events = [sent, &[down(&end)]].concat();
        run(&events, Close::Finished, false)
    };
    let calls = copied(&[up(&rows), up(&rows)]);
    assert_eq!(told(&calls), [("OTHER", "no-request")]);
    let [call] = &calls[..] else { panic!() };
    assert_eq!(call.request_bytes, 2 * rows.len() as u64);
    let [first, last] = [call.request_first, call.request_last].map(|m| m.unwrap().time);
    assert!(first < last && last < call.response_first.unwrap().time);
    // Nothing of it was seen.
    let [call] = &copied(&[])[..] else { panic!() };
    assert_eq!((call.request_first, call.request_bytes), (None, 0));
}

#[test]
fn an_ordinary_copy_ships_nothing() {
    let out = [
        message(b'H', &[0, 0, 0]),
        log_until(0x100),
        log_until(0x108),
    ]
    .concat();
    let end = [message(b'c', b""), complete("COPY 2"), ready()].concat();
    let events = logged_on(&[up(&query("copy t to stdout")), down(&[out, end].concat())]);
    assert_eq!(copied(&events, true), []);
}
