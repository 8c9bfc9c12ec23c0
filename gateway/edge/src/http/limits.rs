//! Request weight per address and minute, and bans (`perpetual.md` 3).
//!
//! Every address has one [`Client`], found once per connection and shared by all workers; charging it is two atomic
//! operations. Clients whose address a trusted proxy does not say are counted together ([`Who::Unknown`]). IPv6 clients are counted by their /64, since one machine owns all of it. State lives in memory: a restart
//! forgets windows and bans. Orders per account are counted in `order_rate.rs`.

use parking_lot::{Mutex, RwLock};
use ringside_auth::login::NonceBudget;
use ringside_auth::nonce::Nonce;
use ringside_config::Config;
use ringside_wire::account::operator::Ban;
use ringside_wire::fault::Fault;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const MINUTE_MS: i64 = 60_000;
/// Window of the funding routes.
const FUNDING_MS: i64 = 300_000;
/// Addresses are swept once a minute when there are more than this many.
const SWEEP_ABOVE: usize = 4_096;
/// How far apart frames of one address are refused, and times so many bytes.
const REFUSAL: Duration = Duration::from_millis(2);
const REFUSAL_LEN: usize = 4_096;
/// So much of that may come at once: what an honest client sends before it has read a refusal.
const REFUSED_AT_ONCE: Duration = Duration::from_secs(1);
/// Spent nonces of an address that are remembered: as many as its weight buys in their life.
const SPENT_MAX: usize = 2_400;
/// A ban lasts this many times as long as the one before.
const BAN_GROWTH: u64 = 4;

/// The limits of one process.
#[derive(Debug)]
pub struct Limits {
    weight_per_minute: u32,
    funding_requests: u32,
    ban_after: u32,
    ban_first_ms: u64,
    ban_max_ms: u64,
    ban_memory_ms: i64,
    clients: RwLock<HashMap<Who, Arc<Client>>>,
    swept_minute: AtomicI64,
}

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Who {
    /// One address.
    Address(IpAddr),
    /// Everybody of whom a trusted proxy says no address. Never the proxy's own address, which may be trusted for more.
    Unknown,
    /// Who asks from one address whether the exchange is alive and ready.
    Probe(IpAddr),
    /// An operator, by the hash of the key; `None` for whoever has the administrator's.
    Operator(Option<[u8; 32]>),
}

/// What is known of one of them.
#[derive(Debug, Default)]
pub struct Client {
    /// Whether it is banned when it goes on beyond its limit: an address is, and nobody that is not one client.
    can_be_banned: bool,
    /// Minute of the UNIX epoch in the upper half, weight used in it in the lower.
    weight: AtomicU64,
    /// Minute of the latest 429 in the upper half, requests in that minute after the first 429 in the lower.
    refused: AtomicU64,
    /// Five minutes of the UNIX epoch in the upper half, requests to the funding routes in them in the lower.
    funding: AtomicU64,
    /// UNIX milliseconds; 0 for never banned.
    banned_until_ms: AtomicI64,
    /// Starts of the bans that still count, oldest first.
    bans: Mutex<Vec<i64>>,
    /// Open connections.
    connections: AtomicUsize,
    /// Until when answers to refused frames are spread.
    refusing_until: Mutex<Option<Instant>>,
    /// Login nonces that it brought with a signature of somebody else's.
    spent: Mutex<Vec<(i64, Nonce)>>,
}

/// The outcome of a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Weight used in this minute, this request included.
    pub used: u32,
    /// 429 or 418, if the request is refused.
    pub refusal: Option<Fault>,
}

impl Limits {
    /// Limits as configured.
    pub fn new(config: &Config) -> Limits {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Limits {
            weight_per_minute: config.weight_per_minute,
            funding_requests: config.funding_requests,
            ban_after: config.ban_after,
            ban_first_ms: millis(config.ban_first),
            ban_max_ms: millis(config.ban_max),
            ban_memory_ms: i64::try_from(millis(config.ban_memory)).unwrap_or(i64::MAX),
            clients: RwLock::new(HashMap::new()),
            swept_minute: AtomicI64::new(0),
        }
    }

