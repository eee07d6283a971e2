//! Where memory itself ends: a request that the system refuses into one line on standard error and exit code 2, where
//! Rust would abort (and a shell say 134).
//!
//! - The standard library's hook for this is unstable, so it stands around the allocator, which is the system's. A
//!   request that succeeds costs one comparison more.
//! - That no request comes back refused also ends what could have lived without it (`try_reserve`). Nothing here asks
//!   that way but the standard library, where it reads files, and without memory it would end as well.
//! - Nothing is unwound and nothing is written out: a file that is being replaced stays what it was, as after a kill.
//!   Only a terminal that the view has taken is given back.

#![allow(
    unsafe_code,
    reason = "an allocator has no safe interface, and no crate that is well kept does this"
)]

use crate::view;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The system's allocator, but that a request it refuses ends the run.
pub struct OrEnd;

// SAFETY: every call goes to the system's allocator as it came, and what that answers is handed on as it is; what is
// null is not handed on at all.
unsafe impl GlobalAlloc for OrEnd {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that are asked for.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn granted(at: *mut u8, size: usize) -> *mut u8 {
    if at.is_null() {
        end(format_args!("{size} bytes more"));
    }
    at
}

/// Has all threads take memory from one place. Of the GNU C library each has its own, and what one took and another
/// gave back stays with the first: 100,000 connections kept 1,030 MB where they needed 700. Waiting for each other
/// costs nothing that could be measured, as they hand over batches.
pub(crate) fn share_memory_among_threads() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a setting of the allocator, made before there is a second thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// A thread for whose own start there is no memory panics within the standard library: that ends the run as well. All other
/// panics are told as ever.
pub(crate) fn end_where_a_thread_cannot_start() {
    /// ENOMEM, as the standard library says it.
    const NO_MEMORY: &str = "(os error 12)";
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let said = info.payload().downcast_ref::<String>();
        if said.is_some_and(|said| said.ends_with(NO_MEMORY)) {
            end(format_args!("a thread its stack"));
        }
        usual(info);
    }));
}

/// Ends the run without a further allocation. Locks of standard output and standard error may be held by whoever asked
/// for memory, so the system is called past them.
#[cold]
#[inline(never)]
fn end(what: fmt::Arguments<'_>) -> ! {
    thread_local! {
        static HERE: Cell<bool> = const { Cell::new(false) };
    }
    static ELSEWHERE: AtomicBool = AtomicBool::new(false);
    if HERE.replace(true) {
        // What follows asked for memory.
        signal_hook::low_level::exit(2);
    }
    if ELSEWHERE.swap(true, Ordering::Relaxed) {
        // Another thread is saying it.
        std::thread::sleep(Duration::from_secs(10));
        signal_hook::low_level::exit(2);
    }
    view::give_back_at_once();
    let mut line = [0; 256];
    let mut rest = &mut line[..];
    let _ = writeln!(
        rest,
        "slowside: out of memory: the system refused {what}; what captures take is bounded by --memory, which \
         has to be less than there is, and --threads 1 takes least"
    );
    let left = rest.len();
    let said = line.get(..line.len() - left).unwrap_or_default();
    let _ = rustix::io::write(rustix::stdio::stderr(), said);
    signal_hook::low_level::exit(2);
}
