//! Exact division by a step (tick, lot, grid of a book) without a division.
//!
//! A step is `odd x 2^shift`. Multiplying by the inverse of `odd` modulo 2^64 and rotating right by `shift` gives
//! the quotient when the step divides the value, and a number above `u64::MAX / step` when it does not (Granlund
//! and Montgomery, "Division by invariant integers using multiplication", 1994, section 9).

/// A step, > 0, ready to divide by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    value: i64,
    inverse: u64,
    shift: u32,
    largest: u64,
}

impl Step {
    /// `value` must be > 0.
    pub(crate) fn new(value: i64) -> Step {
        assert!(value > 0, "a step is positive");
        let shift = value.trailing_zeros();
        let odd = (value >> shift) as u64;
        // Newton's iteration doubles the correct low bits; `odd` is its own inverse in the low three.
        let mut inverse = odd;
        for _ in 0..5 {
            inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        Step { value, inverse, shift, largest: u64::MAX / value as u64 }
    }

    /// The step itself.
    #[inline]
    pub(crate) const fn value(&self) -> i64 {
        self.value
    }

    /// How many steps `value` is, if it is a whole number of them. `value` must not be negative.
    #[inline(always)]
    pub(crate) const fn count(&self, value: i64) -> Option<u64> {
        let count = (value as u64).wrapping_mul(self.inverse).rotate_right(self.shift);
        if count <= self.largest { Some(count) } else { None }
    }

    /// How many steps `value` is, given that it is a whole number of them.
    #[inline(always)]
    pub(crate) const fn count_exact(&self, value: i64) -> u64 {
        (value as u64).wrapping_mul(self.inverse).rotate_right(self.shift)
    }

    /// Whether `value` is a whole number of steps.
    #[inline(always)]
    pub(crate) const fn divides(&self, value: i64) -> bool {
        self.count(value).is_some()
    }
}

/// The greatest common divisor; both must be > 0.
pub(crate) const fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::MAX_ENTRY;

    #[test]
    fn agrees_with_division() {
        let steps = [1, 2, 3, 7, 8, 10, 10_000, 10_000_000, 12_345, 1 << 40, i64::MAX, MAX_ENTRY, 99_999_989];
        let mut random = 1u64;
        for value in steps {
            let step = Step::new(value);
            for _ in 0..2_000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(11);
                let any = (random >> 1) as i64;
                let multiple = any / value * value;
                for n in [any, multiple, any % 1_000_000, 0, i64::MAX] {
                    let expected = (n % value == 0).then_some((n / value) as u64);
                    assert_eq!(step.count(n), expected, "{n} / {value}");
                }
                assert_eq!(step.count_exact(multiple), (multiple / value) as u64);
            }
        }
        assert_eq!(gcd(10_000, 15_000), 5_000);
        assert_eq!(gcd(7, 3), 1);
    }
}
