//! Accounts: addresses, and what each holds of each asset. It moves no money of its own accord; `risk` does.

use crate::hash_seed::{HashSeed, fold};
use crate::ids::{AccountId, Address, AssetId, AssetName, FEE_ACCOUNT};
use crate::memory::Pages;
use crate::money::Amount;
use zerocopy::FromZeros;

/// Values by account, all zero until they are written. Those of the first accounts lie in one piece, later ones in chunks
/// that are taken when one of them is written.
pub(crate) struct Sparse<T, const CHUNK: usize> {
    base: Box<[T]>,
    more: Vec<Option<Box<[T; CHUNK]>>>,
    zero: T,
}

impl<T: Copy + FromZeros, const CHUNK: usize> Sparse<T, CHUNK> {
    /// Memory for `accounts` in one piece.
    pub(crate) fn new(accounts: usize, pages: Pages) -> Self {
        const { assert!(CHUNK.is_power_of_two()) };
        Sparse { base: pages.zeroed(accounts), more: Vec::new(), zero: T::new_zeroed() }
    }

    #[inline(always)]
    pub(crate) fn get(&self, account: AccountId) -> &T {
        match self.base.get(account as usize) {
            Some(value) => value,
            None => self.get_far(account).unwrap_or(&self.zero),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_far(&self, account: AccountId) -> Option<&T> {
        let place = account as usize - self.base.len();
        self.more.get(place / CHUNK)?.as_ref().map(|chunk| &chunk[place % CHUNK])
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, account: AccountId) -> &mut T {
        if account as usize >= self.base.len() {
            return self.get_mut_far(account);
        }
        &mut self.base[account as usize]
    }

    #[cold]
    #[inline(never)]
    fn get_mut_far(&mut self, account: AccountId) -> &mut T {
        let place = account as usize - self.base.len();
        if self.more.len() <= place / CHUNK {
            self.more.resize_with(place / CHUNK + 1, || None);
        }
        let chunk = self.more[place / CHUNK].get_or_insert_with(|| Box::new([T::new_zeroed(); CHUNK]));
        &mut chunk[place % CHUNK]
    }

    /// All values that memory may have been taken for, by account, below `accounts`.
    pub(crate) fn iter(&self, accounts: u32) -> impl Iterator<Item = (AccountId, &T)> + '_ {
        let base = self.base.iter().enumerate();
        let more = self.more.iter().enumerate().filter_map(|(place, chunk)| Some((place, chunk.as_ref()?)));
        let first = self.base.len();
        let more = more.flat_map(move |(place, chunk)| {
            chunk.iter().enumerate().map(move |(offset, value)| (first + place * CHUNK + offset, value))
        });
        base.chain(more)
            .take_while(move |&(account, _)| account < accounts as usize)
            .map(|(account, value)| (account as AccountId, value))
    }
}

/// What an account holds of an asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(crate) struct Balance {
    /// Free amount, 10^-18.
    pub(crate) available: Amount,
    /// Reserved for open orders.
    pub(crate) frozen: Amount,
}

impl Balance {
    // Balances and amounts are never negative, so a difference cannot overflow and a sum that does is negative: the
    // sign of the result says whether all went well.

    /// Takes from what is free. The caller has checked that it is there.
    #[inline(always)]
    pub(crate) fn pay(&mut self, amount: Amount) {
        debug_assert!(amount >= 0);
        self.available = self.available.wrapping_sub(amount);
        assert!(self.available >= 0, "paid more than was available");
    }

    /// Takes from what is reserved.
    #[inline(always)]
    pub(crate) fn pay_frozen(&mut self, amount: Amount) {
        debug_assert!(amount >= 0);
        self.frozen = self.frozen.wrapping_sub(amount);
        assert!(self.frozen >= 0, "paid more than was frozen");
    }

    /// Adds to what is reserved; the sum is bounded by what was credited of the asset.
    pub(crate) fn receive_frozen(&mut self, amount: Amount) {
        debug_assert!(amount >= 0);
        self.frozen = self.frozen.wrapping_add(amount);
        assert!(self.frozen >= 0, "received more than there is");
    }

    /// Adds to what is free; the sum is bounded by what was credited of the asset.
    #[inline(always)]
    pub(crate) fn receive(&mut self, amount: Amount) {
        debug_assert!(amount >= 0);
        self.available = self.available.wrapping_add(amount);
        assert!(self.available >= 0, "received more than there is");
    }

