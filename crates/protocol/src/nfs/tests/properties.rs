use super::super::{CALLBACK, Nfs};
use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs::PROGRAMS;
use proptest::prelude::*;

/// Words that make sense to XDR more often than random ones: small numbers.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => 0_u32..4,
        2 => 0_u32..80,
        1 => Just(10044),
        1 => any::<u32>(),
    ];
    prop::collection::vec(word, 0..80).prop_map(|words| {
        let mut bytes: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
        if let Some(last) = bytes.last().copied() {
            bytes.truncate(bytes.len() - usize::from(last % 4));
        }
        bytes
    })
}

/// A compound of one operation, so that its grammar is reached.
fn compound() -> impl Strategy<Value = Vec<u8>> {
    (0_u8..3, 0_u8..80, body()).prop_map(|(minor, op, body)| {
        let mut bytes = vec![0, 0, 0, 0, 0, 0, 0, minor, 0, 0, 0, 3, 0, 0, 0, op];
        bytes.extend(body);
        bytes
    })
}

fn fields_agree(part: &Arguments, whole: &Arguments) -> bool {
    part.detail
        .iter()
        .all(|(field, value)| whole.detail.get(field) == Some(value))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_read_by_every_program(
        version in 0_u32..6,
        procedure in 0_u32..30,
        call in body(),
        tail in body(),
        reply in body(),
    ) {
        for program in PROGRAMS.iter().copied().chain([CALLBACK]) {
            let mut a = program.arguments(version, procedure, &call);
            program.arguments_tail(&mut a, &tail);
            let _ = program.results(version, procedure, &mut a, &reply);
            prop_assert!(!a.op.is_empty());
            let listed = program.operations_text(&a.operations);
            prop_assert_eq!(
                listed.split(',').filter(|s| !s.is_empty()).count(),
                a.operations.len()
            );
        }
    }

    #[test]
    fn a_cut_only_takes_away(version in 2_u32..4, procedure in 0_u32..22, call in body(), reply in body()) {
        let mut whole = Nfs.arguments(version, procedure, &call);
        for cut in 0..call.len() {
            prop_assert!(fields_agree(&Nfs.arguments(version, procedure, &call[..cut]), &whole));
        }
        let outcome = Nfs.results(version, procedure, &mut whole, &reply);
        for cut in 4..reply.len() {
            let mut part = Nfs.arguments(version, procedure, &call);
            prop_assert_eq!(Nfs.results(version, procedure, &mut part, &reply[..cut]), outcome);
            prop_assert!(fields_agree(&part, &whole));
        }
    }

    #[test]
    fn a_cut_compound_lists_a_beginning(call in compound(), reply in body()) {
        let whole = Nfs.arguments(4, 1, &call);
        for cut in 0..call.len() {
            let mut part = Nfs.arguments(4, 1, &call[..cut]);
            prop_assert!(whole.operations.starts_with(&part.operations));
            if part.op == whole.op {
                prop_assert!(fields_agree(&part, &whole), "cut at {}", cut);
            }
            let _ = Nfs.results(4, 1, &mut part, &reply);
        }
    }
}
