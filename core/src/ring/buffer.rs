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
use crate::ring::sequence::{Gate, Header, Line, Sequence};
use crate::ring::sync::{AtomicU64, Barrier, Ordering, UnsafeCell, Word};
use crate::ring::wait::Doorbell;
use crate::ring::{Options, RingError, Slot};
use std::any::Any;
use std::marker::PhantomData;
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
/// Sequences stay below this, so that sums of sequence and capacity never overflow.
pub const SEQUENCE_MAX: Sequence = 1 << 62;

/// A payload as it lies in its slot: aligned to its words.
#[repr(C, align(8))]
pub(super) struct Payload<T>(pub(super) T);

/// One cell of the ring.
#[repr(C, align(64))]
pub(super) struct Cell<T> {
    /// Sequence of the payload plus one; zero before the first.
    pub(super) stamp: AtomicU64,
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

/// Memory of one ring and the way to its parts.
pub(super) struct Buffer<T: Slot> {
    header: NonNull<Header>,
    lines: NonNull<Line>,
    cells: NonNull<Cell<T>>,
    pub(super) shape: Shape,
    /// Another process may write this memory at any moment.
    pub(super) foreign: bool,
    pub(super) barrier: Barrier,
    memory: Memory<T>,
}

enum Memory<T> {
    /// The three parts are boxes of their own.
    Heap(PhantomData<T>),
    /// The three parts lie in this mapping.
    Mapped(Mapped),
}

// SAFETY: the parts are atomics, or cells of `T: Send` that the protocol in `mod.rs` hands from thread to thread.
unsafe impl<T: Slot> Send for Buffer<T> {}
// SAFETY: as above; cells are reached through `Producer` and `Consumer` only, which keep to the protocol.
unsafe impl<T: Slot> Sync for Buffer<T> {}

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

    /// A ring that another process made and handed over.
    pub(super) fn join_fd(fd: OwnedFd) -> Result<Buffer<T>, RingError> {
        Buffer::join(Mapped::open_fd(fd)?)
    }

    /// A ring that another process made in a file.
    pub(super) fn join_file(path: &Path) -> Result<Buffer<T>, RingError> {
        Buffer::join(Mapped::open_file(path)?)
    }

    fn join(file: std::fs::File) -> Result<Buffer<T>, RingError> {
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
        // SAFETY: the mapping starts at a page, is `shape.len()` bytes long and lives as long as `self.memory`, so
        // the header, the lines and the slots at these offsets are inside it and aligned (128 and 4096 divide
        // them). Zeros, and any other bytes, are values of all three: atomics, and payloads that are `FromBytes`.
        let (header, lines, cells) = unsafe {
            (
                NonNull::new_unchecked(base.cast::<Header>()),
                NonNull::new_unchecked(base.add(size_of::<Header>()).cast::<Line>()),
                NonNull::new_unchecked(base.add(shape.slots_offset()).cast::<Cell<T>>()),
            )
        };
        Buffer {
            header,
            lines,
            cells,
            shape,
            foreign,
            barrier: Barrier::prepare(foreign),
            memory: Memory::Mapped(mapped),
        }
    }

    fn on_heap(shape: Shape, foreign: bool) -> Buffer<T> {
        fn leak<U>(items: impl Iterator<Item = U>) -> NonNull<U> {
            NonNull::from(Box::leak(items.collect::<Box<[U]>>())).cast()
        }
        Buffer {
            header: NonNull::from(Box::leak(Box::new(Header::new()))),
            lines: leak((0..shape.consumers).map(|_| Gate::new_line())),
            cells: leak((0..shape.capacity).map(|_| Cell {
                stamp: AtomicU64::new(0),
                payload: UnsafeCell::new(Payload(T::new_zeroed())),
            })),
            shape,
            foreign,
            barrier: Barrier::prepare(foreign),
            memory: Memory::Heap(PhantomData),
        }
    }

    /// The head.
    #[inline(always)]
    pub(super) fn header(&self) -> &Header {
        // SAFETY: valid as long as `self` (see `on_mapping`, `on_heap`), and made of atomics only.
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
        let index = sequence & (self.shape.capacity - 1);
        // SAFETY: `index` is below the capacity, the number of slots; a slot's payload is behind a cell.
        unsafe { self.cells.add(index as usize).as_ref() }
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
        match &self.memory {
            Memory::Heap(_) => None,
            Memory::Mapped(mapped) => mapped.fd(),
        }
    }

    /// A handle on the bell that consumers listen to.
    pub(super) fn filled(self: &Arc<Self>) -> Doorbell {
        let memory: Arc<dyn Any + Send + Sync> = self.clone();
        Doorbell::inside(NonNull::from(&self.header().signals.filled), self.foreign, self.barrier, memory)
    }

    /// A handle on the bell that a producer without room listens to.
    pub(super) fn freed(self: &Arc<Self>) -> Doorbell {
        let memory: Arc<dyn Any + Send + Sync> = self.clone();
        Doorbell::inside(NonNull::from(&*self.header().freed), self.foreign, self.barrier, memory)
    }
}

impl<T: Slot> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Memory::Heap(_) = self.memory {
            let lines = NonNull::slice_from_raw_parts(self.lines, self.shape.consumers);
            let cells = NonNull::slice_from_raw_parts(self.cells, self.shape.capacity as usize);
            // SAFETY: the three pointers come from `Box::leak` in `on_heap`, with these lengths, and nobody else
            // frees them; every handle holds an `Arc` of this buffer.
            unsafe {
                drop(Box::from_raw(self.header.as_ptr()));
                drop(Box::from_raw(lines.as_ptr()));
                drop(Box::from_raw(cells.as_ptr()));
            }
        }
    }
}

impl<T: Slot> Cell<T> {
    /// Stores a payload.
    ///
    /// # Safety
    /// The caller is the ring's producer and every consumer has given the slot back. `foreign` is the buffer's.
    #[inline(always)]
    pub(super) unsafe fn write(&self, payload: &T, foreign: bool) {
        self.payload.with_mut(|cell| {
            if foreign {
                let (from, to) = (payload.as_bytes().as_chunks::<8>().0, cell.cast::<Word>());
                for (index, bytes) in from.iter().enumerate() {
                    // SAFETY: the payload is `from.len()` words long and aligned to them. Other processes may
                    // store here too; words of it are only ever touched atomically in foreign memory.
                    unsafe { &*to.add(index) }.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
                }
            } else {
                // SAFETY: by the caller's promise nobody else touches the payload now.
                unsafe { cell.cast::<T>().write(*payload) };
            }
        });
    }

    /// Calls `f` with the payload: where it lies, or in foreign memory a private copy, which nobody can change
    /// while `f` looks at it.
    ///
    /// # Safety
    /// The caller is a consumer that has seen the payload's stamp and has not given the slot back. `foreign` is the
    /// buffer's.
    #[inline(always)]
    pub(super) unsafe fn read<R>(&self, foreign: bool, f: impl FnOnce(&T) -> R) -> R {
        self.payload.with(|cell| {
            if foreign {
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
