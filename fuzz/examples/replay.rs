//! Runs one target over files, folders and archives of inputs, without libFuzzer: for coverage, and to look at
//! an input with a debugger. `replay` alone lists the targets.

use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        targets::ALL.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, target) = targets::ALL
        .iter()
        .find(|(n, _)| *n == name)
        .expect("a target's name");
    let mut inputs = Vec::new();
    for path in arguments {
        targets::read(Path::new(&path), &mut inputs).expect("inputs");
    }
    for (_, bytes) in &inputs {
        target(bytes);
    }
    targets::sweep();
    println!("{name}: {} inputs", inputs.len());
}
