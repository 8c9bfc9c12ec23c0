//! A new order: the checks of `perpetual.md` 7.10 in their order, then what acceptance does.

use super::arithmetic::{
    E6, E8, ceil_div, ceil_to, floor_div, floor_to, rate_up, value, value_down, value_up,
};
use super::margin::Bucket;
use super::matching::{Ending, Role};
use super::orders::reason;
use super::{FUND, Model, Order, Outcome, Stage};
use ringside_core::command::{
    ClientOrder, MarginMode, PerpetualOrderType, PerpetualState, PerpetualTimeInForce, PlacePerpetual,
    PriceMatch, SelfTradePrevention, Side, WorkingType, order_flag,
};
use ringside_core::event::Execution;
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::reject::Reject;

/// Every flag that a placement may carry.
const PLACE_FLAGS: u16 = order_flag::REDUCE_ONLY
    | order_flag::CLOSE_POSITION
    | order_flag::PRICE_PROTECT
    | order_flag::GTE
    | order_flag::CONDITIONAL_SERVICE
    | order_flag::TEST;
/// Latest good-till date, milliseconds.
const LATEST_MS: i64 = 253_402_300_799_000;

/// Attached prices of a placement.
#[derive(Clone, Copy)]
struct Attached {
    take_profit: i128,
    stop_loss: i128,
    working: WorkingType,
}

pub fn is_client_order(name: &ClientOrder) -> bool {
    let text: Vec<u8> = name.iter().copied().take_while(|&byte| byte != 0).collect();
    let zeros = name[text.len()..].iter().all(|&byte| byte == 0);
    let fits = text.iter().all(|byte| byte.is_ascii_alphanumeric() || b".:/_-".contains(byte));
    zeros && fits && !text.is_empty()
}

/// The order that a placement asks for; Malformed where it contradicts itself.
fn parse(place: &PlacePerpetual) -> Result<(Order, Attached), Reject> {
    use PerpetualOrderType::*;
    let malformed = Reject::Malformed;
    let side = Side::from_code(place.side).ok_or(malformed)?;
    let kind = PerpetualOrderType::from_code(place.order_type).ok_or(malformed)?;
    let time_in_force = PerpetualTimeInForce::from_code(place.time_in_force).ok_or(malformed)?;
    let self_trade = SelfTradePrevention::from_code(place.self_trade).ok_or(malformed)?;
    let working = WorkingType::from_code(place.working_type).ok_or(malformed)?;
    let price_match = PriceMatch::from_code(place.price_match).ok_or(malformed)?;
    let attached_working = WorkingType::from_code(place.attached_working_type).ok_or(malformed)?;
    let has = |flag| place.flags & flag != 0;
    let limited = matches!(kind, Limit | Stop | TakeProfit);
    let conditional = Order::is_conditional(kind);
    let trailing = kind == TrailingStopMarket;
    let closes = has(order_flag::CLOSE_POSITION);
    let is_date = time_in_force == PerpetualTimeInForce::GoodTillDate;
    let bad = kind == Liquidation
        || place.flags & !PLACE_FLAGS != 0
        || self_trade == SelfTradePrevention::RejectTaker
        || (price_match != PriceMatch::None && (!limited || place.price != 0))
        || (!limited && place.price != 0)
        || (closes
            && (place.quantity != 0
                || has(order_flag::REDUCE_ONLY)
                || !matches!(kind, StopMarket | TakeProfitMarket)))
        || (has(order_flag::GTE) && !closes)
        || (!conditional && place.stop_price != 0)
        || (!trailing && place.callback_rate != 0)
        || (!is_date && place.good_till_ms != 0)
        || (!limited && time_in_force != PerpetualTimeInForce::GoodTillCancel)
        || (!matches!(kind, Limit | Market) && (place.take_profit != 0 || place.stop_loss != 0));
    if bad {
        return Err(malformed);
    }
    let order = Order {
        id: 0,
        account: place.account,
        market: place.market,
        side,
        kind,
        original_kind: kind,
        time_in_force,
        self_trade,
        working,
        price_match,
        flags: place.flags & !order_flag::TEST,
        callback: place.callback_rate.into(),
        price: place.price.into(),
        quantity: place.quantity.into(),
        filled: 0,
        open: 0,
        value: 0,
        stop_price: place.stop_price.into(),
        good_till: place.good_till_ms,
        parent: 0,
        client: place.client_order,
        stage: Stage::Arriving,
        arrival: 0,
        reserved_for: 0,
        reference: 0,
        open_loss: 0,
        fee_reserve: 0,
        modifications: 0,
        active: false,
        extreme: 0,
        deferred: false,
        shortened: false,
        turned: false,
        watches_from: 0,
    };
    let attached = Attached {
        take_profit: place.take_profit.into(),
        stop_loss: place.stop_loss.into(),
        working: attached_working,
    };
    Ok((order, attached))
}

