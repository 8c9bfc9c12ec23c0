//! A query string or a form taken apart into its pairs, as they stand there. Decodes nothing and knows no parameter.

use std::iter::FusedIterator;
use std::ops::Range;

/// Where one pair stands in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its first byte.
    pub start: usize,
    /// Its first `=`, if it has one.
    equals: Option<usize>,
    /// The `&` behind it, or the end of the text.
    pub end: usize,
}

impl Pair {
    /// What stands before `=`: all of it where there is none.
    #[inline]
    pub fn name(&self) -> Range<usize> {
        self.start..self.equals.unwrap_or(self.end)
    }

    /// What stands behind `=`.
    #[inline]
    pub fn value(&self) -> Option<Range<usize>> {
        self.equals.map(|equals| equals + 1..self.end)
    }

    /// Whether nothing stands there.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

/// The pairs of `text` in their order: one more than it has `&`.
pub fn pairs(text: &[u8]) -> Pairs<'_> {
    Pairs { marks: Marks { text, begin: 0, end: 0, found: 0 }, next: Some(0) }
}

/// See [`pairs`].
pub struct Pairs<'a> {
    marks: Marks<'a>,
    /// Where the next one starts.
    next: Option<usize>,
}

impl Iterator for Pairs<'_> {
    type Item = Pair;

    #[inline]
    fn next(&mut self) -> Option<Pair> {
        let start = self.next?;
        let mut equals = None;
        while let Some(mark) = self.marks.next() {
            if self.marks.text[mark] == b'&' {
                self.next = Some(mark + 1);
                return Some(Pair { start, equals, end: mark });
            }
            equals = equals.or(Some(mark));
        }
        self.next = None;
        Some(Pair { start, equals, end: self.marks.text.len() })
    }
}

impl FusedIterator for Pairs<'_> {}

/// Where `&` and `=` stand, eight bytes looked at together: most are neither.
struct Marks<'a> {
    text: &'a [u8],
    /// The bytes looked at last.
    begin: usize,
    end: usize,
    /// The upper bit of each of them that is a mark and was not given yet.
    found: u64,
}

impl Marks<'_> {
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            let rest = self.text.get(self.end..).filter(|rest| !rest.is_empty())?;
            let word = rest.first_chunk().copied().unwrap_or_else(|| {
                let mut last = [0; 8];
                last[..rest.len()].copy_from_slice(rest);
                last
            });
            (self.begin, self.end) = (self.end, self.end + word.len());
            let word = u64::from_le_bytes(word);
            self.found = equal(word, b'&') | equal(word, b'=');
        }
        let at = self.begin + self.found.trailing_zeros() as usize / 8;
        self.found &= self.found - 1;
        Some(at)
    }
}

/// The upper bit of every byte of `word` that is `byte`.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOWER: u64 = u64::from_ne_bytes([0x7f; 8]);
    // Zero where they are equal; then neither adding carries into the upper bit nor is it set.
    let differing = word ^ u64::from_ne_bytes([byte; 8]);
    !(((differing & LOWER) + LOWER) | differing | LOWER)
}

/// Whether a part of such a text says what it means without being decoded.
#[inline]
pub fn is_literal(text: &[u8]) -> bool {
    // All of it is looked at, so that the compiler takes many bytes at a time.
    !text.iter().fold(false, |found, byte| found | (*byte == b'%') | (*byte == b'+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_what_stands_between_ampersands() {
        for text in
            ["", "a", "a=1", "a=1&b=2", "&", "a=&&=b&c", "a=b=c&=&==", "a&b=1&", "=&long name=x%26+y&z"]
        {
            let found: Vec<_> = pairs(text.as_bytes())
                .map(|pair| (&text[pair.name()], pair.value().map(|value| &text[value]), pair.is_empty()))
                .collect();
            let expected: Vec<_> = text
                .split('&')
                .map(|pair| match pair.split_once('=') {
                    Some((name, value)) => (name, Some(value), false),
                    None => (pair, None, pair.is_empty()),
                })
                .collect();
            assert_eq!(found, expected, "{text}");
            let joined: Vec<_> = pairs(text.as_bytes()).map(|pair| &text[pair.start..pair.end]).collect();
            assert_eq!(joined.join("&"), text);
        }
    }

    #[test]
    fn literal_is_what_no_decoder_changes() {
        assert!(is_literal(b"") && is_literal(b"BTC-USDT_1.5~"));
        assert!(!is_literal(b"a+b") && !is_literal(b"%41"));
    }
}
