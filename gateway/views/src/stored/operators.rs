//! What operators did and announced.

use super::{layouts, stored};
use crate::perpetual::configured::Change;
use crate::perpetual::operator::Pending;
use crate::perpetual::rows::OperatorRecord;
use ringside_core::event;

layouts! {
    /// Who, from where, and on what.
    NotedV1 of event::OperatorNoted {
        operator: [u8; 16], ip: [u8; 16], subject: [u8; 20], action: u16, part: u8, proven: u8,
    }

    /// Why, and what exactly.
    ReasonV1 of event::OperatorReason { reason: [u8; 64], detail: [u8; 32] }

    /// An action.
    OperatorV1 of OperatorRecord {
        number: u64, time_ms: i64, sequence: u64, noted: NotedV1, told: ReasonV1, reject: u64,
    }

    /// The last change of a configuration.
    ChangeV1 of Change { time_ms: i64, operator: [u8; 16], proven: u64, market: u64 }

    /// A note whose command has not come yet.
    PendingV1 of Pending { source_seq: u64, source: u64, row: OperatorV1 }
}

stored! {
    OperatorRecord as Operators: OperatorV1;
    Change as Changes: ChangeV1;
    Pending as PendingNotes: PendingV1;
}
