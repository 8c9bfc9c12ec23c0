//! What the shown numbers of an account mean: margins and balances from what the views hold (`perpetual.md` 12, `risk.md` 5 to 8).
//!
//! The arithmetic is the engine's own; nothing here is kept or decided.

use ringside_core::command::{MarginMode, Side};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::{Money, Price};
use ringside_core::risk::perpetual::adl::{self, Place};
use ringside_core::risk::perpetual::bracket::Brackets;
use ringside_core::risk::perpetual::order_margin::{Bucket, Cross, Exposure, margin};
use ringside_core::risk::perpetual::position::Position;
use ringside_core::risk::perpetual::units;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::account::{Holding, LEVERAGE_DEFAULT, PerpetualAccount};
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::order::OrderTable;
use std::collections::BTreeSet;

/// One market of an account.
pub struct Held<'a> {
    /// The market.
    pub market: &'a PerpetualMarket,
    /// As told.
    pub holding: Holding,
    /// Leverage in force.
    pub leverage: u32,
    /// Whether its margin is its own.
    pub is_isolated: bool,
    /// Signed, at the mark.
    pub notional: Money,
    /// Profit not realised.
    pub unrealised: Money,
    /// The larger side's margin, and the position's alone.
    pub initial: Money,
    /// See above.
    pub position_initial: Money,
    /// Maintenance margin.
    pub maintenance: Money,
    /// Greatest exposure at the leverage.
    pub exposure_max: Money,
    /// 0 for none.
    pub liquidation_price: Price,
    exposure: Option<Exposure>,
    brackets: Option<Brackets>,
}

impl Held<'_> {
    /// Position as the arithmetic takes it.
    pub fn position(&self) -> Position {
        Position { quantity: self.holding.position.quantity, cost: self.holding.position.cost }
    }

    /// Position and open orders as the arithmetic takes them; `None` before the market's first mark.
    pub fn exposure(&self) -> Option<&Exposure> {
        self.exposure.as_ref()
    }

    /// Wallet of an isolated position.
    pub fn isolated_wallet(&self) -> Money {
        if self.is_isolated { self.holding.position.isolated_wallet } else { 0 }
    }
}

/// An account with every market.
pub struct AccountSummary<'a> {
    /// As told.
    pub account: PerpetualAccount,
    /// Every market in order of listing.
    pub held: Vec<Held<'a>>,
    /// Wallets, cross and isolated.
    pub wallet: Money,
    /// Profit not realised of all positions.
    pub unrealised: Money,
    /// The same of cross positions.
    pub cross_unrealised: Money,
    /// What new orders may use.
    pub available: Money,
    /// What may leave.
    pub withdrawable: Money,
}

impl AccountSummary<'_> {
    /// Markets with an amount or an open order, those that wait for a trigger included: what version 3 of routes shows. Orders of
    /// the conditional-order service are seen at its own routes alone.
    pub fn touched(&self, orders: &OrderTable) -> impl Iterator<Item = &Held<'_>> {
        let open = orders.open_of(self.account.terms.account).filter(|order| !order.is_of_service());
        let with_orders: BTreeSet<MarketId> = open.map(|order| order.told.market).collect();
        self.held.iter().filter(move |held| {
            held.holding.position.quantity != 0 || with_orders.contains(&held.market.market)
        })
    }

    /// Sum over all markets.
    pub fn total(&self, of: impl Fn(&Held<'_>) -> Money) -> Money {
        self.held.iter().map(of).sum()
    }
}

