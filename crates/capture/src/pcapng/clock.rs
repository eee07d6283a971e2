//! Time stamps of a pcapng interface (draft-ietf-opsawg-pcapng 4.2, `if_tsresol` and `if_tsoffset`)
//! into nanoseconds. `pcap-parser` has seconds as `u32`, no powers of two, and `if_tsoffset` in
//! little-endian only, so this is done here.

use model::Time;

/// How the ticks of an interface become nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clock {
    scale: Scale,
    offset_ns: i128,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    /// Nanoseconds per tick.
    Multiply(u64),
    /// Ticks per nanosecond.
    Divide(u64),
    /// A tick is 2^-n seconds.
    Shift(u32),
}

impl Clock {
    /// `resolution` is `if_tsresol`: a negative power of ten, or of two with the high bit set.
    /// `offset` is `if_tsoffset` in seconds.
    pub(crate) fn new(resolution: u8, offset: i64) -> Clock {
        let exponent = u32::from(resolution & 0x7f);
        let scale = if resolution & 0x80 != 0 {
            Scale::Shift(exponent)
        } else if exponent <= 9 {
            Scale::Multiply(10_u64.pow(9 - exponent))
        } else {
            // Where the divisor does not fit in 64 bits, no count of ticks fills a nanosecond.
            let ticks_per_ns = 10_u64.checked_pow(exponent - 9);
            ticks_per_ns.map_or(Scale::Shift(127), Scale::Divide)
        };
        Clock {
            scale,
            offset_ns: i128::from(offset) * 1_000_000_000,
        }
    }

    /// The time, and whether it had to be clamped to what 64 bits of nanoseconds can say.
    #[inline]
    pub(crate) fn time(&self, ticks: u64) -> (Time, bool) {
        let since_offset = match self.scale {
            Scale::Multiply(ns) => i128::from(ticks) * i128::from(ns),
            Scale::Divide(ticks_per_ns) => i128::from(ticks / ticks_per_ns),
            Scale::Shift(bits) => (i128::from(ticks) * 1_000_000_000) >> bits,
        };
        let ns = since_offset + self.offset_ns;
        match i64::try_from(ns) {
            Ok(ns) => (Time(ns), false),
            Err(_) if ns < 0 => (Time::MIN, true),
            Err(_) => (Time::MAX, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolutions_of_ten_and_two_become_nanoseconds() {
        for (resolution, ticks, ns) in [
            (0, 7, 7_000_000_000),
            (3, 1_500, 1_500_000_000),
            (6, 1_353_280_000_000_001, 1_353_280_000_000_001_000),
            (9, 1_353_280_000_000_000_001, 1_353_280_000_000_000_001),
            (12, 1_234_567_891_999, 1_234_567_891),
            (127, u64::MAX, 0),
            (0x80, 3, 3_000_000_000),
            (0x80 | 10, 1_536, 1_500_000_000),
            (0x80 | 32, 0x0000_0002_8000_0000, 2_500_000_000),
            (0xff, u64::MAX, 0),
        ] {
            let clock = Clock::new(resolution, 0);
            assert_eq!(
                clock.time(ticks),
                (Time(ns), false),
                "resolution {resolution}"
            );
        }
    }

    #[test]
    fn offsets_shift_and_what_does_not_fit_is_clamped() {
        assert_eq!(Clock::new(6, -1).time(1), (Time(-999_999_000), false));
        assert_eq!(Clock::new(6, 5).time(1), (Time(5_000_001_000), false));
        assert_eq!(Clock::new(0, 0).time(u64::MAX), (Time::MAX, true));
        assert_eq!(Clock::new(6, i64::MIN).time(0), (Time::MIN, true));
        assert_eq!(Clock::new(0x80, i64::MAX).time(u64::MAX), (Time::MAX, true));
    }
}