impl Attached {
    /// Price, type and end of the name of each order to attach.
    fn orders(self) -> Vec<(i128, PerpetualOrderType, &'static [u8; 3])> {
        let mut orders = vec![
            (self.take_profit, PerpetualOrderType::TakeProfitMarket, b"_tp"),
            (self.stop_loss, PerpetualOrderType::StopMarket, b"_sl"),
        ];
        orders.retain(|(price, ..)| *price != 0);
        orders
    }
}

/// The name of an order attached to the one of a name.
fn attached_name(parent: &ClientOrder, suffix: &[u8; 3]) -> ClientOrder {
    let text: Vec<u8> = parent.iter().copied().filter(|&byte| byte != 0).take(33).collect();
    let mut name = [0; 36];
    for (place, byte) in text.into_iter().chain(*suffix).enumerate() {
        name[place] = byte;
    }
    name
}

impl Model {
    pub(super) fn place(&mut self, place: &PlacePerpetual) -> Result<Outcome, Reject> {
        let (mut order, attached) = parse(place)?;
        self.known_trader(order.account)?;
        self.known_market(order.market)?;
        let before = self.position(order.account, order.market);
        let judged = self.judge(&mut order, place, attached);
        if judged.is_err() || place.flags & order_flag::TEST != 0 {
            // Both happen, the leverage and the order, or neither.
            self.restore_leverage(order.account, order.market, before.leverage);
            judged?;
            return Ok(Outcome::default());
        }
        if self.position(order.account, order.market) != before {
            self.tell_position(order.account, order.market);
        }
        let id = self.next_order();
        order.id = id;
        order.open = order.quantity;
        let market = order.market;
        let conditional = Order::is_conditional(order.kind);
        if conditional {
            order.stage = Stage::Waiting;
            if order.kind == PerpetualOrderType::TrailingStopMarket {
                self.start_trailing(&mut order);
            }
        }
        self.orders.insert(id, order);
        self.tell_placed(id, 0);
        self.tell_order(id, Execution::New);
        self.attach(id, attached);
        if !conditional {
            self.execute(id);
        }
        Ok(Outcome { order: id, market: Some(market), ..Outcome::default() })
    }

    fn restore_leverage(&mut self, account: AccountId, market: MarketId, leverage: u32) {
        let mut position = self.position(account, market);
        if position.leverage != leverage {
            position.leverage = leverage;
            self.positions.set(account, market, Some(position));
        }
    }

    pub(super) fn known_trader(&self, account: AccountId) -> Result<(), Reject> {
        if account != FUND && (account as usize) < self.accounts.len() {
            Ok(())
        } else {
            Err(Reject::AccountNotFound)
        }
    }

    pub(super) fn known_market(&self, market: MarketId) -> Result<(), Reject> {
        if self.markets.iter().any(|known| known.id == market) { Ok(()) } else { Err(Reject::MarketNotFound) }
    }

