//! Runs one target over files and folders of inputs, without libFuzzer: for coverage, and to look at
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
    let mut inputs = 0;
    for path in arguments {
        replay(Path::new(&path), *target, &mut inputs);
    }
    println!("{name}: {inputs} inputs");
}

fn replay(path: &Path, target: fn(&[u8]), inputs: &mut u64) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            replay(&entry.expect("an entry").path(), target, inputs);
        }
    } else if let Ok(bytes) = std::fs::read(path) {
        target(&bytes);
        *inputs += 1;
    } else {
        // A fuzzer that runs at the same time replaces inputs by shorter ones.
        eprintln!("{} is gone", path.display());
    }
}
