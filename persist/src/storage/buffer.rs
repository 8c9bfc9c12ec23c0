//! Memory that files are read into and written from past the page cache.
//!
//! Large buffers lie on huge pages where the system has any to give. A disk is handed one address for each piece of memory
//! that is contiguous: a mebibyte on small pages is 256 of them, each looked up, pinned and let go by itself, on huge pages one
//! or two. On a virtual machine that halved the processor's time for a transfer and doubled what the disk read.
//!
//! Knows no files. Whether pages are huge changes no byte.
#![allow(unsafe_code)]

use crate::storage::BLOCK_LEN;
use memmap2::{Advice, MmapMut, MmapOptions, MmapRaw};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// Bytes that start at a block boundary in memory, as writing past the page cache demands.
pub struct Buffer(Room);

enum Room {
    Small(Vec<Page>),
    Large {
        /// Shared with buffers that lie elsewhere in it.
        map: Arc<MmapRaw>,
        /// Where in the map it begins.
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
        large.unwrap_or_else(|| Buffer::small(len))
    }

    /// As many as `count`, one behind the other on huge pages that they share. Their memory is taken when they are first used: a
    /// host that has to find it first takes a millisecond for a huge page.
    pub fn several(count: usize, len: usize) -> Vec<Buffer> {
        let len = len.next_multiple_of(BLOCK_LEN);
        let Some((map, from)) = huge_pages(count * len) else {
            return (0..count).map(|_| Buffer::small(len)).collect();
        };
        let map = Arc::new(MmapRaw::from(map));
        let each = |place| Buffer(Room::Large { map: map.clone(), from: from + place * len, len });
        (0..count).map(each).collect()
    }

    fn small(len: usize) -> Buffer {
        Buffer(Room::Small(vec![Page::new_zeroed(); len / BLOCK_LEN]))
    }

    /// `None` where the system gives no memory in this way.
    fn large(len: usize) -> Option<Buffer> {
        let (mut map, from) = huge_pages(len)?;
        // The first store into a page is what takes it.
        map[from..from + len].iter_mut().step_by(BLOCK_LEN).for_each(|byte| *byte = 0);
        Some(Buffer(Room::Large { map: Arc::new(map.into()), from, len }))
    }
}

/// Memory in which `len` bytes lie on huge pages, where the system has any, and where in it those begin. `None` where it gives no
/// memory in this way.
fn huge_pages(len: usize) -> Option<(MmapMut, usize)> {
    // One more, so that as many begin and end inside.
    let room = len.next_multiple_of(HUGE_LEN) + HUGE_LEN;
    let map = MmapOptions::new().len(room).map_anon().ok()?;
    let from = map.as_ptr().align_offset(HUGE_LEN);
    map.get(from..from + len)?;
    #[cfg(target_os = "linux")]
    // Where there are none to give, small pages do.
    let _ = map.advise_range(Advice::HugePage, from, len.next_multiple_of(HUGE_LEN));
    Some((map, from))
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Room::Small(pages) => pages.as_bytes(),
            // SAFETY: `huge_pages` has seen that the map reaches as far as all that lie in it; no two overlap, so these bytes are
            // this buffer's alone; they are zeros or what was written, and the map lives as long as the buffer.
            Room::Large { map, from, len } => unsafe {
                std::slice::from_raw_parts(map.as_ptr().add(*from), *len)
            },
        }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Room::Small(pages) => pages.as_mut_bytes(),
            // SAFETY: as above, and the buffer is borrowed for writing.
            Room::Large { map, from, len } => unsafe {
                std::slice::from_raw_parts_mut(map.as_mut_ptr().add(*from), *len)
            },
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self
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
    #[test]
    fn buffers_that_share_pages_share_no_byte_and_live_on_by_themselves() {
        let len = 3 * BLOCK_LEN;
        let mut buffers = Buffer::several(2 * HUGE_LEN / len, len - 1);
        assert_eq!(buffers.len(), 2 * HUGE_LEN / len);
        for (place, buffer) in buffers.iter_mut().enumerate() {
            assert_eq!(buffer.len(), len);
            assert!((buffer.as_ptr() as usize).is_multiple_of(BLOCK_LEN));
            assert!(buffer.iter().all(|&byte| byte == 0));
            buffer.fill(place as u8);
        }
        let last = buffers.pop();
        for (place, buffer) in buffers.drain(..).enumerate() {
            assert!(buffer.iter().all(|&byte| byte == place as u8));
        }
        assert!(last.is_some_and(|last| last.iter().all(|&byte| byte == (2 * HUGE_LEN / len - 1) as u8)));
    }
}
