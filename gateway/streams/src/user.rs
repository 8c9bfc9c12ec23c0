//! What one command has to tell the accounts that listen to themselves (`perpetual-stream.md` 3 and 4): each event once, for all
//! the topics that it goes to. What events say is the dialect's.

use super::recorder::PushRecorder;
use super::topic::Kind;
use ringside_core::event::Event;
use ringside_core::ids::AccountId;
use ringside_dialect::fapi::user::{UserChannel, UserEvent, accounts_of, tell};
use ringside_views::Views;

/// Takes notes of commands for the accounts that listen. Nothing is kept between commands.
#[derive(Debug, Default)]
pub struct Users {
    /// Which event is about whom.
    own: Vec<(AccountId, usize)>,
    told: Vec<UserEvent>,
}

impl Users {
    /// Notes a command: its events, and the views after it.
    pub fn command(&mut self, events: &[Event], views: &Views, recorder: &mut PushRecorder<'_>) {
        if !recorder.has_watched() {
            return;
        }
        self.own.clear();
        for (place, event) in events.iter().enumerate() {
            let watched =
                accounts_of(event).into_iter().flatten().filter(|account| recorder.is_watched(*account));
            self.own.extend(watched.map(|account| (account, place)));
        }
        // Places ascend, so an account's events stay in their order.
        self.own.sort_unstable();
        for own in self.own.chunk_by(|before, after| before.0 == after.0) {
            let account = own[0].0;
            let own: Vec<&Event> = own.iter().map(|(_, place)| &events[*place]).collect();
            tell(account, &own, views.perpetuals(), &mut self.told);
            for event in self.told.drain(..) {
                let kinds = event.channels().iter().map(|channel| kind(*channel));
                recorder.user(account, event, kinds);
            }
        }
    }
}

const fn kind(channel: UserChannel) -> Kind {
    match channel {
        UserChannel::Raw => Kind::UserData,
        UserChannel::UserData => Kind::AccountEvents,
        UserChannel::Orders => Kind::AccountOrders,
        UserChannel::Positions => Kind::AccountPositions,
        UserChannel::Balances => Kind::AccountBalances,
        UserChannel::VipTier => Kind::AccountTier,
    }
}
