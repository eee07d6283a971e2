//! Texts through `interface::Expression` into programs.

use interface::{Expression, Layout};

pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    match text.parse::<Expression>() {
        Ok(expression) => {
            for layout in [Layout::Ethernet, Layout::Network] {
                let Ok(program) = expression.program(layout, 96, true) else {
                    continue;
                };
                // As the kernel asks: it ends with a return, and every jump goes to an instruction.
                assert!(program.len() <= 4096 && program.last().is_some_and(|i| i.code == 0x06));
                for (at, i) in program.iter().enumerate() {
                    let skip = match i.code & 0x07 {
                        0x05 if i.code == 0x05 => i.value as usize,
                        0x05 => usize::from(i.yes.max(i.no)),
                        _ => 0,
                    };
                    assert!(at + skip + 1 < program.len() || i.code == 0x06, "{text}");
                }
            }
        }
        Err(refused) => {
            let last = text.chars().count().min(16 << 10) + 1;
            assert!((1..=last).contains(&refused.column), "{refused:?}");
        }
    }
}