    /// Every check from the state of the market on. The order leaves with resolved price, floored and clamped quantity
    /// and its reservation; the leverage that it asks for is set.
    fn judge(&mut self, order: &mut Order, place: &PlacePerpetual, attached: Attached) -> Result<(), Reject> {
        use PerpetualOrderType::*;
        let conditional = Order::is_conditional(order.kind);
        let market_type = Order::is_market_type(order.kind);
        let closes = order.has(order_flag::CLOSE_POSITION);
        let reduces = order.has(order_flag::REDUCE_ONLY);
        // The state.
        match self.state(order.market) {
            PerpetualState::Closed => return Err(Reject::MarketDelisted),
            PerpetualState::Halted | PerpetualState::CancelOnly => return Err(Reject::StateRefuses),
            PerpetualState::PostOnly if order.time_in_force != PerpetualTimeInForce::PostOnly => {
                return Err(Reject::StateRefuses);
            }
            PerpetualState::ReduceOnly if !reduces && !closes => return Err(Reject::StateRefuses),
            _ => {}
        }
        // What the last move of a price brought about is done first.
        let may_trade = !conditional && order.time_in_force != PerpetualTimeInForce::PostOnly;
        if may_trade && self.is_busy(order.market) {
            return Err(Reject::EngineBusy);
        }
        // The names, of attached orders too.
        if !is_client_order(&order.client) {
            return Err(Reject::InvalidClientOrder);
        }
        let open = self.orders.values().filter(|open| open.account == order.account);
        let mut names: Vec<ClientOrder> = open.map(|open| open.client).collect();
        let of_attached =
            attached.orders().into_iter().map(|(_, _, suffix)| attached_name(&order.client, suffix));
        for name in std::iter::once(order.client).chain(of_attached) {
            if names.contains(&name) {
                return Err(Reject::DuplicateClientOrder);
            }
            names.push(name);
        }
        // Prices.
        let mut unresolved = false;
        if order.price_match != PriceMatch::None && !conditional {
            match self.matched_price(order.market, order.side, order.price_match) {
                Some(price) => order.price = price,
                None => unresolved = true,
            }
        }
        // Nothing to judge a price by: it is resolved when the order fires, or there is no such level.
        let no_price = unresolved || (conditional && order.price_match != PriceMatch::None);
        let limited = !market_type && !no_price;
        if limited {
            self.judge_price(order.market, order.price, Reject::InvalidPrice, Reject::PriceAboveMaximum)?;
        }
        if conditional && order.kind != TrailingStopMarket {
            self.judge_stop(order.market, order.stop_price, Reject::InvalidStopPrice)?;
        }
        if order.kind == TrailingStopMarket && order.stop_price != 0 {
            self.judge_stop(order.market, order.stop_price, Reject::InvalidActivationPrice)?;
        }
        for price in [attached.take_profit, attached.stop_loss] {
            if price != 0 {
                self.judge_stop(order.market, price, Reject::InvalidStopPrice)?;
            }
        }
        if order.kind == TrailingStopMarket
            && (order.callback < 100_000 || order.callback > 10_000_000 || order.callback % 100_000 != 0)
        {
            return Err(Reject::InvalidCallback);
        }
        // Quantity.
        if !closes {
            if !conditional && reduces {
                // Too little is too little; too much is judged of what the clamp leaves.
                self.floor_quantity(order)?;
                let most = self.reducible(order.account, order.market, order.side);
                if most == 0 {
                    return Err(Reject::ReduceOnlyRefused);
                }
                order.quantity = order.quantity.min(most);
            }
            self.judge_quantity(order)?;
        }
        // Notional and band.
        if !closes && !no_price {
            self.judge_notional(order)?;
        }
        if limited {
            self.judge_band(order.market, order.side, order.price)?;
        }
        if order.kind == Market
            && let Some(best) = self.best(order.market, order.side.opposite())
            && self.judge_band(order.market, order.side, best).is_err()
        {
            return Err(Reject::CounterpartyOutsideBand);
        }
        // Date.
        if order.time_in_force == PerpetualTimeInForce::GoodTillDate {
            let now = self.now_ms();
            let date = i128::from(order.good_till);
            let date = date - date.rem_euclid(1000);
            if date <= i128::from(now) + 600_000 || date >= i128::from(LATEST_MS) {
                return Err(Reject::InvalidGoodTill);
            }
            order.good_till = date as i64;
        }
        // Counts.
        self.judge_counts(order, attached)?;
        // The account.
        if !self.account(order.account).trading_enabled {
            return Err(Reject::TradingDisabled);
        }
        if self.liquidating.iter().any(|(account, _)| *account == order.account) {
            return Err(Reject::InLiquidation);
        }
        if place.leverage != 0 {
            self.change_leverage(order.account, order.market, place.leverage)?;
        }
        // Margin.
        if !conditional && !unresolved {
            self.judge_margin(order)?;
        }
        if place.flags & order_flag::TEST != 0 {
            return Ok(());
        }
        if conditional && self.fires_at_once(order) {
            return Err(Reject::ImmediateTrigger);
        }
        self.judge_attached(order, attached, unresolved)?;
        if unresolved {
            return Err(Reject::NoPriceMatch);
        }
        self.judge_entry(order)
    }