    /// Changes it and gives what it then is from registers: who needs a whole amount right after its halves were stored,
    /// and reads it back, waits until those stores have left the processor's queue.
    #[inline(always)]
    pub(crate) fn changed(&mut self, change: impl FnOnce(&mut Balance)) -> Balance {
        let mut balance = *self;
        change(&mut balance);
        *self = balance;
        balance
    }

    /// Reserves.
    #[inline(always)]
    pub(crate) fn freeze(&mut self, amount: Amount) {
        self.pay(amount);
        self.frozen = self.frozen.wrapping_add(amount);
        assert!(self.frozen >= 0, "froze more than there is");
    }

    /// Gives back what was reserved.
    #[inline(always)]
    pub(crate) fn unfreeze(&mut self, amount: Amount) {
        self.pay_frozen(amount);
        self.receive(amount);
    }
}

/// Two neighbouring assets of one account: one cache line, so that the first market's base and quote share it.
#[derive(Clone, Copy, FromZeros)]
#[repr(C, align(64))]
struct Pair([Balance; 2]);

const _: () = assert!(size_of::<Pair>() == 64);

/// What every account holds.
pub(crate) struct Balances {
    /// By asset / 2.
    pairs: Vec<Sparse<Pair, 1024>>,
    accounts: usize,
    pages: Pages,
}

impl Balances {
    /// No assets; memory for `accounts` of each.
    pub(crate) fn new(accounts: usize, pages: Pages) -> Balances {
        Balances { pairs: Vec::new(), accounts, pages }
    }

    /// Makes room for assets below `count`.
    pub(crate) fn ensure(&mut self, count: usize) {
        while self.pairs.len() * 2 < count {
            self.pairs.push(Sparse::new(self.accounts, self.pages));
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, account: AccountId, asset: AssetId) -> Balance {
        self.pairs[asset as usize / 2].get(account).0[asset as usize % 2]
    }

    /// Both balances of a market's two assets.
    #[inline(always)]
    pub(crate) fn both(&self, account: AccountId, base: AssetId, quote: AssetId) -> [Balance; 2] {
        if base ^ quote == 1 {
            let pair = &self.pairs[base as usize / 2].get(account).0;
            [pair[base as usize % 2], pair[quote as usize % 2]]
        } else {
            [self.get(account, base), self.get(account, quote)]
        }
    }

    /// Both balances of a market's two assets, which differ, to change.
    #[inline(always)]
    pub(crate) fn both_mut(
        &mut self,
        account: AccountId,
        base: AssetId,
        quote: AssetId,
    ) -> [&mut Balance; 2] {
        if base ^ quote == 1 {
            let [even, odd] = &mut self.pairs[base as usize / 2].get_mut(account).0;
            return if base < quote { [even, odd] } else { [odd, even] };
        }
        match self.pairs.get_disjoint_mut([base as usize / 2, quote as usize / 2]) {
            Ok([of_base, of_quote]) => [
                &mut of_base.get_mut(account).0[base as usize % 2],
                &mut of_quote.get_mut(account).0[quote as usize % 2],
            ],
            Err(_) => unreachable!("the assets of a market exist and differ"),
        }
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, account: AccountId, asset: AssetId) -> &mut Balance {
        &mut self.pairs[asset as usize / 2].get_mut(account).0[asset as usize % 2]
    }

    /// Where a balance is, for a prefetch hint.
    #[inline(always)]
    pub(crate) fn place(&self, account: AccountId, asset: AssetId) -> &Balance {
        &self.pairs[asset as usize / 2].get(account).0[asset as usize % 2]
    }

    /// Balances that are not zero, by account below `accounts`, of one asset.
    pub(crate) fn iter(
        &self,
        asset: AssetId,
        accounts: u32,
    ) -> impl Iterator<Item = (AccountId, Balance)> + '_ {
        self.pairs[asset as usize / 2]
            .iter(accounts)
            .map(move |(account, pair)| (account, pair.0[asset as usize % 2]))
            .filter(|(_, balance)| *balance != Balance::default())
    }
}

/// An asset.
#[derive(Clone, Copy)]
pub(crate) struct Asset {
    pub(crate) name: AssetName,
    /// Sum of all credits: what the balances of all accounts add up to.
    pub(crate) credited: Amount,
}

/// Addresses and their accounts.
pub(crate) struct Accounts {
    addresses: Vec<Box<[Address; ADDRESSES]>>,
    count: u32,
    /// Open addressing: account + 1, 0 for a free cell. No account is ever removed.
    cells: Vec<u32>,
    seed: HashSeed,
}