    /// The state of whoever that is; made where it is new.
    pub fn client(&self, who: Who, now_ms: i64) -> Arc<Client> {
        let who = who.counted_as();
        if let Some(client) = self.clients.read().get(&who) {
            return client.clone();
        }
        let mut clients = self.clients.write();
        self.sweep(&mut clients, now_ms);
        let can_be_banned = matches!(who, Who::Address(_));
        let client = || Arc::new(Client { can_be_banned, ..Client::default() });
        clients.entry(who).or_insert_with(client).clone()
    }

    /// Charges a request to its address. Every request but a banned one costs, refused ones too.
    pub fn charge(&self, client: &Client, weight: u32, now_ms: i64) -> Charge {
        let minute = now_ms.div_euclid(MINUTE_MS);
        // Relaxed throughout: each word stands for itself, and a request that races with the one that brings the ban may
        // as well have come before it.
        let until_ms = client.banned_until_ms.load(Ordering::Relaxed);
        if now_ms < until_ms {
            return Charge { used: client.used(minute), refusal: Some(banned(until_ms, now_ms)) };
        }
        let used = add(&client.weight, minute, weight);
        if client.can_be_banned
            && stamp(&client.refused) == minute
            && add(&client.refused, minute, 1) >= self.ban_after
        {
            let until_ms = self.ban(client, now_ms);
            return Charge { used, refusal: Some(banned(until_ms, now_ms)) };
        }
        if used <= self.weight_per_minute {
            return Charge { used, refusal: None };
        }
        add(&client.refused, minute, 0);
        Charge { used, refusal: Some(self.too_many(now_ms)) }
    }

    /// Counts a request to a funding route; refused ones are not counted, and bring no ban.
    pub fn charge_funding(&self, client: &Client, now_ms: i64) -> Result<(), Fault> {
        let window = now_ms.div_euclid(FUNDING_MS);
        if add(&client.funding, window, 1) <= self.funding_requests {
            return Ok(());
        }
        take(&client.funding, window, 1);
        let retry_after_s = seconds_up(FUNDING_MS - now_ms.rem_euclid(FUNDING_MS));
        Err(Fault::TooManyFunding { limit: self.funding_requests, retry_after_s })
    }

    /// Charges a frame of a WebSocket to its address. One that is refused costs nothing, is not carried out and brings no ban.
    pub fn charge_frame(&self, client: &Client, weight: u32, now_ms: i64) -> Result<(), Fault> {
        let until_ms = client.banned_until_ms.load(Ordering::Relaxed);
        if now_ms < until_ms {
            return Err(banned(until_ms, now_ms));
        }
        let minute = now_ms.div_euclid(MINUTE_MS);
        if add(&client.weight, minute, weight) <= self.weight_per_minute {
            return Ok(());
        }
        take(&client.weight, minute, weight);
        Err(self.too_many(now_ms))
    }

    /// Charges a request that is under way for what it turned out to be: it goes on, and those behind it pay.
    pub fn charge_more(&self, client: &Client, weight: u32, now_ms: i64) {
        add(&client.weight, now_ms.div_euclid(MINUTE_MS), weight);
    }

    fn too_many(&self, now_ms: i64) -> Fault {
        let retry_after_s = seconds_up(MINUTE_MS - now_ms.rem_euclid(MINUTE_MS));
        Fault::TooManyRequests { limit: self.weight_per_minute, retry_after_s }
    }

    /// Gives the weight of a request back that failed for the exchange's own reasons.
    pub fn give_back(&self, client: &Client, weight: u32, now_ms: i64) {
        take(&client.weight, now_ms.div_euclid(MINUTE_MS), weight);
    }

