//! Layout of a ring in memory, and the only code that turns addresses into slots.
//!
//! ```text
//! offset  0      128       256     384                    aligned to 4096
//!         +-------+---------+-------+-------+-----+-------+--------+--------+-----+
//!         | facts | signals | freed | line  | ... | line  | slot 0 | slot 1 | ... |
//!         +-------+---------+-------+-------+-----+-------+--------+--------+-----+
//!                                    one per consumer      stamp: u64, payload, zeros up to a multiple of 64
//! ```
//!
//! Knows nothing of who may touch a slot when; that is the protocol in `mod.rs`.
#![allow(unsafe_code)]

use crate::ring::mapping::{Kind, Mapped, Mapping};
use crate::ring::sequence::{Gate, Header, Line, SEQUENCE_MAX, Sequence, Stamp};
use crate::ring::sync::{AtomicU64, Barrier, Ordering, UnsafeCell, Word};
use crate::ring::wait::Doorbell;
use crate::ring::{Options, RingError, Slot};
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

/// "Ringside" as bytes of the file.
const MAGIC: u64 = u64::from_le_bytes(*b"Ringside");
/// Of this drawing; a joiner accepts no other.
const VERSION: u64 = 1;
/// Most consumers of one ring.
pub const CONSUMERS_MAX: usize = 64;
/// Most slots of one ring.
pub const CAPACITY_MAX: usize = 1 << 32;

/// A payload as it lies in its slot: aligned to its words.
#[repr(C, align(8))]
pub(super) struct Payload<T>(pub(super) T);

/// One cell of the ring.
#[repr(C, align(64))]
pub(super) struct Cell<T> {
    stamp: AtomicU64,
    payload: UnsafeCell<Payload<T>>,
}

/// Facts of a ring, checked; a private copy that no peer can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) capacity: u64,
    pub(super) consumers: usize,
    pub(super) start: Sequence,
}

/// Bytes from slot to slot for a payload of this type.
const fn stride<T: Slot>() -> usize {
    const {
        assert!(
            align_of::<T>() <= 8 && size_of::<T>() > 0 && size_of::<T>().is_multiple_of(8),
            "payloads are words"
        );
    }
    (8 + size_of::<T>()).next_multiple_of(64)
}

const SLOTS_ALIGN: usize = 4096;

impl Shape {
    fn new(options: &Options) -> Result<Shape, RingError> {
        let shape =
            Shape { capacity: options.capacity as u64, consumers: options.consumers, start: options.start };
        shape.check()?;
        Ok(shape)
    }

    fn check(&self) -> Result<(), RingError> {
        if !self.capacity.is_power_of_two() || self.capacity > CAPACITY_MAX as u64 {
            return Err(RingError::Capacity(self.capacity));
        }
        if self.consumers == 0 || self.consumers > CONSUMERS_MAX {
            return Err(RingError::Consumers(self.consumers as u64));
        }
        if self.start >= SEQUENCE_MAX / 2 {
            return Err(RingError::Start(self.start));
        }
        Ok(())
    }

    fn slots_offset(&self) -> usize {
        (size_of::<Header>() + self.consumers * size_of::<Line>()).next_multiple_of(SLOTS_ALIGN)
    }

    /// Bytes of the whole mapping; `None` where they cannot be addressed.
    fn len<T: Slot>(&self) -> Option<usize> {
        usize::try_from(self.capacity).ok()?.checked_mul(stride::<T>())?.checked_add(self.slots_offset())
    }
}

/// The way to the parts of one ring; clones share the memory. Each side keeps one by value, so that a slot is one
/// step away.
pub(super) struct Buffer<T: Slot> {
    header: NonNull<Header>,
    lines: NonNull<Line>,
    cells: NonNull<Cell<T>>,
    mask: u64,
    /// Another process may write this memory at any moment.
    pub(super) foreign: bool,
    pub(super) barrier: Barrier,
    pub(super) shape: Shape,
    memory: Arc<Memory<T>>,
}

enum Memory<T: Slot> {
    /// Boxes of their own, leaked to be freed by `drop`.
    Heap { header: NonNull<Header>, lines: NonNull<[Line]>, cells: NonNull<[Cell<T>]> },
    /// One mapping with everything inside.
    Mapped(Mapped),
}

