//! Copies into memory that a disk is about to read, past the caches.
//!
//! On a virtual machine a disk's reads are done by a processor of the host. A line that it has near is slow to be had back: the
//! first store into it took 25 to 30 ns a line where another host's processor had read it lately, whether asked for ahead or not,
//! and 1 where nobody had. Stores past the caches wait for nobody: 2 ns a line, always. What is copied in this way is read from
//! memory afterwards, so it is for what was worked on before, somewhere near.
#![allow(unsafe_code)]

/// Copies `from` to `to`, which are equally long.
#[inline]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "a copy is as long as what it is of");
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if to.as_ptr().addr().is_multiple_of(LINE) && to.len().is_multiple_of(LINE) {
        return past_caches(to, from);
    }
    to.copy_from_slice(from);
}

/// Bytes that go out together.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LINE: usize = 64;

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn past_caches(to: &mut [u8], from: &[u8]) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    for (to, from) in to.chunks_exact_mut(LINE).zip(from.chunks_exact(LINE)) {
        let (to, from) = (to.as_mut_ptr().cast::<__m128i>(), from.as_ptr().cast::<__m128i>());
        for place in 0..LINE / size_of::<__m128i>() {
            // SAFETY: both lines are as long as all the pieces; `to` starts at a line in memory, as the caller has seen. The
            // instructions belong to the baseline of x86-64.
            unsafe { _mm_stream_si128(to.add(place), _mm_loadu_si128(from.add(place))) };
        }
    }
    // SAFETY: belongs to the baseline; orders the stores above before everything that comes, of this thread or told by it.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Buffer;

    #[test]
    fn what_is_copied_is_there_wherever_it_starts_and_ends() {
        let source: Vec<u8> = (0..4096_u32).map(|byte| (byte % 251) as u8 + 1).collect();
        for (start, len) in [(0, 4096), (0, 64), (64, 128), (8, 64), (64, 100), (0, 0), (1, 4095)] {
            let mut room = Buffer::zeroed(4096);
            copy(&mut room[start..start + len], &source[..len]);
            assert!(room[start..start + len] == source[..len], "{len} at {start}");
            assert!(room[..start].iter().chain(&room[start + len..]).all(|&byte| byte == 0));
        }
    }
}