/// Addresses allocated together.
const ADDRESSES: usize = 1024;

impl Accounts {
    /// The fee account alone, with memory for `capacity` accounts.
    pub(crate) fn new(capacity: usize, seed: HashSeed) -> Accounts {
        let mut accounts = Accounts {
            addresses: Vec::with_capacity(capacity / ADDRESSES + 1),
            count: 0,
            cells: vec![0; (capacity * 2).next_power_of_two().max(64)],
            seed,
        };
        let fee_account = accounts.find_or_make([0; 20]).0;
        assert_eq!(fee_account, FEE_ACCOUNT);
        accounts
    }

    /// Count of accounts; ids are below it.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Whether there is such an account.
    #[inline(always)]
    pub(crate) fn exists(&self, account: AccountId) -> bool {
        account < self.count
    }

    pub(crate) fn address(&self, account: AccountId) -> &Address {
        &self.addresses[account as usize / ADDRESSES][account as usize % ADDRESSES]
    }

    fn probe(&self, address: &Address) -> usize {
        let mask = self.cells.len() - 1;
        let mut cell = hash(address, &self.seed) as usize & mask;
        while self.cells[cell] != 0 && self.address(self.cells[cell] - 1) != address {
            cell = (cell + 1) & mask;
        }
        cell
    }

    pub(crate) fn find(&self, address: &Address) -> Option<AccountId> {
        self.cells[self.probe(address)].checked_sub(1)
    }

    /// The account of an address, and whether it was made just now.
    pub(crate) fn find_or_make(&mut self, address: Address) -> (AccountId, bool) {
        if let Some(account) = self.find(&address) {
            return (account, false);
        }
        let account = self.count;
        assert!(account < u32::MAX - 1, "account ids are used up");
        if account as usize / ADDRESSES == self.addresses.len() {
            self.addresses.push(Box::new([[0; 20]; ADDRESSES]));
        }
        self.addresses[account as usize / ADDRESSES][account as usize % ADDRESSES] = address;
        self.count += 1;
        if self.count as usize * 2 > self.cells.len() {
            self.cells = vec![0; self.cells.len() * 2];
            for account in 0..self.count {
                let cell = self.probe(self.address(account));
                self.cells[cell] = account + 1;
            }
        } else {
            let cell = self.probe(&address);
            self.cells[cell] = account + 1;
        }
        (account, true)
    }
}

/// Spreads an address.
fn hash(address: &Address, seed: &HashSeed) -> u64 {
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&address[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    let of = seed.words();
    let first = fold(word(0) ^ of[0], word(8) ^ of[1]);
    fold(first ^ of[2], word(12) ^ of[3])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses that meet in one place of one table do not in that of another process.
    #[test]
    fn chosen_addresses_are_spread_by_a_seed_that_nobody_knows() {
        let address = |number: u64| {
            let mut address = [7; 20];
            address[..8].copy_from_slice(&number.to_le_bytes());
            address
        };
        let meets = |seed: &HashSeed, number: &u64| hash(&address(*number), seed).is_multiple_of(256);
        let chosen: Vec<u64> = (0..).filter(|number| meets(&HashSeed::default(), number)).take(400).collect();
        for secret in 1..=50 {
            let together = chosen.iter().filter(|number| meets(&HashSeed::new(secret), number)).count();
            assert!(together < 15, "{together} of {}", chosen.len());
        }
    }

    #[test]
    fn an_address_has_one_account() {
        let mut accounts = Accounts::new(0, HashSeed::default());
        let address = |n: u32| {
            let mut address = [7; 20];
            address[..4].copy_from_slice(&n.to_le_bytes());
            address
        };
        for n in 0..5_000 {
            assert_eq!(accounts.find_or_make(address(n)), (n + 1, true));
        }
        for n in 0..5_000 {
            assert_eq!(accounts.find_or_make(address(n)), (n + 1, false));
            assert_eq!(accounts.address(n + 1), &address(n));
        }
        assert_eq!(accounts.find(&address(5_000)), None);
        assert_eq!(accounts.find(&[0; 20]), Some(FEE_ACCOUNT));
    }

    #[test]
    #[should_panic(expected = "paid more than was available")]
    fn a_balance_does_not_go_below_zero() {
        Balance { available: 5, frozen: 9 }.freeze(6);
    }
}