// SAFETY: the parts are atomics, or cells of `T: Send` that the protocol in `mod.rs` hands from thread to thread.
unsafe impl<T: Slot> Send for Buffer<T> {}
// SAFETY: as above; cells are reached through `Producer` and `Consumer` only, which keep to the protocol.
unsafe impl<T: Slot> Sync for Buffer<T> {}
// SAFETY: nothing is done with the memory but to free it, by whoever drops the last handle.
unsafe impl<T: Slot> Send for Memory<T> {}
// SAFETY: as above.
unsafe impl<T: Slot> Sync for Memory<T> {}

impl<T: Slot> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { memory: self.memory.clone(), ..*self }
    }
}

impl<T: Slot> Buffer<T> {
    /// A new ring, its facts written.
    pub(super) fn create(mapping: &Mapping, options: &Options) -> Result<Buffer<T>, RingError> {
        let shape = Shape::new(options)?;
        let len = shape.len::<T>().ok_or(RingError::Capacity(shape.capacity))?;
        let buffer = match mapping.0 {
            Kind::Heap { foreign } => Buffer::on_heap(shape, foreign),
            Kind::Anonymous => Buffer::on_mapping(Mapped::create(&mapping.0, len)?, shape, false),
            Kind::Memfd | Kind::File(_) => Buffer::on_mapping(Mapped::create(&mapping.0, len)?, shape, true),
        };
        let facts = &buffer.header().facts;
        for index in 0..shape.consumers {
            buffer.line(index).gating.store(shape.start, Ordering::Relaxed);
        }
        facts.version.store(VERSION, Ordering::Relaxed);
        facts.len.store(len as u64, Ordering::Relaxed);
        facts.capacity.store(shape.capacity, Ordering::Relaxed);
        facts.slot_len.store(size_of::<T>() as u64, Ordering::Relaxed);
        facts.stride.store(stride::<T>() as u64, Ordering::Relaxed);
        facts.consumers.store(shape.consumers as u64, Ordering::Relaxed);
        facts.start.store(shape.start, Ordering::Relaxed);
        // Release: a joiner that finds the magic finds the rest. It reads through the file, which is ordered too.
        facts.magic.store(MAGIC, Ordering::Release);
        Ok(buffer)
    }

    /// Begins at another sequence, while no part was taken.
    pub(super) fn begin_at(&mut self, start: Sequence) -> Result<(), RingError> {
        let shape = Shape { start, ..self.shape };
        shape.check()?;
        self.shape = shape;
        for index in 0..shape.consumers {
            self.line(index).gating.store(start, Ordering::Relaxed);
        }
        self.header().facts.start.store(start, Ordering::Relaxed);
        Ok(())
    }

    /// A ring that another process made and handed over.
    pub(super) fn join_fd(fd: OwnedFd) -> Result<Buffer<T>, RingError> {
        Buffer::join(Mapped::open_fd(fd)?)
    }

    /// A ring that another process made in a file.
    pub(super) fn join_file(path: &Path) -> Result<Buffer<T>, RingError> {
        Buffer::join(Mapped::open_file(path)?)
    }

