//! What a call works on, as one number: a statement of a database, or what of a file others may have for themselves.

use crate::broken_off;
use crate::session_locks::SessionLock;
use model::sql::op;
use model::{Call, Field, Outcome, Protocol, Statement};
use std::hash::BuildHasher;
use std::sync::Arc;

/// The works of statements and of files share no number, nor do those of calls of which the server says that they waited:
/// it promised the answer for later, or broke the call off for what another session held; nor those that ask for a lock alone,
/// nor those that were broken off for another reason.
const OF_FILES: u64 = 1 << 63;
const WAITED: u64 = 1 << 62;
const ASKS_FOR_LOCK: u64 = 1 << 61;
const BROKEN_OFF: u64 = 1 << 60;
const MARKS: u64 = WAITED | ASKS_FOR_LOCK | BROKEN_OFF;

/// A number for what a call works on: of a database's its statement, or, where it has none, its operation; of one that
/// may have to wait for what others have of a file, that; of others 0.
#[must_use]
pub fn work_of(call: &Call) -> u64 {
    match call.protocol {
        Protocol::Smb2 => match (work_of_waiter(call), call.detail.get(Field::Pending)) {
            (Some(file), Some(_)) => file | WAITED,
            (Some(file), None) => file,
            // The snap length hides which, or it is renamed, which the leases of others hold up as well.
            (None, Some(_)) if matches!(call.op.as_str(), "CREATE" | "LOCK" | "SET_INFO") => {
                OF_FILES | WAITED
            }
            (None, _) => 0,
        },
        p if p.is_sql() => {
            let statement = statement_of(call);
            let work =
                statement.map_or_else(|| work_of_op(call.op.as_str()), |s| work_of_statement(s.id));
            let asks = statement.is_some_and(|s| SessionLock::is_asked_for_alone(&s.normal));
            match (broken_off::why(call), asks) {
                (Some((why, _)), _) if why.is_of_lock() => work | WAITED,
                (_, true) => work | ASKS_FOR_LOCK,
                (Some(_), false) => work | BROKEN_OFF,
                (None, false) => work,
            }
        }
        _ => 0,
    }
}

/// The same of a statement.
#[must_use]
pub fn work_of_statement(id: u64) -> u64 {
    id & !(OF_FILES | MARKS)
}

/// The same of an SMB client's call that may have to wait for what others have: of one that opens a file the file, of one
/// that locks a part of it that part. A lock that was refused has not waited.
fn work_of_waiter(call: &Call) -> Option<u64> {
    match call.op.as_str() {
        "CREATE" => work_of_file(call),
        "LOCK" if call.outcome == Outcome::Ok => work_of_part(call),
        _ => None,
    }
}

/// The same of the part of a file that an SMB client locks or lets go.
#[must_use]
pub fn work_of_part(call: &Call) -> Option<u64> {
    let get = |field| call.detail.get(field);
    Some(file_number((
        get(Field::File)?,
        Some((get(Field::Offset)?, get(Field::Count)?)),
    )))
}

/// The same of a whole file of SMB.
#[must_use]
pub fn work_of_file(call: &Call) -> Option<u64> {
    Some(file_number((call.detail.get(Field::File)?, None)))
}

/// A file and a part of it.
fn file_number(what: (u64, Option<(u64, u64)>)) -> u64 {
    let hash = foldhash::fast::FixedState::default().hash_one(what);
    hash & !MARKS | OF_FILES
}

/// Whether a [work](work_of) is that of a database, whose sessions have one call under way.
#[must_use]
pub fn is_sql(work: u64) -> bool {
    work != 0 && !is_of_file(work)
}

/// Whether it is that of a file.
#[must_use]
pub fn is_of_file(work: u64) -> bool {
    work & OF_FILES != 0
}

/// Whether the server said of it that it waited for others.
#[must_use]
pub fn says_that_it_waited(work: u64) -> bool {
    work & WAITED != 0
}

/// Whether it was to wait for a lock, and to do nothing else.
#[must_use]
pub fn asks_for_lock(work: u64) -> bool {
    work & ASKS_FOR_LOCK != 0
}

/// Whether the server broke it off, and does not say whether it waited for others.
#[must_use]
pub fn was_broken_off(work: u64) -> bool {
    work & BROKEN_OFF != 0
}

/// The same work, whether or not it waited.
#[must_use]
pub fn without_wait(work: u64) -> u64 {
    work & !MARKS
}

/// The statement whose work a call is: a logon that carries one takes its time for itself.
#[must_use]
pub fn statement_of(call: &Call) -> Option<&Arc<Statement>> {
    let sql = call.sql.as_ref().filter(|_| call.op != op::LOGON)?;
    sql.statement.as_ref()
}

/// The same of an operation without a statement.
#[must_use]
pub fn work_of_op(op: &str) -> u64 {
    work_of_statement(foldhash::fast::FixedState::default().hash_one(op))
}
