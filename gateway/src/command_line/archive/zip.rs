//! A ZIP file of one member, written as it comes: what public dumps are packed in. The same bytes give the same file.

use anyhow::{Context, Result};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use std::io::{self, Write};

const LOCAL: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Of the format: what streams need.
const VERSION: u16 = 20;
/// Lengths and checksum stand behind the member.
const FLAGS: u16 = 1 << 3;
const DEFLATED: u16 = 8;
/// The first day that the format knows: when a file was made is no part of what it says.
const DATE: u16 = 1 << 5 | 1;

/// Writes a member of that name, whose bytes `fill` writes.
///
/// Errors: those of `fill` and `out`; more than 4 GiB.
pub(super) fn write<W: Write, T>(
    out: W,
    name: &str,
    fill: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let name_len = u16::try_from(name.len()).context("the name is too long")?;
    let mut out = Counting { out, len: 0 };
    out.words(&[], &[LOCAL])?;
    out.words(&[VERSION, FLAGS, DEFLATED, 0, DATE], &[0, 0, 0])?;
    out.words(&[name_len, 0], &[])?;
    out.write_all(name.as_bytes())?;
    let begin = out.len;
    let mut member =
        Member { packed: DeflateEncoder::new(&mut out, Compression::default()), crc: Crc::new(), len: 0 };
    let filled = fill(&mut member)?;
    let (crc, len) = member.end()?;
    let short = |len: u64| u32::try_from(len).context("a day of this is more than 4 GiB");
    let sizes = [crc, short(out.len - begin)?, short(len)?];
    out.words(&[], &[DESCRIPTOR])?;
    out.words(&[], &sizes)?;
    let central = out.len;
    out.words(&[], &[CENTRAL])?;
    out.words(&[VERSION, VERSION, FLAGS, DEFLATED, 0, DATE], &sizes)?;
    out.words(&[name_len, 0, 0, 0, 0], &[0, 0])?;
    out.write_all(name.as_bytes())?;
    let end = out.len;
    out.words(&[], &[END])?;
    out.words(&[0, 0, 1, 1], &[short(end - central)?, short(central)?])?;
    out.words(&[0], &[])?;
    out.flush()?;
    Ok(filled)
}

struct Counting<W> {
    out: W,
    len: u64,
}

impl<W: Write> Counting<W> {
    /// Little-endian, the short ones first.
    fn words(&mut self, short: &[u16], long: &[u32]) -> io::Result<()> {
        short.iter().try_for_each(|word| self.write_all(&word.to_le_bytes()))?;
        long.iter().try_for_each(|word| self.write_all(&word.to_le_bytes()))
    }
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

struct Member<W: Write> {
    packed: DeflateEncoder<W>,
    crc: Crc,
    len: u64,
}

impl<W: Write> Member<W> {
    /// Writes what is left; checksum and length of it all.
    fn end(self) -> io::Result<(u32, u64)> {
        self.packed.finish()?;
        Ok((self.crc.sum(), self.len))
    }
}

impl<W: Write> Write for Member<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.packed.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.packed.flush()
    }
}
