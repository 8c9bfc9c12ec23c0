//! What an order would do before it is sent (`account.md` 5), judged from the views alone: nothing is stored, nothing is journaled.
//! The arithmetic is the engine's own, and the texts of refusals are those of a placement.

use super::params::{member, number, side};
use super::refusal::{self, Refused, invalid};
use crate::fapi::margin::{self, AccountSummary, Held};
use crate::fapi::params::Decimal;
use crate::fapi::words::OrderSide;
use crate::fapi::{fees, place};
use ringside_core::command::{
    PerpetualOrderType, PerpetualParameter as Setting, PerpetualState, PlacePerpetual, Side,
};
use ringside_core::ids::AccountId;
use ringside_core::money::{Money, Price, Quantity, Rate};
use ringside_core::reject::Reject;
use ringside_core::risk::perpetual::impact::average_price;
use ringside_core::risk::perpetual::order_margin::{
    Exposure, Reservation, margin as margin_of, mark_on_tick, reference_price,
};
use ringside_core::risk::perpetual::preview::{SLIPPAGE_ONE, slippage};
use ringside_core::risk::perpetual::units::{PRODUCTS_PER_MICRO, ceil_value, floor_value};
use ringside_core::risk::perpetual::{band, fee, reduce_only};
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::own::{OrderPreview, PreviewType};
use ringside_wire::name::Market;
use ringside_wire::number::{Fixed, Money as MoneyShown, SignedMoney, SignedUnits, Units};
use serde_json::value::RawValue;

/// Steps of 10^-18 in one of 10^-6.
const SLIPPAGE_STEP: i128 = 1_000_000_000_000;
/// Largest slippage unless another is sent: 0.01.
const SLIPPAGE_DEFAULT: i128 = 10_000 * SLIPPAGE_STEP;

body! {
    /// Body of POST /orders/preview.
    pub Body {
        symbol,
        side,
        #[serde(rename = "type")]
        order_type,
        quantity,
        price,
        leverage,
        reduce_only,
        max_slippage,
    }
}

/// An order that is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Name of the market as sent.
    pub symbol: String,
    side: Side,
    is_market: bool,
    quantity: Quantity,
    /// Of a limit order, else 0.
    price: Price,
    leverage: Option<u32>,
    reduces: bool,
    /// Steps of 10^-18.
    max_slippage: i128,
}

impl Body<'_> {
    /// The order; a refusal names the first member that is missing or malformed.
    pub fn read(&self) -> Result<Asked, Refused> {
        let word = |name: &str, raw: Option<&RawValue>| {
            let word = member(raw).and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
            word.ok_or_else(|| invalid(name))
        };
        let symbol = word("symbol", self.symbol)?;
        let sent = word("side", self.side)?;
        let side = side(Some(&sent))?.ok_or_else(|| invalid("side"))?;
        let is_market = match word("type", self.order_type)?.to_ascii_uppercase().as_str() {
            "LIMIT" => false,
            "MARKET" => true,
            _ => return Err(invalid("type")),
        };
        let quantity = member(self.quantity).and_then(number).ok_or_else(|| invalid("quantity"))?.quantity();
        let price = match member(self.price) {
            Some(raw) if !is_market => {
                let price = number(raw).ok_or_else(|| invalid("price"))?.price();
                price.map_err(|refused| refusal::FILTER_FAILURE.saying(refused.msg))?
            }
            None if !is_market => return Err(invalid("price")),
            _ => 0,
        };
        let leverage = match member(self.leverage) {
            None => None,
            Some(raw) => {
                let digits = raw.get().trim_matches('"');
                Some(
                    digits
                        .parse()
                        .ok()
                        .filter(|leverage| *leverage > 0)
                        .ok_or_else(|| invalid("leverage"))?,
                )
            }
        };
        let reduces = match member(self.reduce_only) {
            None => false,
            Some(raw) => serde_json::from_str(raw.get()).map_err(|_| invalid("reduce_only"))?,
        };
        let max_slippage = match member(self.max_slippage) {
            None => SLIPPAGE_DEFAULT,
            Some(raw) => {
                let most = i128::from(SLIPPAGE_ONE) * SLIPPAGE_STEP;
                let Decimal(sent) = number(raw).ok_or_else(|| invalid("max_slippage"))?;
                if sent > most {
                    return Err(invalid("max_slippage"));
                }
                sent
            }
        };
        Ok(Asked { symbol, side, is_market, quantity, price, leverage, reduces, max_slippage })
    }
}

