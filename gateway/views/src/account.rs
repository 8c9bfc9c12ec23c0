//! Which wallet is which account. Accounts are never removed. Keys and tokens of an account are not here: they are
//! no facts of the engine.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::event;
use ringside_core::ids::{AccountId, Address, FEE_ACCOUNT};
use std::collections::HashMap;

/// Accounts by id and by wallet. Account 0, the fee account, has no wallet.
#[derive(Clone, Debug)]
pub struct AccountView {
    /// Indexed by account; entry 0 is the fee account's placeholder.
    addresses: Vec<Address>,
    by_address: HashMap<Address, AccountId>,
}

impl Default for AccountView {
    fn default() -> AccountView {
        AccountView { addresses: vec![[0; 20]], by_address: HashMap::new() }
    }
}

impl AccountView {
    pub(super) fn created(&mut self, created: &event::AccountCreated) {
        assert_eq!(created.account as usize, self.addresses.len(), "account ids are dense");
        self.addresses.push(created.address);
        self.by_address.insert(created.address, created.account);
    }

    /// The account of a wallet.
    pub fn of_address(&self, address: &Address) -> Option<AccountId> {
        self.by_address.get(address).copied()
    }

    /// The wallet of an account; `None` for the fee account and accounts that do not exist.
    pub fn address(&self, account: AccountId) -> Option<&Address> {
        if account == FEE_ACCOUNT {
            return None;
        }
        self.addresses.get(account as usize)
    }

    /// How many accounts there are, the fee account included.
    pub fn len(&self) -> usize {
        self.addresses.len()
    }

    /// Never: the fee account is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.addresses.len() - 1);
        self.addresses.iter().skip(1).for_each(|address| writer.fixed(address));
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<AccountView, LoadError> {
        let mut view = AccountView::default();
        for account in 1..=reader.count()? {
            let address = reader.fixed()?;
            let account = AccountId::try_from(account).map_err(|_| reader.bad("account"))?;
            view.created(&event::AccountCreated { address, account });
        }
        Ok(view)
    }
}
