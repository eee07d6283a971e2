//! A small generator of numbers that look random and are the same for the same seed (xorshift64*).

/// See the module's first line.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Random {
        // The state must not be zero, and neighbouring seeds should soon differ.
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        (self.draw() >> 16) % bound
    }

    /// True in `per_mille` of 1000 cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_what_they_say_and_repeat_with_the_seed() {
        for seed in 0..10 {
            let mut random = Random::new(seed);
            let hits = (0..10_000).filter(|_| random.chance(250)).count();
            assert!((2300..2700).contains(&hits), "{hits}");
        }
        assert_eq!(Random::new(7).draw(), Random::new(7).draw());
        assert_ne!(Random::new(7).draw(), Random::new(8).draw());
    }
}