/// What the book would give an order now.
struct Walked {
    best: Option<Price>,
    worst: Option<Price>,
    quantity: Quantity,
    /// Price times quantity, 10^-16.
    products: i128,
}

impl Walked {
    fn value(&self) -> Money {
        i64::try_from(self.products / PRODUCTS_PER_MICRO).unwrap_or(i64::MAX)
    }

    fn average(&self, side: Side) -> Option<Price> {
        average_price(opposite(side), self.products, self.quantity.into())
    }
}

const fn opposite(side: Side) -> Side {
    match side {
        Side::Buy => Side::Sell,
        Side::Sell => Side::Buy,
    }
}

/// The answer, or why a placement would be refused.
pub fn preview(
    views: &Perpetuals,
    market: &PerpetualMarket,
    account: AccountId,
    asked: &Asked,
    now_ms: i64,
) -> Result<OrderPreview, Refused> {
    let figures = margin::figures(views, account);
    let held = figures.held.iter().find(|held| held.market.market == market.market);
    let held = held.ok_or(refusal::INTERNAL)?;
    if asked.leverage.is_some_and(|leverage| leverage > market.leverage_max()) {
        return Err(invalid("leverage"));
    }
    let most = place::notional_max(views, account, market);
    let explained = |reject| explain(reject, (market, most), asked);
    let quantity = filter(views, (market, most), held, asked).map_err(explained)?;
    let walked = walk(views, market, asked, quantity);
    if asked.is_market {
        if walked.quantity < quantity {
            return Err(refusal::INSUFFICIENT_LIQUIDITY.into());
        }
        let slipped = slippage_of(&walked, asked.side);
        if i128::from(slipped) * SLIPPAGE_STEP > asked.max_slippage {
            return Err(refusal::SLIPPAGE_EXCEEDED.into());
        }
    }
    let costs = Costs::of(views, &figures, held, asked, (quantity, &walked), now_ms);
    let costs = costs.ok_or_else(|| explained(Reject::AboveMaxNotional))?;
    let six = |steps: i128| Fixed(steps * 100, 6);
    Ok(OrderPreview {
        symbol: Market(market.symbol),
        side: OrderSide::of(asked.side),
        r#type: if asked.is_market { PreviewType::Market } else { PreviewType::Limit },
        quantity: Units(quantity),
        price: (!asked.is_market).then_some(Units(asked.price)),
        avg_price: walked.average(asked.side).map(Units),
        worst_price: walked.worst.map(Units),
        fill_quantity: Units(walked.quantity),
        slippage: six(slippage_of(&walked, asked.side).into()),
        max_slippage: six(asked.max_slippage / SLIPPAGE_STEP),
        notional: MoneyShown(costs.notional),
        fee_rate: SignedUnits(costs.fee_rate),
        fee: SignedMoney(costs.fee),
        leverage: costs.leverage,
        initial_margin: MoneyShown(costs.initial),
        open_loss: MoneyShown(costs.open_loss),
        required_margin: MoneyShown(costs.required),
        available_balance: MoneyShown(figures.available),
        sufficient: costs.required <= figures.available,
        liquidation_price: Units(costs.liquidation_price),
    })
}

fn slippage_of(walked: &Walked, side: Side) -> i64 {
    let of = |(average, best)| slippage(average, best);
    walked.average(side).zip(walked.best).and_then(of).unwrap_or(0)
}