    /// Starts a ban, unless one began meanwhile; its end.
    fn ban(&self, client: &Client, now_ms: i64) -> i64 {
        let mut bans = client.bans.lock();
        let until_ms = client.banned_until_ms.load(Ordering::Relaxed);
        if now_ms < until_ms {
            return until_ms;
        }
        bans.retain(|start_ms| now_ms.saturating_sub(*start_ms) < self.ban_memory_ms);
        let growth = BAN_GROWTH.saturating_pow(u32::try_from(bans.len()).unwrap_or(u32::MAX));
        let length_ms = self.ban_first_ms.saturating_mul(growth).min(self.ban_max_ms);
        bans.push(now_ms);
        let until_ms = now_ms.saturating_add(i64::try_from(length_ms).unwrap_or(i64::MAX));
        client.banned_until_ms.store(until_ms, Ordering::Relaxed);
        // What brought it is served with it, also where it ends in the same minute.
        client.refused.store(0, Ordering::Relaxed);
        until_ms
    }

    /// Those that are banned, at most so many: whose bans end last come first.
    pub fn bans(&self, now_ms: i64, most: usize) -> Vec<Ban> {
        let clients = self.clients.read();
        let mut bans: Vec<Ban> = clients
            .iter()
            .filter_map(|(who, client)| {
                let Who::Address(ip) = who else { return None };
                let starts = client.bans.lock();
                let until = client.banned_until_ms.load(Ordering::Relaxed);
                let since = *starts.last().filter(|_| now_ms < until)?;
                Some(Ban { address: ip.to_string(), count: starts.len(), since, until })
            })
            .collect();
        drop(clients);
        bans.sort_unstable_by(|one, other| (other.until, &one.address).cmp(&(one.until, &other.address)));
        bans.truncate(most);
        bans
    }

    /// Drops addresses that nothing needs to be remembered of, at most once a minute.
    fn sweep(&self, clients: &mut HashMap<Who, Arc<Client>>, now_ms: i64) {
        let minute = now_ms.div_euclid(MINUTE_MS);
        if clients.len() < SWEEP_ABOVE || self.swept_minute.swap(minute, Ordering::Relaxed) == minute {
            return;
        }
        clients.retain(|_, client| {
            let is_held = Arc::strong_count(client) > 1;
            let is_counted =
                stamp(&client.weight) >= minute || stamp(&client.funding) >= now_ms.div_euclid(FUNDING_MS);
            let is_remembered = client
                .bans
                .lock()
                .iter()
                .any(|start_ms| now_ms.saturating_sub(*start_ms) < self.ban_memory_ms);
            is_held || is_counted || is_remembered
        });
    }
}

impl Client {
    /// Weight used in a minute.
    fn used(&self, minute: i64) -> u32 {
        let word = self.weight.load(Ordering::Relaxed);
        if unpack(word).0 == minute { unpack(word).1 } else { 0 }
    }

    /// Counts a connection in, unless there are `max` already. The other half is [`Client::disconnect`].
    pub fn connect(&self, max: usize) -> bool {
        self.connections
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < max).then_some(open + 1))
            .is_ok()
    }

    /// Counts a connection out.
    pub fn disconnect(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes a frame of so many bytes that was refused; how long its connection is to rest. All that an address sends in vain is
    /// spread over time, so that it takes little of a thread, and never much at once.
    pub fn refuse_frame(&self, len: usize) -> Duration {
        let now = Instant::now();
        let times = u32::try_from(1 + len / REFUSAL_LEN).unwrap_or(u32::MAX);
        let mut until = self.refusing_until.lock();
        let begin = until.map_or(now, |until| until.max(now));
        *until = Some(begin + REFUSAL * times);
        (begin - now).saturating_sub(REFUSED_AT_ONCE)
    }
}