    fn join(file: File) -> Result<Buffer<T>, RingError> {
        let found = file.metadata()?.len();
        let mut bytes = [0u8; 64];
        if found < bytes.len() as u64 {
            return Err(RingError::Size { expected: size_of::<Header>() as u64, found });
        }
        // The facts are read once, into private memory, before anything is mapped.
        file.read_exact_at(&mut bytes, 0)?;
        let mut words = [0u64; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [magic, version, len, capacity, slot_len, slot_stride, consumers, start] = words;
        if magic != MAGIC {
            return Err(RingError::Magic(magic));
        }
        if version != VERSION {
            return Err(RingError::Version(version));
        }
        if slot_len != size_of::<T>() as u64 || slot_stride != stride::<T>() as u64 {
            return Err(RingError::SlotLen { expected: size_of::<T>() as u64, found: slot_len });
        }
        let consumers = usize::try_from(consumers).unwrap_or(usize::MAX);
        let shape = Shape { capacity, consumers, start };
        shape.check()?;
        let expected = shape.len::<T>().ok_or(RingError::Capacity(capacity))? as u64;
        if len != expected || found != expected {
            return Err(RingError::Size { expected, found: if found == expected { len } else { found } });
        }
        Ok(Buffer::on_mapping(Mapped::map(file, expected as usize)?, shape, true))
    }

    fn on_mapping(mapped: Mapped, shape: Shape, foreign: bool) -> Buffer<T> {
        const { assert!(cfg!(loom) || size_of::<Cell<T>>() == stride::<T>()) };
        let base = mapped.map.as_mut_ptr();
        assert!(
            !cfg!(loom) && shape.len::<T>() == Some(mapped.map.len()),
            "the mapping has the shape's size"
        );
        // SAFETY: the mapping starts at a page, is `shape.len()` bytes long and lives as long as `memory`, so the
        // header, the lines and the slots at these offsets are inside it and aligned (128 and 4096 divide them).
        // Zeros, and any other bytes, are values of all three: atomics, and payloads that are `FromBytes`.
        let (header, lines, cells) = unsafe {
            (
                NonNull::new_unchecked(base.cast::<Header>()),
                NonNull::new_unchecked(base.add(size_of::<Header>()).cast::<Line>()),
                NonNull::new_unchecked(base.add(shape.slots_offset()).cast::<Cell<T>>()),
            )
        };
        Buffer::new(header, lines, cells, shape, foreign, Memory::Mapped(mapped))
    }

    fn on_heap(shape: Shape, foreign: bool) -> Buffer<T> {
        let leaked_lines: Box<[Line]> = (0..shape.consumers).map(|_| Gate::new_line()).collect();
        let leaked_cells: Box<[Cell<T>]> = (0..shape.capacity).map(|_| Cell::new()).collect();
        let header = NonNull::from(Box::leak(Box::new(Header::new())));
        let lines = NonNull::from(Box::leak(leaked_lines));
        let cells = NonNull::from(Box::leak(leaked_cells));
        let memory = Memory::Heap { header, lines, cells };
        Buffer::new(header, lines.cast(), cells.cast(), shape, foreign, memory)
    }

    fn new(
        header: NonNull<Header>,
        lines: NonNull<Line>,
        cells: NonNull<Cell<T>>,
        shape: Shape,
        foreign: bool,
        memory: Memory<T>,
    ) -> Buffer<T> {
        let (mask, barrier) = (shape.capacity - 1, Barrier::prepare(foreign));
        Buffer { header, lines, cells, mask, foreign, barrier, shape, memory: Arc::new(memory) }
    }

    /// The head.
    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: valid as long as `self.memory` (see `on_mapping`, `on_heap`), and made of atomics only.
        unsafe { self.header.as_ref() }
    }

    /// The line of a consumer.
    #[inline(always)]
    pub(super) fn line(&self, index: usize) -> &Line {
        assert!(index < self.shape.consumers);
        // SAFETY: `index` is below the number of lines; a line is made of atomics only.
        unsafe { self.lines.add(index).as_ref() }
    }

    /// The slot of a sequence. Any sequence has one.
    #[inline(always)]
    pub(super) fn cell(&self, sequence: Sequence) -> &Cell<T> {
        // SAFETY: the masked sequence is below the capacity, the number of slots; payloads are behind cells.
        unsafe { self.cells.add((sequence & self.mask) as usize).as_ref() }
    }

    /// Whether the ring is over.
    pub(super) fn is_halted(&self) -> bool {
        // Acquire: partner of the Release in `halt`.
        self.header().signals.halted.load(Ordering::Acquire) != 0
    }

    /// Ends the ring and wakes all who wait on it.
    pub(super) fn halt(&self) {
        // Release: whoever sees the halt sees what its author did before. Its partner is in `is_halted`.
        self.header().signals.halted.store(1, Ordering::Release);
        self.header().signals.filled.ring(self.barrier);
        self.header().freed.ring(self.barrier);
    }

    /// The descriptor to hand over, for rings that have one.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &*self.memory {
            Memory::Heap { .. } => None,
            Memory::Mapped(mapped) => mapped.fd(),
        }
    }

    /// A handle on the bell that consumers listen to.
    pub(super) fn filled(&self) -> Doorbell {
        let bell = NonNull::from(&self.header().signals.filled);
        Doorbell::inside(bell, self.foreign, self.barrier, self.memory.clone())
    }

    /// A handle on the bell that a producer without room listens to.
    pub(super) fn freed(&self) -> Doorbell {
        let bell = NonNull::from(&*self.header().freed);
        Doorbell::inside(bell, self.foreign, self.barrier, self.memory.clone())
    }
}