    pub(super) fn judge_price(
        &self,
        market: MarketId,
        price: i128,
        invalid: Reject,
        above: Reject,
    ) -> Result<(), Reject> {
        let parameters = &self.market(market).parameters;
        if price <= 0 {
            Err(invalid)
        } else if price % parameters[&1] != 0 {
            Err(Reject::InvalidTick)
        } else if price < parameters[&3] {
            Err(Reject::PriceBelowMinimum)
        } else if price > parameters[&4] {
            Err(above)
        } else {
            Ok(())
        }
    }

    fn judge_stop(&self, market: MarketId, price: i128, invalid: Reject) -> Result<(), Reject> {
        self.judge_price(market, price, invalid, Reject::StopPriceAboveMaximum)
    }

    /// Floors to lots, then judges the range.
    pub(super) fn judge_quantity(&self, order: &mut Order) -> Result<(), Reject> {
        self.floor_quantity(order)?;
        let most = if Order::is_market_type(order.kind) { 7 } else { 6 };
        if order.quantity > self.market(order.market).parameters[&most] {
            return Err(Reject::QuantityOutOfRange);
        }
        Ok(())
    }

    /// Floors to lots, then judges the lower end of the range.
    pub(super) fn floor_quantity(&self, order: &mut Order) -> Result<(), Reject> {
        let parameters = &self.market(order.market).parameters;
        if order.quantity <= 0 {
            return Err(Reject::InvalidQuantity);
        }
        order.quantity = floor_to(order.quantity, parameters[&2]);
        if order.quantity == 0 || order.quantity < parameters[&5] {
            return Err(Reject::QuantityOutOfRange);
        }
        Ok(())
    }

    pub(super) fn judge_notional(&self, order: &Order) -> Result<(), Reject> {
        use PerpetualOrderType::*;
        let market = self.market(order.market);
        let price = match order.kind {
            Limit | Stop | TakeProfit => order.price,
            StopMarket | TakeProfitMarket => order.stop_price,
            TrailingStopMarket | Market | Liquidation => market.mark,
        };
        let notional = value_up(order.quantity, price);
        if !order.has(order_flag::REDUCE_ONLY) && notional < market.parameters[&8] {
            return Err(Reject::BelowMinNotional);
        }
        let own = self.own_limit(order.account, order.market, |limits| limits.order);
        if notional > own.unwrap_or(market.parameters[&9]) {
            return Err(Reject::AboveMaxNotional);
        }
        Ok(())
    }

    pub(super) fn judge_band(&self, market: MarketId, side: Side, price: i128) -> Result<(), Reject> {
        let at = self.market(market);
        let tick = at.parameters[&1];
        let most = floor_to(floor_div(at.mark * at.parameters[&12], E8), tick);
        let least = ceil_to(ceil_div(at.mark * at.parameters[&13], E8), tick);
        match side {
            Side::Buy if price > most => Err(Reject::PriceAboveBand),
            Side::Sell if price < least => Err(Reject::PriceBelowBand),
            _ => Ok(()),
        }
    }