impl NonceBudget for Client {
    fn spend(&self, nonce: (i64, Nonce), now_s: i64) -> bool {
        let mut spent = self.spent.lock();
        spent.retain(|(expires_at_s, _)| now_s < *expires_at_s);
        if spent.contains(&nonce) {
            return false;
        }
        if spent.len() == SPENT_MAX {
            spent.remove(0);
        }
        spent.push(nonce);
        true
    }

    fn unspend(&self, nonce: (i64, Nonce)) {
        self.spent.lock().retain(|other| *other != nonce);
    }
}

impl Who {
    /// The same, an IPv6 address as its network.
    fn counted_as(self) -> Who {
        match self {
            Who::Address(ip) => Who::Address(network_of(ip)),
            Who::Probe(ip) => Who::Probe(network_of(ip)),
            Who::Unknown | Who::Operator(_) => self,
        }
    }
}

fn network_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
    }
}

fn banned(until_ms: i64, now_ms: i64) -> Fault {
    Fault::Banned { until_ms, retry_after_s: seconds_up(until_ms - now_ms) }
}

/// Milliseconds as whole seconds, rounded up.
pub(super) fn seconds_up(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or(0).div_ceil(1_000)
}

fn unpack(word: u64) -> (i64, u32) {
    ((word >> 32) as i64, word as u32)
}

fn pack(window: i64, count: u32) -> u64 {
    // Minutes and ten-seconds of the UNIX epoch fit in 32 bits until the year 3331.
    ((window.clamp(0, i64::from(u32::MAX)) as u64) << 32) | u64::from(count)
}

/// The window that a counter last counted in.
fn stamp(counter: &AtomicU64) -> i64 {
    unpack(counter.load(Ordering::Relaxed)).0
}

/// Adds to a counter of fixed windows; what it then holds. A window that is over starts again at 0. A clock that stepped back goes on
/// counting in the window behind its own, but not in one further ahead: what was counted by a wrong clock would hold until the right
/// one has come as far.
pub(super) fn add(counter: &AtomicU64, window: i64, by: u32) -> u32 {
    let mut word = counter.load(Ordering::Relaxed);
    loop {
        let (counted, count) = unpack(word);
        let goes_on = (window..=window + 1).contains(&counted);
        let (kept, sum) = if goes_on { (counted, count.saturating_add(by)) } else { (window, by) };
        let next = pack(kept, sum);
        match counter.compare_exchange_weak(word, next, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return sum,
            Err(current) => word = current,
        }
    }
}