/// Whether a placement would be taken, in the order of its checks (`perpetual.md` 7.10); the quantity it would have.
fn filter(
    views: &Perpetuals,
    (market, notional_max): (&PerpetualMarket, Money),
    held: &Held<'_>,
    asked: &Asked,
) -> Result<Quantity, Reject> {
    match market.state {
        PerpetualState::Closed => return Err(Reject::MarketDelisted),
        PerpetualState::Trading => {}
        PerpetualState::ReduceOnly if asked.reduces => {}
        _ => return Err(Reject::StateRefuses),
    }
    if !asked.is_market {
        if asked.price <= 0 {
            return Err(Reject::InvalidPrice);
        }
        if asked.price % market.tick().max(1) != 0 {
            return Err(Reject::InvalidTick);
        }
        if asked.price < market.setting(Setting::MinPrice) {
            return Err(Reject::PriceBelowMinimum);
        }
        if asked.price > market.setting(Setting::MaxPrice) {
            return Err(Reject::PriceAboveMaximum);
        }
    }
    let mut quantity = lots(market, asked.quantity)?;
    if asked.reduces {
        let closable = reduce_only::clamped(asked.side, quantity, held.position().quantity);
        quantity = lots(market, closable.ok_or(Reject::ReduceOnlyRefused)?)?;
    }
    // The most is asked for only after the clamp (`perpetual.md` 7.7).
    let most = if asked.is_market { Setting::MaxMarketQuantity } else { Setting::MaxQuantity };
    if quantity > market.setting(most) {
        return Err(Reject::QuantityOutOfRange);
    }
    let valued_at = if asked.is_market { market.mark() } else { asked.price };
    let notional = ceil_value(quantity, valued_at).ok_or(Reject::AboveMaxNotional)?;
    if notional < market.setting(Setting::MinNotional) && !asked.reduces {
        return Err(Reject::BelowMinNotional);
    }
    if notional > notional_max {
        return Err(Reject::AboveMaxNotional);
    }
    let share = market.setting(match asked.side {
        Side::Buy => Setting::BandUp,
        Side::Sell => Setting::BandDown,
    });
    let bound = band::bound(asked.side, market.mark(), share, market.tick());
    let is_within = |price| bound.is_some_and(|bound| band::is_within(asked.side, price, bound));
    match asked.is_market {
        true if best(views, market, asked.side).is_some_and(|best| !is_within(best)) => {
            Err(Reject::CounterpartyOutsideBand)
        }
        false if !is_within(asked.price) => Err(match asked.side {
            Side::Buy => Reject::PriceAboveBand,
            Side::Sell => Reject::PriceBelowBand,
        }),
        _ => Ok(quantity),
    }
}

/// A quantity floored to lots, if that is not too little for a placement.
fn lots(market: &PerpetualMarket, quantity: Quantity) -> Result<Quantity, Reject> {
    if quantity <= 0 {
        return Err(Reject::InvalidQuantity);
    }
    let floored = quantity - quantity % market.lot().max(1);
    if floored >= market.setting(Setting::MinQuantity) {
        Ok(floored)
    } else {
        Err(Reject::QuantityOutOfRange)
    }
}

/// A refusal in the words of a placement.
fn explain(reject: Reject, (market, most): (&PerpetualMarket, Money), asked: &Asked) -> Refused {
    let order_type = if asked.is_market { PerpetualOrderType::Market } else { PerpetualOrderType::Limit };
    let sent = PlacePerpetual {
        market: market.market,
        side: asked.side as u8,
        order_type: order_type as u8,
        price: asked.price,
        quantity: asked.quantity,
        ..zerocopy::FromZeros::new_zeroed()
    };
    refusal::FILTER_FAILURE.saying(place::explain(reject, &sent, (market, most), None).msg)
}

/// Levels of the other side, best first.
fn levels(views: &Perpetuals, market: &PerpetualMarket, side: Side) -> Vec<(Price, i128)> {
    let Some(book) = views.book(market.market) else { return Vec::new() };
    match side {
        Side::Buy => book.asks().collect(),
        Side::Sell => book.bids().collect(),
    }
}

fn best(views: &Perpetuals, market: &PerpetualMarket, side: Side) -> Option<Price> {
    levels(views, market, side).first().map(|(price, _)| *price)
}

/// The part of an order that would fill at once, up to its limit: of a market order the farthest price that one trades at.
fn walk(views: &Perpetuals, market: &PerpetualMarket, asked: &Asked, quantity: Quantity) -> Walked {
    let levels = levels(views, market, asked.side);
    let limit = match asked.is_market {
        true => {
            let range = market.setting(Setting::TakeBound);
            band::market_limit(asked.side, market.mark(), range, market.tick()).unwrap_or(0)
        }
        false => asked.price,
    };
    let best = levels.first().map(|(price, _)| *price);
    let mut walked = Walked { best, worst: None, quantity: 0, products: 0 };
    for (price, total) in levels {
        let left = quantity - walked.quantity;
        if left == 0 || !band::is_within(asked.side, price, limit) {
            break;
        }
        let taken = i64::try_from(total).unwrap_or(i64::MAX).min(left);
        walked.quantity += taken;
        walked.products += i128::from(price) * i128::from(taken);
        walked.worst = Some(price);
    }
    walked
}