    fn judge_counts(&self, order: &Order, attached: Attached) -> Result<(), Reject> {
        use PerpetualOrderType::*;
        let parameters = &self.market(order.market).parameters;
        let open: Vec<&Order> = self
            .orders
            .values()
            .filter(|open| open.account == order.account && open.market == order.market)
            .collect();
        // One after the other: the order, then those attached to it.
        let kinds: Vec<PerpetualOrderType> = std::iter::once(order.kind)
            .chain(attached.orders().into_iter().map(|(_, kind, _)| kind))
            .collect();
        let own = self.own_limit(order.account, order.market, |limits| limits.open_orders);
        let most = own.unwrap_or(parameters[&10]);
        if (0..kinds.len()).any(|before| (open.len() + before) as i128 >= most) {
            return Err(Reject::TooManyOpenOrders);
        }
        let waiting = open.iter().filter(|open| open.stage == Stage::Waiting).count();
        let conditional = kinds.into_iter().filter(|&kind| Order::is_conditional(kind)).count();
        if (0..conditional).any(|before| (waiting + before) as i128 >= parameters[&11]) {
            return Err(Reject::TooManyConditional);
        }
        // Who has no position anywhere arms one for each ten USDT of equity.
        let mut markets = self.markets.iter().map(|market| self.position(order.account, market.id));
        if Order::is_conditional(order.kind) && markets.all(|position| position.quantity == 0) {
            let of_account = |other: &&Order| other.account == order.account && other.stage == Stage::Waiting;
            let armed = self.orders.values().filter(of_account).count() as i128;
            if armed >= floor_div(self.account(order.account).wallet, 10 * E6) {
                return Err(Reject::TooManyConditional);
            }
        }
        if order.has(order_flag::CLOSE_POSITION) {
            let family = |kind| matches!(kind, Stop | StopMarket);
            let exists = open.iter().any(|open| {
                open.has(order_flag::CLOSE_POSITION)
                    && open.side == order.side
                    && family(open.original_kind) == family(order.kind)
            });
            if exists {
                return Err(Reject::ClosePositionExists);
            }
        }
        Ok(())
    }

    /// What an order would add to its bucket. Fills in the order's reservation.
    pub(super) fn reserve(&self, order: &mut Order, open: i128) -> Bucket {
        use PerpetualTimeInForce::*;
        let market = self.market(order.market);
        let rests = order.kind == PerpetualOrderType::Limit
            && matches!(order.time_in_force, GoodTillCancel | PostOnly | GoodTillDate);
        let (quantity, reference) = if rests {
            let price = match order.side {
                Side::Buy => order.price,
                Side::Sell => {
                    let best = self.best(order.market, Side::Buy).unwrap_or(0);
                    order.price.max(best).max(ceil_to(market.mark, market.parameters[&1]))
                }
            };
            (open, value(price, open))
        } else {
            let limit = self.entry_limit(order);
            let (fills, _) = self.walk(order, Some(limit), open);
            let quantity = fills.iter().map(|fill| fill.quantity).sum();
            (quantity, fills.iter().map(|fill| value(fill.price, fill.quantity)).sum())
        };
        let loss = match order.side {
            Side::Buy => reference - value_down(quantity, market.mark),
            Side::Sell => value_up(quantity, market.mark) - reference,
        };
        order.reserved_for = quantity;
        order.reference = reference;
        order.open_loss = loss.max(0);
        order.fee_reserve = rate_up(reference, self.taker_rate(order.account));
        Bucket { quantity, reference, open_loss: order.open_loss, fee_reserve: order.fee_reserve }
    }

    /// The limit at which an order enters the book.
    pub(super) fn entry_limit(&self, order: &Order) -> i128 {
        if order.kind == PerpetualOrderType::Market {
            self.market_limit(order.market, order.side)
        } else {
            order.price
        }
    }

    /// Bracket, then margin, of an order that enters the book with `order.quantity - order.filled` open.
    pub(super) fn judge_margin(&self, order: &mut Order) -> Result<(), Reject> {
        let old = self.buckets(order.account, order.market);
        self.judge_margin_against(order, old)
    }

