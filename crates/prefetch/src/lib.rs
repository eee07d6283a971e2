//! Asks the processor for memory before it is needed, so that many misses of the cache are waited for at once and not
//! one after another. A hint: it changes no value, cannot fail, and does nothing where the processor has no such
//! instruction.
//!
//! Crates that offer it safely ask for one line of a reference (safe_arch); what a connection is takes forty.

#![allow(
    unsafe_code,
    reason = "an intrinsic that takes a pointer, which it does not follow"
)]

/// Bytes that a processor fetches at once.
const LINE: usize = 64;

/// Asks for all that a value holds itself; not for what it points to.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<u8>();
    let size = size_of_val(value);
    for at in (0..size).step_by(LINE) {
        line(first.wrapping_add(at));
    }
    // It need not begin where a line does.
    line(first.wrapping_add(size.saturating_sub(1)));
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn line(at: *const u8) {
    // SAFETY: a prefetch reads nothing into the program and never faults, whatever the address.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{at}]", at = in(reg) at, options(nostack, preserves_flags, readonly));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn line(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::prefetch;

    #[test]
    fn values_of_any_size_stay_what_they_are() {
        let long = [7_u8; 1_000];
        let boxed: Box<dyn std::fmt::Debug> = Box::new(long);
        prefetch(&());
        prefetch(&long);
        prefetch(&*boxed);
        prefetch(&long[..3]);
        assert_eq!(long, [7; 1_000]);
        assert_eq!(format!("{boxed:?}"), format!("{long:?}"));
    }
}