/// An account as it stands.
pub fn figures(views: &Perpetuals, account: AccountId) -> AccountSummary<'_> {
    let account = views.accounts().get(account);
    let mut held: Vec<Held<'_>> = views
        .markets()
        .all()
        .iter()
        .map(|market| of_market(market, account.holding(market.market)))
        .collect();
    let mut cross = Cross { wallet: account.wallet, ..Cross::default() };
    let mut maintenance = 0;
    for held in &held {
        let Some(exposure) = &held.exposure else { continue };
        if held.is_isolated {
            cross.isolated_orders += exposure.isolated_orders(held.leverage).unwrap_or(0);
        } else {
            cross.unrealised += held.unrealised;
            cross.initial += exposure.cross(held.leverage).map_or(0, |requirement| requirement.initial);
            maintenance += held.maintenance;
        }
    }
    for held in &mut held {
        let backing = if held.is_isolated {
            held.isolated_wallet()
        } else {
            account.wallet + cross.unrealised - held.unrealised - (maintenance - held.maintenance)
        };
        let price =
            held.brackets.as_ref().and_then(|brackets| brackets.liquidation_price(held.position(), backing));
        held.liquidation_price = price.unwrap_or(0);
    }
    let isolated: Money = held.iter().map(Held::isolated_wallet).sum();
    AccountSummary {
        wallet: account.wallet + isolated,
        unrealised: held.iter().map(|held| held.unrealised).sum(),
        cross_unrealised: cross.unrealised,
        available: cross.available().unwrap_or(0),
        withdrawable: cross.withdrawable().unwrap_or(0),
        account,
        held,
    }
}

/// The leverage that counts where the engine told this one, 0 for none.
pub fn leverage_in_force(told: u32, market: &PerpetualMarket) -> u32 {
    match told {
        0 => LEVERAGE_DEFAULT.min(market.leverage_max()),
        leverage => leverage,
    }
}

fn of_market(market: &PerpetualMarket, holding: Holding) -> Held<'_> {
    let leverage = leverage_in_force(holding.position.leverage, market);
    let told = &holding.exposure;
    let buys = Bucket {
        quantity: told.buy_quantity,
        reference: told.buy_reference,
        open_loss: told.buy_open_loss,
        fee: told.buy_fee_reserve,
    };
    let sells = Bucket {
        quantity: told.sell_quantity,
        reference: told.sell_reference,
        open_loss: told.sell_open_loss,
        fee: told.sell_fee_reserve,
    };
    let position = Position { quantity: holding.position.quantity, cost: holding.position.cost };
    let mark = market.mark();
    let has_mark = mark > 0;
    let exposure = Exposure::new(position.quantity, mark, buys, sells).filter(|_| has_mark);
    let notional = exposure.map_or(0, |exposure| exposure.notional);
    let brackets = market.table();
    Held {
        market,
        holding,
        leverage,
        is_isolated: holding.position.mode == MarginMode::Isolated as u32,
        notional,
        unrealised: if has_mark { position.unrealised(mark).unwrap_or(0) } else { 0 },
        initial: exposure.and_then(|exposure| exposure.shown_initial(leverage)).unwrap_or(0),
        position_initial: margin(notional.abs(), leverage).unwrap_or(0),
        maintenance: brackets.as_ref().and_then(|brackets| brackets.maintenance(notional.abs())).unwrap_or(0),
        exposure_max: brackets.as_ref().map_or(0, |brackets| brackets.exposure_max(leverage)),
        liquidation_price: 0,
        exposure,
        brackets,
    }
}

/// The side of an account's position in a market and its place in that side's auto-deleveraging order (`risk.md` 12.5); `None`
/// without a position.
pub fn deleveraging_place(
    views: &Perpetuals,
    account: AccountId,
    market: &PerpetualMarket,
) -> Option<(Side, Place)> {
    let known = views.accounts().find(account)?;
    let of = |market: &PerpetualMarket, holding: &Holding| {
        let position = Position { quantity: holding.position.quantity, cost: holding.position.cost };
        position.unrealised(market.mark())
    };
    let holding = known.holdings.get(market.market).filter(|holding| holding.position.quantity != 0)?;
    let unrealised = of(market, holding)?;
    let equity = match holding.position.mode == MarginMode::Isolated as u32 {
        true => holding.position.isolated_wallet.checked_add(unrealised)?,
        false => {
            let mut cross = Cross { wallet: known.wallet, ..Cross::default() };
            for holding in known.holdings.iter() {
                if holding.position.quantity != 0 && holding.position.mode == MarginMode::Cross as u32 {
                    let profit = of(views.markets().get(holding.position.market)?, holding)?;
                    cross.unrealised = cross.unrealised.checked_add(profit)?;
                }
            }
            cross.equity()?
        }
    };
    let position = &holding.position;
    let notional = units::notional(position.quantity, market.mark())?;
    let score = adl::score(unrealised, position.cost, notional, equity)?;
    let side = if position.quantity > 0 { Side::Buy } else { Side::Sell };
    Some((side, Place::new(score, notional, account)))
}