    /// The same, not to raise the requirement above that of `old` buckets.
    pub(super) fn judge_margin_against(&self, order: &mut Order, old: [Bucket; 2]) -> Result<(), Reject> {
        let added = self.reserve(order, order.quantity - order.filled);
        if order.has(order_flag::REDUCE_ONLY) || order.has(order_flag::CLOSE_POSITION) {
            return Ok(());
        }
        let position = self.position(order.account, order.market);
        let now = self.buckets(order.account, order.market);
        let mut new = now;
        new[order.side as usize].add(added);
        self.judge_bracket((order.account, order.market), &position, &new, order.side)?;
        let (before, after) = (
            self.requirement(order.market, &position, &old),
            self.requirement(order.market, &position, &new),
        );
        let without = self.requirement(order.market, &position, &now);
        let total = self.total_requirement(order.account) - without + after;
        if after > before && self.cross_equity(order.account) < total {
            return Err(Reject::InsufficientMargin);
        }
        Ok(())
    }

    fn judge_bracket(
        &self,
        (account, market): (AccountId, MarketId),
        position: &super::Position,
        buckets: &[Bucket; 2],
        side: Side,
    ) -> Result<(), Reject> {
        let notional = self.signed_notional(market, position.quantity);
        let bucket = buckets[side as usize];
        let exposure = (notional + super::ledger::sign(side) * bucket.reference).abs();
        let closing = (-super::ledger::sign(side) * position.quantity).max(0);
        let own = self.own_limit(account, market, |limits| limits.position);
        let cap =
            self.market(market).exposure_cap(self.leverage(market, position)).min(own.unwrap_or(i128::MAX));
        // With the largest order more, what is open would still fit one account.
        let full = self.open_interest(market) > 80_000_000_000 * E8;
        if bucket.quantity > closing && (exposure > cap || full) {
            return Err(Reject::ExceedsBracket);
        }
        Ok(())
    }

    /// A leverage change (`risk.md` 8).
    pub(super) fn change_leverage(
        &mut self,
        account: AccountId,
        market: MarketId,
        leverage: u32,
    ) -> Result<(), Reject> {
        let at = self.market(market);
        if leverage < 1 || leverage > at.brackets[0].leverage {
            return Err(Reject::InvalidLeverage);
        }
        let old = self.position(account, market);
        if i128::from(leverage) == self.leverage(market, &old) {
            return Ok(());
        }
        let isolated = old.mode == MarginMode::Isolated;
        if isolated && old.quantity != 0 && i128::from(leverage) < self.leverage(market, &old) {
            return Err(Reject::LeverageReduction);
        }
        let new = super::Position { leverage, ..old };
        let buckets = self.buckets(account, market);
        let notional = self.signed_notional(market, old.quantity);
        let cap = at.exposure_cap(leverage.into());
        if (notional + buckets[0].reference).abs() > cap || (notional - buckets[1].reference).abs() > cap {
            return Err(Reject::ExceedsBracket);
        }
        let before = self.requirement(market, &old, &buckets);
        let after = self.requirement(market, &new, &buckets);
        let total = self.total_requirement(account) - before + after;
        if !isolated && self.cross_equity(account) < total {
            return Err(Reject::InsufficientMarginForLeverage);
        }
        self.positions.set(account, market, Some(new));
        Ok(())
    }

