//! What a change of a market would do to those who hold something there, worked out from the views (`account.md` 13): so that operators
//! see it before they confirm.

use ringside_core::command::MarginMode;
use ringside_core::ids::FEE_ACCOUNT;
use ringside_core::money::{Money, Price, RATE_ONE, Rate};
use ringside_core::risk::perpetual::bracket::Brackets;
use ringside_core::risk::perpetual::position::Position;
use ringside_core::risk::perpetual::units::{floor_div, notional};
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::account::Holding;
use ringside_views::perpetual::market::PerpetualMarket;

/// Scopes that would fall below their maintenance margin, and what their positions are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endangered {
    /// How many.
    pub scopes: u64,
    /// Of all their positions, micro-quote.
    pub notional: i128,
}

/// What a market's figures are for this look.
struct Terms<'a> {
    market: &'a PerpetualMarket,
    mark: Price,
    brackets: Brackets,
}

/// Equity, maintenance margin and worth of positions of a scope, with one market on other terms.
fn standing(
    views: &Perpetuals,
    wallet: Money,
    holdings: &mut dyn Iterator<Item = &Holding>,
    other: &Terms<'_>,
) -> Option<(i128, i128, i128)> {
    let (mut equity, mut maintenance, mut worth) = (i128::from(wallet), 0i128, 0i128);
    for holding in holdings {
        let told = &holding.position;
        if told.quantity == 0 {
            continue;
        }
        let (mark, brackets) = if told.market == other.market.market {
            (other.mark, other.brackets)
        } else {
            let market = views.markets().get(told.market)?;
            (market.mark(), market.table()?)
        };
        let position = Position { quantity: told.quantity, cost: told.cost };
        equity += i128::from(position.unrealised(mark)?);
        maintenance += i128::from(brackets.maintenance_at(told.quantity, mark)?);
        worth += i128::from(notional(told.quantity, mark)?);
    }
    Some((equity, maintenance, worth))
}

fn is_isolated(holding: &Holding) -> bool {
    holding.position.mode == MarginMode::Isolated as u32
}

/// The mark of a market at another clamp, its basis as it is.
fn mark_at(market: &PerpetualMarket, clamp: Rate) -> Price {
    let Some(price) = &market.price else { return 0 };
    let width = floor_div(i128::from(price.index) * i128::from(clamp), RATE_ONE.into());
    let basis = i128::from(price.basis).clamp(-width, width);
    Price::try_from(i128::from(price.index) + basis).unwrap_or(price.mark)
}

/// Who would fall below maintenance margin if a market had these brackets and this clamp, and is not there yet.
pub fn endangered(
    views: &Perpetuals,
    market: &PerpetualMarket,
    brackets: Brackets,
    clamp: Rate,
) -> Endangered {
    let Some(now) = market.table() else { return Endangered::default() };
    let before = Terms { market, mark: market.mark(), brackets: now };
    let after = Terms { market, mark: mark_at(market, clamp), brackets };
    let mut found = Endangered::default();
    for &account in market.holders().iter().filter(|account| **account != FEE_ACCOUNT) {
        let Some(record) = views.accounts().find(account) else { continue };
        let Some(here) = record.holdings.get(market.market) else { continue };
        let look = |terms: &Terms<'_>| {
            if is_isolated(here) {
                standing(views, here.position.isolated_wallet, &mut std::iter::once(here), terms)
            } else {
                let mut cross = record.holdings.iter().filter(|holding| !is_isolated(holding));
                standing(views, record.wallet, &mut cross, terms)
            }
        };
        if let (Some(before), Some(after)) = (look(&before), look(&after))
            && before.0 >= before.1
            && after.0 < after.1
        {
            found.scopes += 1;
            found.notional += after.2;
        }
    }
    found
}

/// What a settlement at the index of now would leave short (`risk.md` 18), micro-quote.
pub fn shortfall(views: &Perpetuals, market: &PerpetualMarket) -> i128 {
    let price = market.index();
    let mut short = 0i128;
    for &account in market.holders() {
        let Some(record) = views.accounts().find(account) else { continue };
        let Some(here) = record.holdings.get(market.market) else { continue };
        let position = Position { quantity: here.position.quantity, cost: here.position.cost };
        let Some(amount) = position.unrealised(price).map(i128::from) else { continue };
        if account == FEE_ACCOUNT {
            short += (-amount).max(0);
        } else if is_isolated(here) {
            short += (-(i128::from(here.position.isolated_wallet) + amount)).max(0);
        } else {
            let wallet = i128::from(record.wallet) + amount;
            let mut others = 0i128;
            for holding in record.holdings.iter().filter(|holding| !is_isolated(holding)) {
                if holding.position.market != market.market
                    && let Some(market) = views.markets().get(holding.position.market)
                {
                    let position =
                        Position { quantity: holding.position.quantity, cost: holding.position.cost };
                    others += position.unrealised(market.mark()).map_or(0, i128::from);
                }
            }
            let lacking = (-wallet).min(-(wallet + others));
            short += lacking.max(0);
        }
    }
    short
}
