//! One binary with all targets, each chosen by `SLOWSIDE_TARGET`: linked once, where a binary for each would be linked
//! thirty times. Without one it lists them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use targets::{ALL, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("SLOWSIDE_TARGET").unwrap_or_default();
    let target = ALL.iter().find(|(known, _)| *known == name);
    *target.unwrap_or_else(|| {
        ALL.iter().for_each(|(known, _)| println!("{known}"));
        std::process::exit(2)
    })
});

fuzz_target!(
    init: {
        LazyLock::force(&TARGET);
    },
    |data: &[u8]| TARGET.1(data)
);