    /// GTX that would cross, FOK that is not fillable now.
    pub(super) fn judge_entry(&mut self, order: &Order) -> Result<(), Reject> {
        if Order::is_conditional(order.kind) {
            return Ok(());
        }
        match order.time_in_force {
            PerpetualTimeInForce::PostOnly => {
                let crosses = match (self.best(order.market, order.side.opposite()), order.side) {
                    (None, _) => false,
                    (Some(best), Side::Buy) => order.price >= best,
                    (Some(best), Side::Sell) => order.price <= best,
                };
                if crosses { Err(Reject::PostOnlyWouldCross) } else { Ok(()) }
            }
            PerpetualTimeInForce::FillOrKill => {
                let (fills, _) = self.walk(order, Some(order.price), order.quantity);
                let filled: i128 = fills.iter().map(|fill| fill.quantity).sum();
                if filled < order.quantity || !self.fills_whole(order) {
                    return Err(Reject::FillOrKill);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether all of an order would trade: a copy of everything tries. Whom it met has paid what is fixed.
    fn fills_whole(&mut self, order: &Order) -> bool {
        let mut copy = self.clone();
        copy.met.clear();
        let open = order.quantity;
        copy.orders.insert(order.id, Order { open, stage: Stage::Arriving, ..order.clone() });
        let is_filled = copy.run_match(order.id, Some(order.price), Role::Owner) == Ending::Filled;
        copy.met.into_iter().for_each(|account| self.settle_first(account));
        is_filled
    }

    /// The price of a level.
    pub(super) fn matched_price(&self, market: MarketId, side: Side, matched: PriceMatch) -> Option<i128> {
        let (from, place) = match matched {
            PriceMatch::None => return None,
            PriceMatch::Opponent => (side.opposite(), 1),
            PriceMatch::Opponent5 => (side.opposite(), 5),
            PriceMatch::Opponent10 => (side.opposite(), 10),
            PriceMatch::Opponent20 => (side.opposite(), 20),
            PriceMatch::Queue => (side, 1),
            PriceMatch::Queue5 => (side, 5),
            PriceMatch::Queue10 => (side, 10),
            PriceMatch::Queue20 => (side, 20),
        };
        self.levels(market, from).get(place - 1).map(|level| level.0)
    }

    /// Attached prices are on the right sides of the parent's.
    fn judge_attached(&self, order: &Order, attached: Attached, unresolved: bool) -> Result<(), Reject> {
        let price = if order.kind == PerpetualOrderType::Limit && !unresolved {
            order.price
        } else {
            self.market(order.market).mark
        };
        let above = |other: i128| other > price;
        let below = |other: i128| other < price;
        let (take_profit, stop_loss) = (attached.take_profit, attached.stop_loss);
        let right = match order.side {
            Side::Buy => (take_profit == 0 || above(take_profit)) && (stop_loss == 0 || below(stop_loss)),
            Side::Sell => (take_profit == 0 || below(take_profit)) && (stop_loss == 0 || above(stop_loss)),
        };
        if right { Ok(()) } else { Err(Reject::ImmediateTrigger) }
    }

    /// Makes the attached orders.
    fn attach(&mut self, parent: u64, attached: Attached) {
        let of = self.orders[&parent].clone();
        for (price, kind, suffix) in attached.orders() {
            let id = self.next_order();
            let client = attached_name(&of.client, suffix);
            let order = Order {
                id,
                side: of.side.opposite(),
                kind,
                original_kind: kind,
                time_in_force: PerpetualTimeInForce::GoodTillCancel,
                self_trade: SelfTradePrevention::None,
                working: attached.working,
                price_match: PriceMatch::None,
                flags: order_flag::REDUCE_ONLY,
                callback: 0,
                price: 0,
                quantity: 0,
                open: 0,
                stop_price: price,
                good_till: 0,
                parent,
                client,
                stage: Stage::Waiting,
                ..of.clone()
            };
            self.orders.insert(id, order);
            self.tell_placed(id, 0);
            self.tell_order(id, Execution::New);
        }
    }

    /// The match of an accepted order, and the trim after it.
    pub(super) fn execute(&mut self, id: u64) {
        let order = self.orders[&id].clone();
        let limit = self.entry_limit(&order);
        let ending = if self.may_match(order.market) {
            self.run_match(id, Some(limit), Role::Owner)
        } else {
            Ending::Dry
        };
        self.finish_remainders(order.market);
        self.after_match(id, ending);
        self.untrimmed.insert(order.market);
        for market in self.untrimmed.clone() {
            self.trim(market);
        }
    }

    /// As [`reason::TRIGGER_REFUSED`] where a fired order may not enter.
    pub(super) fn refuse_fired(&mut self, id: u64, reject: Reject) {
        let order = self.orders[&id].clone();
        if order.has(order_flag::CLOSE_POSITION) && reject == Reject::ReduceOnlyRefused {
            return self.expire_order(id, reason::NO_POSITION);
        }
        self.output.fact(ringside_core::event::TriggerRefused {
            order: id,
            account: order.account,
            market: order.market,
            reject: reject.code(),
            reserved: [0; 6],
        });
        self.expire_order(id, reason::TRIGGER_REFUSED);
    }
}
