//! Memory that files are read into and written from past the page cache.
//!
//! Large buffers lie on huge pages where the system has any to give. A disk is handed one address for each piece of memory
//! that is contiguous: a mebibyte on small pages is 256 of them, each looked up, pinned and let go by itself, on huge pages one
//! or two. On a virtual machine that halved the processor's time for a transfer and doubled what the disk read.
//!
//! Knows no files. Whether pages are huge changes no byte.

use crate::storage::BLOCK_LEN;
use memmap2::{Advice, MmapMut, MmapOptions};
use std::ops::{Deref, DerefMut};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes that start at a block boundary in memory, as writing past the page cache demands.
pub struct Buffer(Room);

enum Room {
    Small(Vec<Page>),
    Large {
        map: MmapMut,
        /// Where in the map a huge page begins.
        from: usize,
        len: usize,
    },
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
struct Page([u8; BLOCK_LEN]);

/// Bytes of a huge page.
const HUGE_LEN: usize = 2 << 20;

/// What is shorter lies on small pages: a huge one for it would mostly stay unused.
const LARGE_LEN: usize = 256 << 10;

impl Buffer {
    /// Zeros; `len` is rounded up to whole blocks. The memory is taken at once.
    pub fn zeroed(len: usize) -> Buffer {
        let len = len.next_multiple_of(BLOCK_LEN);
        let large = if len < LARGE_LEN { None } else { Buffer::large(len) };
        large.unwrap_or_else(|| Buffer(Room::Small(vec![Page::new_zeroed(); len / BLOCK_LEN])))
    }

    /// `None` where the system gives no memory in this way.
    fn large(len: usize) -> Option<Buffer> {
        // One more, so that as many begin and end inside.
        let room = len.next_multiple_of(HUGE_LEN) + HUGE_LEN;
        let mut map = MmapOptions::new().len(room).map_anon().ok()?;
        let from = map.as_ptr().align_offset(HUGE_LEN);
        map.get(from..from + len)?;
        #[cfg(target_os = "linux")]
        // Where there are none to give, small pages do.
        let _ = map.advise_range(Advice::HugePage, from, len.next_multiple_of(HUGE_LEN));
        // The first store into a page is what takes it.
        map[from..from + len].iter_mut().step_by(BLOCK_LEN).for_each(|byte| *byte = 0);
        Some(Buffer(Room::Large { map, from, len }))
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Room::Small(pages) => pages.as_bytes(),
            Room::Large { map, from, len } => &map[*from..*from + *len],
        }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Room::Small(pages) => pages.as_mut_bytes(),
            Room::Large { map, from, len } => &mut map[*from..*from + *len],
        }
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_whole_blocks_of_zeros_at_a_block_boundary() {
        for (len, expected) in [
            (0, 0),
            (1, BLOCK_LEN),
            (LARGE_LEN - 1, LARGE_LEN),
            (LARGE_LEN + 1, LARGE_LEN + BLOCK_LEN),
            (HUGE_LEN, HUGE_LEN),
            (HUGE_LEN + BLOCK_LEN, HUGE_LEN + BLOCK_LEN),
        ] {
            let mut buffer = Buffer::zeroed(len);
            assert_eq!(buffer.len(), expected);
            assert!(buffer.iter().all(|&byte| byte == 0));
            assert!(buffer.is_empty() || (buffer.as_ptr() as usize).is_multiple_of(BLOCK_LEN));
            buffer.fill(0xff);
            assert!(buffer.iter().all(|&byte| byte == 0xff), "all of it can be written");
        }
        assert!((Buffer::zeroed(LARGE_LEN).as_ptr() as usize).is_multiple_of(HUGE_LEN));
    }
}
