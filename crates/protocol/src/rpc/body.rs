//! Arguments and results of a message, by the programme its header names.

use super::header::{CallHeader, ReplyHeader, ReplyStatus};
use super::pending::Pending;
use super::program::{Arguments, Program};
use super::programs;
use super::walk::Listing;
use crate::nfs;
use crate::output::Output;
use model::{ConnectionId, Field, Name, Outcome, Protocol};

/// Numbers that programmes are given for a while (RFC 5531 section 13).
const TRANSIENT: std::ops::Range<u32> = 0x4000_0000..0x6000_0000;

/// The procedure of the NFSv4 callback programme that is not NULL (RFC 8881 section 20).
const CB_COMPOUND: u32 = 1;

/// The operation of a call whose header was cut before its procedure.
pub(crate) const UNNAMED: Name = Name::of("CALL");

/// Reads a call's arguments into `pending`, as far as its header and protection let them be read. A
/// transient number says nothing; the NFSv4 callbacks among them are told by what stands in them. `wanted`
/// says whether names are.
pub(super) fn arguments(call: &CallHeader, head: &[u8], wanted: &Output, pending: &mut Pending) {
    let skip = call.security.wrapper().zip(call.body);
    let at = skip.map(|(wrapper, body)| wrapper + body);
    let body = at.and_then(|at| head.get(at..)).unwrap_or_default();
    let Some(program) = call.program.and_then(|number| program(number, call, body)) else {
        pending.arguments = unnamed(call);
        return;
    };
    let (version, procedure) = (pending.version, pending.procedure);
    if wanted.names {
        let name = program.name(version, procedure, body);
        pending.name = Some(name.unwrap_or_default().into());
    }
    program.read(version, procedure, body, &mut pending.arguments);
    if wanted.file_names.is_some() {
        let walk = program.walk(version, procedure, &pending.arguments, body);
        pending.walk = walk.map(Box::new);
    }
    if call.procedure.is_none() {
        pending.arguments.op = UNNAMED;
    }
    if let (Some(tail), Some(at)) = (&mut pending.arguments.tail_at, at) {
        *tail += at as u64;
    }
}

/// The programme of a call with these arguments.
fn program(number: u32, call: &CallHeader, body: &[u8]) -> Option<&'static dyn Program> {
    let is_callback = || {
        TRANSIENT.contains(&number)
            && call.procedure == Some(CB_COMPOUND)
            && nfs::is_cb_compound(body)
    };
    programs::program(number).or_else(|| is_callback().then_some(nfs::CALLBACK))
}

/// The programme that read a call's arguments.
fn program_of(call: &Pending) -> Option<&'static dyn Program> {
    match call.arguments.protocol {
        Protocol::NfsCallback => Some(nfs::CALLBACK),
        _ => programs::program(call.program),
    }
}

/// Reads what stands behind the data of a compound's WRITE.
pub(super) fn arguments_tail(call: &mut Pending, tail: &[u8]) {
    if let Some(program) = program_of(call) {
        program.arguments_tail(&mut call.arguments, tail);
    }
}

/// A call of a programme without a folder of its own, or of one that was not captured.
fn unnamed(call: &CallHeader) -> Arguments {
    let op = match (call.program, call.procedure) {
        (None, _) => UNNAMED,
        (Some(program), procedure) => {
            // Twice ten digits and a dot always fit.
            Name::of(&format!("{program}.{}", procedure.unwrap_or(0)))
        }
    };
    let mut arguments = Arguments::new(Protocol::Rpc, op);
    let fields = [
        (Field::Program, call.program),
        (Field::Version, call.version),
        (Field::Procedure, call.procedure),
    ];
    for (field, value) in fields {
        if let Some(value) = value {
            arguments.detail.set(field, u64::from(value));
        }
    }
    arguments
}

/// Tells what an accepted and successful reply to a call with a walk says of names. The entries of a directory
/// are still to be read, as the call says then, in bytes from the start of the message.
pub(super) fn file_names(
    reply: &ReplyHeader,
    results: &[u8],
    call: &mut Pending,
    from: (u64, ConnectionId),
    output: &mut Output,
) {
    let Some(walk) = call.walk.take() else {
        return;
    };
    let program = program_of(call).filter(|_| matches!(reply.status, ReplyStatus::Success));
    let body = call.security.wrapper().zip(reply.body);
    let (Some(program), Some((skip, at))) = (program, body) else {
        return;
    };
    let results = results.get(skip..).unwrap_or_default();
    let (version, procedure) = (call.version, call.procedure);
    let walked = |tell: &mut dyn FnMut(_)| program.walked(version, procedure, &walk, results, tell);
    let listing = output.name_files(from, walked).flatten();
    call.listing = listing.map(|listing| {
        Box::new(Listing {
            at: listing.at + skip + at,
            ..listing
        })
    });
}

/// How the call ended, and what its results say.
pub(super) fn outcome(reply: &ReplyHeader, results: &[u8], call: &mut Pending) -> Outcome {
    if let ReplyStatus::Error(name) = reply.status {
        return Outcome::Error(name);
    }
    let wrapper = call.security.wrapper();
    let results = wrapper.and_then(|skip| results.get(skip..));
    let (Some(results), Some(program)) = (results, program_of(call)) else {
        return Outcome::Ok;
    };
    program.results(call.version, call.procedure, &mut call.arguments, results)
}
