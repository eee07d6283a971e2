//! Every input that once reached something new still does no harm: seeds and corpora of all targets, with a stable compiler
//! and without libFuzzer.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;
use targets::{ALL, inputs};

#[test]
fn no_input_that_was_kept_does_harm() {
    let next = AtomicUsize::new(0);
    let harm = Mutex::new(Vec::new());
    let work = || {
        while let Some((name, target)) = ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let inputs = inputs(name).expect("inputs");
            for (input, bytes) in &inputs {
                if catch_unwind(AssertUnwindSafe(|| target(bytes))).is_err() {
                    harm.lock()
                        .expect("no panic here")
                        .push(format!("{name}: {input}"));
                }
            }
            println!(
                "{name}: {} inputs, {:.1} s",
                inputs.len(),
                begun.elapsed().as_secs_f64()
            );
        }
        targets::sweep();
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let harm = harm.into_inner().expect("no panic here");
    assert!(harm.is_empty(), "{harm:#?}");
}

#[test]
fn every_target_has_seeds() {
    let bare = |(name, _): &&targets::Target| inputs(name).expect("inputs").is_empty();
    let bare: Vec<_> = ALL.iter().filter(bare).map(|(name, _)| name).collect();
    assert!(bare.is_empty(), "{bare:?}");
}