impl<T: Slot> Drop for Memory<T> {
    fn drop(&mut self) {
        if let Memory::Heap { header, lines, cells } = *self {
            // SAFETY: the pointers come from `Box::leak` in `on_heap`, and this is the last handle on them.
            unsafe {
                drop(Box::from_raw(header.as_ptr()));
                drop(Box::from_raw(lines.as_ptr()));
                drop(Box::from_raw(cells.as_ptr()));
            }
        }
    }
}

impl<T: Slot> Cell<T> {
    /// As a mapping of zeros would read.
    fn new() -> Cell<T> {
        Cell { stamp: AtomicU64::new(0), payload: UnsafeCell::new(Payload(T::new_zeroed())) }
    }

    /// Declares the payload to be that of the stamp.
    #[inline(always)]
    pub(super) fn stamp(&self, stamp: Stamp) {
        // Release: partner of the Acquire in `stamped`; whoever finds the stamp finds the payload, and those of the step.
        self.stamp.store(stamp.0, Ordering::Release);
    }

    /// What the slot was stamped last.
    #[inline(always)]
    pub(super) fn stamped(&self) -> Stamp {
        // Acquire: partner of the Release in `stamp`.
        Stamp(self.stamp.load(Ordering::Acquire))
    }

    /// Asks for the slot's lines to be brought near for reading. A hint.
    #[inline(always)]
    pub(super) fn prefetch_for_read(&self) {
        #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
        for offset in (0..size_of::<Self>()).step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = std::ptr::from_ref(self).cast::<i8>().wrapping_add(offset);
            // SAFETY: a prefetch faults on no address and changes nothing but caches; the instruction belongs to the
            // baseline of x86-64.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
        }
    }

    /// Asks for the slot's lines to be brought near for writing. A hint.
    #[inline(always)]
    pub(super) fn prefetch_for_write(&self) {
        #[cfg(all(target_arch = "x86_64", not(any(loom, miri))))]
        for offset in (0..size_of::<Self>()).step_by(64) {
            let line = std::ptr::from_ref(self).cast::<u8>().wrapping_add(offset);
            // SAFETY: a prefetch faults on no address and changes nothing but caches; a processor without this
            // one takes it for a no-operation.
            unsafe {
                std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly))
            };
        }
    }

    /// Stores a payload, word by word: other processes may look at any moment, and a payload that was just made, in words, would
    /// have to come to rest before wider loads could read it again.
    ///
    /// # Safety
    /// The caller is the ring's producer and every consumer has given the slot back.
    #[inline(always)]
    pub(super) unsafe fn write(&self, payload: &T) {
        self.payload.with_mut(|cell| {
            let (from, to) = (payload.as_bytes().as_chunks::<8>().0, cell.cast::<Word>());
            for (index, bytes) in from.iter().enumerate() {
                // SAFETY: the payload is `from.len()` words long and aligned to them. In foreign memory others may store here
                // too; words of it are only ever touched atomically there.
                unsafe { &*to.add(index) }.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
            }
        });
    }

    /// Calls `f` with the payload: where it lies, or in foreign memory a private copy, which nobody can change
    /// while `f` looks at it.
    ///
    /// # Safety
    /// The caller is a consumer that has seen the payload's stamp and has not given the slot back. `FOREIGN` is the
    /// buffer's.
    #[inline(always)]
    pub(super) unsafe fn read<const FOREIGN: bool, R>(&self, f: impl FnOnce(&T) -> R) -> R {
        self.payload.with(|cell| {
            if FOREIGN {
                let mut copy = Payload(T::new_zeroed());
                let from = cell.cast::<Word>();
                for (index, bytes) in copy.0.as_mut_bytes().as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    // SAFETY: as in `write`; atomics may be made of any pointer that is valid and aligned.
                    *bytes = unsafe { &*from.add(index) }.load(Ordering::Relaxed).to_ne_bytes();
                }
                f(&copy.0)
            } else {
                // SAFETY: by the caller's promise the producer does not write here until the slot is given back,
                // and `cell` points to a live `T`.
                f(unsafe { &*cell.cast::<T>() })
            }
        })
    }

    /// The payload where it lies, for memory that is not foreign.
    ///
    /// # Safety
    /// As [`Cell::read`], for as long as the reference lives.
    #[inline(always)]
    pub(super) unsafe fn in_place(&self) -> &T {
        // SAFETY: by the caller's promise nobody writes here while the reference lives.
        self.payload.with(|cell| unsafe { &*cell.cast::<T>() })
    }
}
