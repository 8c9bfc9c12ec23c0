//! Figures of the signer, for people: whether it can be reached. Nothing is decided by them.

use crate::SignerFault;
use ringside_core::figures::Counter;

/// What came of a question to the signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It answered.
    Answered,
    /// It decided against it.
    Refused,
    /// It was not reached.
    Unreachable,
    /// It was reached, and no answer came.
    Unknown,
}

impl Outcome {
    /// All, with their words.
    pub const ALL: [(Outcome, &'static str); 4] = [
        (Outcome::Answered, "answered"),
        (Outcome::Refused, "refused"),
        (Outcome::Unreachable, "unreachable"),
        (Outcome::Unknown, "unknown"),
    ];
}

/// The signer.
#[derive(Debug, Default)]
pub struct SignerFigures {
    /// Questions by [`Outcome`].
    pub questions: [Counter; Outcome::ALL.len()],
    /// 1: the last one was answered, be it by a refusal.
    pub up: Counter,
}

impl SignerFigures {
    /// Counts a question.
    pub(crate) fn asked<T>(&self, answer: &Result<T, SignerFault>) {
        let outcome = match answer {
            Ok(_) => Outcome::Answered,
            Err(SignerFault::Refused(_) | SignerFault::Unauthorized(_)) => Outcome::Refused,
            Err(SignerFault::Unreachable(_)) => Outcome::Unreachable,
            Err(SignerFault::Unknown(_)) => Outcome::Unknown,
        };
        self.questions[outcome as usize].add(1);
        self.up.set(matches!(outcome, Outcome::Answered | Outcome::Refused).into());
    }
}
