//! Arguments and results of every RPC programme through `protocol::rpc::program::Program`.

use arbitrary::{Result, Unstructured};
use model::Outcome;
use protocol::nfs::CALLBACK;
use protocol::rpc::program::{Arguments, Program};
use protocol::rpc::programs::{self, PROGRAMS};

/// Whether `part` says nothing that `whole` does not.
fn agrees(part: &Arguments, whole: &Arguments) -> bool {
    part.detail
        .iter()
        .all(|(field, value)| whole.detail.get(field) == Some(value))
}

/// Programme, version, procedure and cut; the lengths of arguments, tail and results; and these.
fn one(u: &mut Unstructured<'_>) -> Result<()> {
    let [which, version, procedure, cut] = u.arbitrary::<[u8; 4]>()?;
    let program: &dyn Program = match PROGRAMS.get(usize::from(which) % (PROGRAMS.len() + 1)) {
        Some(program) => *program,
        None => CALLBACK,
    };
    let (version, procedure) = (u32::from(version), u32::from(procedure));
    let lengths = u.arbitrary::<[u16; 3]>()?.map(usize::from);
    let [call, tail, reply] = lengths.map(|n| u.bytes(n.min(u.len())).unwrap_or_default());

    let mut whole = program.arguments(version, procedure, call);
    assert!(!whole.op.is_empty());
    // Any answer is right.
    let _: bool = program.believes(version, procedure);
    let found = programs::program(program.number()).map(|found| found.number());
    assert!(found.is_none_or(|number| number == program.number()));
    let part = program.arguments(
        version,
        procedure,
        call.get(..usize::from(cut)).unwrap_or(call),
    );
    assert_eq!(
        part.protocol.name().starts_with("nfs4."),
        whole.protocol.name().starts_with("nfs4.")
    );
    assert!(whole.operations.starts_with(&part.operations));
    assert!(
        part.op != whole.op || agrees(&part, &whole),
        "{part:?} of {whole:?}"
    );
    if whole.tail_at.is_some() {
        program.arguments_tail(&mut whole, tail);
    }
    let listed = program.operations_text(&whole.operations);
    let names = listed.split(',').filter(|name| !name.is_empty()).count();
    assert_eq!(names, whole.operations.len());

    let mut other = whole.clone();
    let outcome = program.results(version, procedure, &mut whole, reply);
    let short = reply.get(..usize::from(cut)).unwrap_or(reply);
    let of_part = program.results(version, procedure, &mut other, short);
    assert!(
        of_part == outcome || of_part == Outcome::Ok,
        "{of_part:?}, whole: {outcome:?}"
    );
    assert!(
        other.op != whole.op || agrees(&other, &whole),
        "{other:?} of {whole:?}"
    );
    Ok(())
}

pub fn programmes(data: &[u8]) {
    let mut u = Unstructured::new(data);
    while !u.is_empty() && one(&mut u).is_ok() {}
}
