//! Tests into a classic BPF program (bpf(4) of the BSDs, `linux/filter.h`).
//!
//! From the last test to the first: each is made knowing where to go on when it holds and when it does not,
//! so that every jump goes forward and nothing is patched. Tests that are alike, with the same ways on, are
//! one.

use super::lower::{Field, Is, Test};
use super::shape::Shape;
use std::collections::HashMap;

/// `struct sock_filter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub code: u16,
    /// Instructions to skip when the comparison holds.
    pub yes: u8,
    /// … and when not.
    pub no: u8,
    pub value: u32,
}

/// BPF_MAXINSNS.
const LONGEST: usize = 4096;

pub(super) const LOAD_WORD: u16 = 0x20;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE: u16 = 0x30;
/// At the index register and a constant.
pub(super) const LOAD_HALF_AT_INDEX: u16 = 0x48;
/// The length of an IPv4 header into the index register: four times the low half of a byte.
pub(super) const LOAD_INDEX: u16 = 0xb1;
pub(super) const AND: u16 = 0x54;
pub(super) const JUMP: u16 = 0x05;
pub(super) const JUMP_EQUAL: u16 = 0x15;
pub(super) const JUMP_ABOVE: u16 = 0x25;
pub(super) const JUMP_AT_LEAST: u16 = 0x35;
pub(super) const JUMP_WITH: u16 = 0x45;
pub(super) const RETURN: u16 = 0x06;

/// SKF_AD_OFF: where the kernel keeps what it knows beside the bytes.
pub(super) const KNOWN: u32 = 0xffff_f000;

/// The program that accepts `snaplen` bytes; `None` if it is too long.
pub(super) fn program(tests: Option<&Shape<Test>>, snaplen: u32) -> Option<Vec<Instruction>> {
    let mut steps = Steps::default();
    let reject = steps.step(Step::Return(0));
    let accept = steps.step(Step::Return(snaplen));
    let first = match tests {
        Some(tests) => steps.shape(tests, accept, reject),
        None => accept,
    };
    steps.lay_out(first)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Return(u32),
    Test { test: Test, yes: usize, no: usize },
}

/// Steps, each behind those it goes on to.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    numbers: HashMap<Step, usize>,
}

impl Steps {
    fn step(&mut self, step: Step) -> usize {
        *self.numbers.entry(step).or_insert_with(|| {
            self.steps.push(step);
            self.steps.len() - 1
        })
    }

    fn shape(&mut self, shape: &Shape<Test>, yes: usize, no: usize) -> usize {
        match shape {
            Shape::Not(shape) => self.shape(shape, no, yes),
            Shape::All(all) => all
                .iter()
                .rev()
                .fold(yes, |next, shape| self.shape(shape, next, no)),
            Shape::Any(any) => any
                .iter()
                .rev()
                .fold(no, |next, shape| self.shape(shape, yes, next)),
            Shape::Is(test) => self.step(Step::Test {
                test: *test,
                yes,
                no,
            }),
        }
    }

    /// Writes the steps that are reached from `first`, backwards.
    fn lay_out(&self, first: usize) -> Option<Vec<Instruction>> {
        let mut reached = vec![false; self.steps.len()];
        *reached.get_mut(first)? = true;
        for (number, step) in self.steps.iter().enumerate().rev() {
            if let (Some(true), Step::Test { yes, no, .. }) = (reached.get(number), step) {
                *reached.get_mut(*yes)? = true;
                *reached.get_mut(*no)? = true;
            }
        }
        let mut back = Backwards {
            instructions: Vec::new(),
            starts: vec![0; self.steps.len()],
        };
        for (number, (step, _)) in self
            .steps
            .iter()
            .zip(reached)
            .enumerate()
            .filter(|(_, (_, r))| *r)
        {
            match *step {
                Step::Return(bytes) => back.push(RETURN, bytes),
                Step::Test { test, yes, no } => back.test(&test, yes, no)?,
            }
            *back.starts.get_mut(number)? = back.instructions.len();
            if back.instructions.len() > LONGEST {
                return None;
            }
        }
        back.instructions.reverse();
        Some(back.instructions)
    }
}

/// A program from its end.
struct Backwards {
    instructions: Vec<Instruction>,
    /// Where a step begins, as how many instructions there are from it to the end.
    starts: Vec<usize>,
}

impl Backwards {
    fn push(&mut self, code: u16, value: u32) {
        self.instructions.push(Instruction {
            code,
            yes: 0,
            no: 0,
            value,
        });
    }

    fn test(&mut self, test: &Test, yes: usize, no: usize) -> Option<()> {
        let (code, value, yes, no) = match test.is {
            Is::Equal(value) => (JUMP_EQUAL, value, yes, no),
            Is::AtLeast(value) => (JUMP_AT_LEAST, value, yes, no),
            Is::AtMost(value) => (JUMP_ABOVE, value, no, yes),
            Is::With(bits) => (JUMP_WITH, bits, yes, no),
        };
        let (mut yes, mut no) = (*self.starts.get(yes)?, *self.starts.get(no)?);
        // Comparisons skip at most 255 instructions; a jump behind them skips the rest. The second
        // may push the first out of reach.
        let far = |to: usize, now: usize| now + 1 - to > usize::from(u8::MAX);
        if far(no, self.instructions.len()) {
            no = self.jump(no);
        }
        if far(yes, self.instructions.len()) {
            yes = self.jump(yes);
        }
        let now = self.instructions.len();
        self.instructions.push(Instruction {
            code,
            yes: u8::try_from(now - yes).ok()?,
            no: u8::try_from(now - no).ok()?,
            value,
        });
        if test.mask != u32::MAX {
            self.push(AND, test.mask);
        }
        match test.field {
            Field::Byte(at) => self.push(LOAD_BYTE, at),
            Field::Half(at) => self.push(LOAD_HALF, at),
            Field::Word(at) => self.push(LOAD_WORD, at),
            Field::Known(what) => self.push(LOAD_WORD, KNOWN + what),
            Field::BehindIp(at, behind) => {
                self.push(LOAD_HALF_AT_INDEX, at + behind);
                self.push(LOAD_INDEX, at);
            }
        }
        Some(())
    }

    /// A jump to a step; gives where it stands itself.
    fn jump(&mut self, to: usize) -> usize {
        let skip = self.instructions.len() - to;
        self.push(JUMP, skip as u32);
        self.instructions.len()
    }
}