/// Takes back from a counter, if it still counts in that window.
pub(super) fn take(counter: &AtomicU64, window: i64, by: u32) {
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
        let (counted, count) = unpack(word);
        (counted == window).then(|| pack(counted, count.saturating_sub(by)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute's start.
    const T0: i64 = 1_700_000_040_000;
    const HOUR_MS: i64 = 3_600_000;

    fn address(text: &str) -> Who {
        Who::Address(text.parse().unwrap())
    }

    fn limits() -> (Limits, Arc<Client>) {
        let limits = Limits::new(&Config { weight_per_minute: 10, ..Config::default() });
        let client = limits.client(address("203.0.113.9"), T0);
        (limits, client)
    }

    /// Spends the minute's weight and one more.
    fn provoke(limits: &Limits, client: &Client, now_ms: i64) {
        assert_eq!(limits.charge(client, 10, now_ms).refusal, None);
        let refusal = limits.charge(client, 1, now_ms).refusal;
        assert!(matches!(refusal, Some(Fault::TooManyRequests { .. })), "{refusal:?}");
    }

    #[test]
    fn windows_are_fixed_and_aligned_to_the_minute() {
        let (limits, client) = limits();
        assert_eq!(limits.charge(&client, 9, T0 + 59_000), Charge { used: 9, refusal: None });
        assert_eq!(limits.charge(&client, 1, T0 + 59_000), Charge { used: 10, refusal: None });
        let refused = limits.charge(&client, 1, T0 + 59_001);
        assert_eq!(
            refused,
            Charge { used: 11, refusal: Some(Fault::TooManyRequests { limit: 10, retry_after_s: 1 }) }
        );
        assert_eq!(limits.charge(&client, 1, T0 + 60_000), Charge { used: 1, refusal: None });
        // Retry-After counts to the end of the window, rounded up.
        limits.charge(&client, 10, T0 + 60_000);
        let refused = limits.charge(&client, 1, T0 + 60_001).refusal;
        assert_eq!(refused, Some(Fault::TooManyRequests { limit: 10, retry_after_s: 60 }));
    }

    #[test]
    fn funding_routes_have_windows_of_five_minutes() {
        let limits = Limits::new(&Config { funding_requests: 2, ..Config::default() });
        let client = limits.client(address("203.0.113.9"), T0);
        let start = T0 - T0.rem_euclid(FUNDING_MS);
        assert_eq!(limits.charge_funding(&client, start), Ok(()));
        assert_eq!(limits.charge_funding(&client, start + 299_999), Ok(()));
        for _ in 0..50 {
            let refused = limits.charge_funding(&client, start + 240_001);
            assert_eq!(refused, Err(Fault::TooManyFunding { limit: 2, retry_after_s: 60 }));
        }
        assert_eq!(limits.charge(&client, 1, start).refusal, None, "no ban comes of it");
        assert_eq!(limits.charge_funding(&client, start + 300_000), Ok(()));
    }

    #[test]
    fn twenty_more_requests_after_the_first_429_bring_a_ban() {
        let (limits, client) = limits();
        provoke(&limits, &client, T0);
        for _ in 0..19 {
            let refusal = limits.charge(&client, 1, T0 + 1).refusal;
            assert!(matches!(refusal, Some(Fault::TooManyRequests { .. })), "{refusal:?}");
        }
        let banned = Fault::Banned { until_ms: T0 + 1 + 120_000, retry_after_s: 120 };
        assert_eq!(limits.charge(&client, 1, T0 + 1).refusal, Some(banned));
        // Requests while banned cost nothing and do not extend it.
        let used = limits.charge(&client, 5, T0 + 2);
        assert_eq!(used, limits.charge(&client, 5, T0 + 2));
        for now_ms in [T0 + 60_000, T0 + 120_000] {
            let refusal = limits.charge(&client, 1, now_ms).refusal;
            assert!(matches!(refusal, Some(Fault::Banned { until_ms, .. }) if until_ms == T0 + 120_001));
        }
        assert_eq!(limits.charge(&client, 1, T0 + 120_001), Charge { used: 1, refusal: None });
    }

    #[test]
    fn only_an_address_is_banned_and_its_ban_is_nobody_elses() {
        let (limits, client) = limits();
        provoke(&limits, &client, T0);
        (0..20).for_each(|_| assert!(limits.charge(&client, 1, T0).refusal.is_some()));
        assert!(matches!(limits.charge(&client, 1, T0).refusal, Some(Fault::Banned { .. })));
        let Who::Address(ip) = address("203.0.113.9") else { panic!("an address") };
        for who in [Who::Unknown, Who::Probe(ip), Who::Operator(None), Who::Operator(Some([7; 32]))] {
            let client = limits.client(who, T0);
            provoke(&limits, &client, T0);
            for _ in 0..50 {
                let refusal = limits.charge(&client, 1, T0).refusal;
                assert!(matches!(refusal, Some(Fault::TooManyRequests { .. })), "{who:?} {refusal:?}");
            }
            assert_eq!(limits.charge(&client, 1, T0 + MINUTE_MS).refusal, None);
        }
    }

    #[test]
    fn twenty_more_must_come_in_the_same_window() {
        let (limits, client) = limits();
        provoke(&limits, &client, T0);
        for _ in 0..19 {
            limits.charge(&client, 1, T0 + 59_999);
        }
        assert_eq!(limits.charge(&client, 1, T0 + 60_000).refusal, None);
        for _ in 0..9 {
            assert_eq!(limits.charge(&client, 1, T0 + 60_000).refusal, None);
        }
        assert!(matches!(
            limits.charge(&client, 1, T0 + 60_000).refusal,
            Some(Fault::TooManyRequests { .. })
        ));
    }

    #[test]
    fn each_ban_within_72_hours_is_four_times_as_long_up_to_the_longest() {
        let (limits, client) = limits();
        let mut now_ms = T0;
        for expected_s in [120, 480, 1_920, 7_680, 30_720, 122_880] {
            provoke(&limits, &client, now_ms);
            let mut last = None;
            for _ in 0..20 {
                last = limits.charge(&client, 1, now_ms).refusal;
            }
            assert_eq!(
                last,
                Some(Fault::Banned {
                    until_ms: now_ms + expected_s * 1_000,
                    retry_after_s: expected_s as u64
                })
            );
            now_ms += expected_s * 1_000 + MINUTE_MS;
            now_ms -= now_ms.rem_euclid(MINUTE_MS);
        }
        provoke(&limits, &client, now_ms);
        for _ in 0..19 {
            limits.charge(&client, 1, now_ms);
        }
        // The seventh would last 491,520 s.
        assert!(matches!(
            limits.charge(&client, 1, now_ms).refusal,
            Some(Fault::Banned { retry_after_s: 259_200, .. })
        ));
        // Past 72 hours after the last of them began, the count starts again.
        now_ms += 73 * HOUR_MS;
        now_ms -= now_ms.rem_euclid(MINUTE_MS);
        provoke(&limits, &client, now_ms);
        for _ in 0..19 {
            limits.charge(&client, 1, now_ms);
        }
        assert!(matches!(
            limits.charge(&client, 1, now_ms).refusal,
            Some(Fault::Banned { retry_after_s: 120, .. })
        ));
    }

    #[test]
    fn a_ban_that_ends_in_its_minute_is_served() {
        let ban_first = Duration::from_secs(5);
        let limits = Limits::new(&Config { weight_per_minute: 10, ban_first, ..Config::default() });
        let client = limits.client(address("203.0.113.9"), T0);
        provoke(&limits, &client, T0);
        let mut now_ms = T0;
        // Each behind the one before, within a minute; it takes as many more requests each time.
        for length_s in [5, 20] {
            for n in 0..if length_s == 5 { 19 } else { 20 } {
                let refusal = limits.charge(&client, 1, now_ms).refusal;
                assert!(matches!(refusal, Some(Fault::TooManyRequests { .. })), "{length_s} {n} {refusal:?}");
            }
            let until_ms = now_ms + length_s * 1_000;
            let banned = Some(Fault::Banned { until_ms, retry_after_s: length_s as u64 });
            assert_eq!(limits.charge(&client, 1, now_ms).refusal, banned);
            assert!(matches!(limits.charge(&client, 1, until_ms - 1).refusal, Some(Fault::Banned { .. })));
            now_ms = until_ms;
        }
        assert!(matches!(limits.charge(&client, 1, now_ms).refusal, Some(Fault::TooManyRequests { .. })));
        assert_eq!(limits.charge(&client, 1, T0 + MINUTE_MS).refusal, None);
    }

    #[test]
    fn what_is_sent_in_vain_is_spread() {
        let (_, client) = limits();
        let begin = Instant::now();
        let rests: Vec<Duration> = (0..800).map(|_| client.refuse_frame(100)).collect();
        // A loop of a thread that was put to sleep takes its own time off.
        let late = begin.elapsed();
        assert!(rests[..500].iter().all(Duration::is_zero), "{rests:?}");
        assert!(rests[799] <= Duration::from_millis(598) && rests[799] + late >= Duration::from_millis(598));
        // Long frames take as much as several.
        let before = client.refuse_frame(60_000);
        let after = client.refuse_frame(0);
        assert!(after <= before + REFUSAL * 15 && after + begin.elapsed() >= before + REFUSAL * 15);
    }

    #[test]
    fn weight_is_given_back_only_in_its_own_window() {
        let (limits, client) = limits();
        limits.charge(&client, 7, T0);
        limits.give_back(&client, 5, T0 + 1);
        assert_eq!(limits.charge(&client, 1, T0).used, 3);
        limits.charge(&client, 2, T0 + MINUTE_MS);
        limits.give_back(&client, 2, T0);
        assert_eq!(limits.charge(&client, 1, T0 + MINUTE_MS).used, 3);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_open_a_fresh_window() {
        let (limits, client) = limits();
        limits.charge(&client, 10, T0 + MINUTE_MS);
        assert!(limits.charge(&client, 1, T0).refusal.is_some());
    }

    #[test]
    fn what_a_clock_far_ahead_has_counted_is_forgotten() {
        let (limits, client) = limits();
        limits.charge(&client, 10, T0 + 60 * MINUTE_MS);
        assert_eq!(limits.charge(&client, 1, T0), Charge { used: 1, refusal: None });
        assert_eq!(limits.charge(&client, 1, T0).used, 2);
    }

    #[test]
    fn addresses_are_told_apart_and_ipv6_counts_by_its_64() {
        let (limits, client) = limits();
        let same = |a: &str, b: &str| {
            let of = |text: &str| limits.client(address(text), T0);
            Arc::ptr_eq(&of(a), &of(b))
        };
        assert!(same("203.0.113.9", "::ffff:203.0.113.9"));
        assert!(!same("203.0.113.9", "203.0.113.10"));
        assert!(same("2001:db8::1", "2001:db8::ffff:0:0:2"));
        assert!(!same("2001:db8::1", "2001:db8:0:1::1"));
        limits.charge(&client, 10, T0);
        let other = limits.client(address("203.0.113.10"), T0);
        assert_eq!(limits.charge(&other, 1, T0), Charge { used: 1, refusal: None });
    }

    #[test]
    fn the_sweep_keeps_what_is_held_counted_or_banned() {
        let (limits, held) = limits();
        let ban = limits.client(address("198.51.100.1"), T0);
        provoke(&limits, &ban, T0);
        (0..20).for_each(|_| assert!(limits.charge(&ban, 1, T0).refusal.is_some()));
        drop(ban);
        for n in 0..SWEEP_ABOVE as u32 {
            let passing = limits.client(Who::Address(IpAddr::from(n.to_be_bytes())), T0);
            limits.charge(&passing, 1, T0);
        }
        limits.client(address("192.0.2.1"), T0 + MINUTE_MS);
        let clients = limits.clients.read();
        assert_eq!(clients.len(), 3, "the held, the banned and the new one");
        assert!(Arc::ptr_eq(&clients[&address("203.0.113.9")], &held));
    }

    #[test]
    fn connections_are_counted_up_to_the_cap() {
        let (_, client) = limits();
        assert!(client.connect(2) && client.connect(2) && !client.connect(2));
        client.disconnect();
        assert!(client.connect(2));
    }

    #[test]
    fn threads_that_race_lose_no_weight_and_bring_one_ban() {
        let (limits, client) = limits();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| assert!(limits.charge(&client, 1, T0).used > 0)));
            }
        });
        assert_eq!(client.bans.lock().len(), 1);
        let unlimited = Limits::new(&Config { weight_per_minute: u32::MAX, ..Config::default() });
        let client = unlimited.client(address("192.0.2.1"), T0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1_000).for_each(|_| assert!(unlimited.charge(&client, 3, T0).used > 0)));
            }
        });
        assert_eq!(client.used(T0 / MINUTE_MS), 12_000);
    }
}