/// What the order costs and binds.
struct Costs {
    notional: Money,
    fee_rate: Rate,
    fee: Money,
    leverage: u32,
    initial: Money,
    open_loss: Money,
    required: Money,
    liquidation_price: Price,
}

impl Costs {
    /// `None` where numbers leave their range.
    fn of(
        views: &Perpetuals,
        figures: &AccountSummary<'_>,
        held: &Held<'_>,
        asked: &Asked,
        (quantity, walked): (Quantity, &Walked),
        now_ms: i64,
    ) -> Option<Costs> {
        let market = held.market;
        let rates = fees::of(views, &figures.account, now_ms);
        let leverage = asked.leverage.unwrap_or(held.leverage);
        let rest = quantity - walked.quantity;
        let rest_value = floor_value(rest, asked.price)?;
        let taken = fee::fee(walked.value(), rates.taker)?;
        let resting = fee::fee(rest_value, rates.maker)?;
        let notional = if asked.is_market { walked.value() } else { floor_value(quantity, asked.price)? };
        let reservation = match asked.reduces {
            true => Reservation::default(),
            false => {
                let reference = match asked.is_market {
                    true => walked.value(),
                    false => {
                        let best_bid = best(views, market, Side::Sell);
                        let mark = mark_on_tick(market.mark(), market.tick())?;
                        let price = reference_price(asked.side, asked.price, best_bid, mark);
                        floor_value(quantity, price)?
                    }
                };
                Reservation::new(asked.side, quantity, reference, market.mark(), rates.taker)?
            }
        };
        let before = *held.exposure()?;
        let mut after = before;
        if !asked.reduces {
            let bucket = match asked.side {
                Side::Buy => &mut after.buys,
                Side::Sell => &mut after.sells,
            };
            *bucket = bucket.with(quantity, reservation)?;
        }
        let need = |exposure: &Exposure| match held.is_isolated {
            true => exposure.isolated_orders(leverage),
            false => exposure.cross(leverage).map(|requirement| requirement.initial),
        };
        let fee = taken + resting;
        Some(Costs {
            notional,
            fee_rate: if walked.quantity > 0 { rates.taker } else { rates.maker },
            fee,
            leverage,
            initial: margin_of(reservation.reference, leverage)?,
            open_loss: reservation.open_loss,
            required: (need(&after)? - need(&before)?).max(0),
            liquidation_price: liquidation(
                figures,
                held,
                asked,
                (quantity, walked.value() + rest_value),
                fee,
                leverage,
            )?,
        })
    }
}

/// Liquidation price of the position once the whole order is filled; 0 for none.
fn liquidation(
    figures: &AccountSummary<'_>,
    held: &Held<'_>,
    asked: &Asked,
    (quantity, value): (Quantity, Money),
    fee: Money,
    leverage: u32,
) -> Option<Price> {
    let filled = held.position().fill(asked.side, quantity, value)?;
    if filled.position.quantity == 0 {
        return Some(0);
    }
    let brackets = held.market.table()?;
    let backing = if held.is_isolated {
        kept_wallet(held, filled.closed, filled.realised - fee)? + margin_of(filled.opened_value, leverage)?
    } else {
        let others = figures
            .held
            .iter()
            .filter(|other| !other.is_isolated && other.market.market != held.market.market);
        let maintenance: Money = others.map(|other| other.maintenance).sum();
        figures.account.wallet + filled.realised - fee + figures.cross_unrealised
            - held.unrealised
            - maintenance
    };
    Some(brackets.liquidation_price(filled.position, backing).unwrap_or(0))
}

/// What an isolated wallet is after `closed` of its position was closed, which brought `gained` (`risk.md` 8): it pays what the
/// released share does not cover, as far as it reaches.
fn kept_wallet(held: &Held<'_>, closed: Quantity, gained: Money) -> Option<Money> {
    let (wallet, whole) = (held.isolated_wallet(), i128::from(held.position().held()?));
    if closed == 0 {
        return Some(wallet);
    }
    let released = i64::try_from(i128::from(wallet) * i128::from(closed) / whole).ok()?;
    Some((wallet - released + (released + gained).min(0)).max(0))
}
