//! Releases that must be impossible, and what operators said of them.

use super::{Wide, layouts, stored};
use ringside_core::event;

layouts! {
    /// A release that must be impossible.
    AlarmV1 of event::ReleaseAlarm {
        vault: u16, reason: u8, reserved: [u8; 5], account: [u8; 20], reserved_2: u32, nonce: u64, value: Wide,
        tx_hash: [u8; 32], block: u64,
    }

    /// What operators say of a disputed withdrawal.
    JudgedV1 of event::WithdrawalJudged {
        withdrawal: u64, proposed_by: [u8; 16], agreed_by: [u8; 16], is_paid: u8, is_settled: u8, reserved: [u8; 6],
    }
}

stored! {
    event::ReleaseAlarm as Alarms: AlarmV1;
    event::WithdrawalJudged as Judged: JudgedV1;
}
