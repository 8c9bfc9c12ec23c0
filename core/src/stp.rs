//! Self-trade prevention: what happens where an order meets a resting order of its own account. The mode is the
//! arriving order's.

use crate::command::SelfTradePrevention;
use crate::matching::{Ending, Meeting};

/// What a meeting of two orders of one account comes to; `None`: they may trade.
#[cold]
pub(crate) fn meet(mode: SelfTradePrevention) -> Option<Meeting> {
    match mode {
        SelfTradePrevention::None => None,
        // Such an order was refused before it could meet its own: the walk of `matching::walk` said so.
        SelfTradePrevention::RejectTaker => unreachable!("refused before matching"),
        SelfTradePrevention::ExpireTaker => Some(Meeting::StopTaker(Ending::SelfTrade)),
        SelfTradePrevention::ExpireMaker => Some(Meeting::ExpireMaker),
        SelfTradePrevention::ExpireBoth => Some(Meeting::ExpireBoth(Ending::SelfTrade)),
    }
}
