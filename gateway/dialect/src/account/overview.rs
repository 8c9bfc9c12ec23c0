//! An account across both ledgers (`account.md` 6).

use crate::fapi::margin;
use ringside_core::ids::AccountId;
use ringside_core::money::{Amount, UNIT};
use ringside_views::Views;
use ringside_wire::account::own::{UnifiedAccount, UnifiedMode, UnifiedPerpetual, UnifiedSpot};
use ringside_wire::number::{self, Fixed, Money, SignedFixed, SignedMoney};

/// The token that values are told in.
const USDT: &str = "USDT";
const MICRO: Amount = 1_000_000_000_000;
/// Amount steps of one step of 10^-8.
const STEP: Amount = 10_000_000_000;

/// The answer.
pub fn unified(views: &Views, account: AccountId, address: String, now_ms: i64) -> UnifiedAccount {
    let figures = margin::figures(views.perpetuals(), account);
    let margin_balance = figures.wallet + figures.unrealised;
    let maintenance = figures.total(|held| held.maintenance);
    let positions = figures.held.iter().filter(|held| held.holding.position.quantity != 0).count();
    let isolated = figures.held.iter().filter(|held| held.is_isolated).count();
    let mode = match isolated {
        0 => UnifiedMode::Crossed,
        all if all == figures.held.len() => UnifiedMode::Isolated,
        _ => UnifiedMode::Mixed,
    };
    // Up, as the ratio that is compared is.
    let ratio = match margin_balance {
        _ if positions == 0 => 0,
        1.. => {
            (i128::from(maintenance) * i128::from(UNIT) + i128::from(margin_balance) - 1)
                / i128::from(margin_balance)
        }
        // Nothing covers it any more.
        _ => i128::from(UNIT),
    };
    let mut total = Amount::from(margin_balance) * MICRO;
    let mut rows: Vec<_> = views
        .balances()
        .rows(account)
        .iter()
        .filter_map(|row| Some((views.markets().asset_name(row.asset)?, row)))
        .collect();
    rows.sort_unstable_by_key(|(token, _)| *token);
    let spot = rows
        .into_iter()
        .map(|(token, row)| {
            let value = value_of(views, token, row.available + row.frozen);
            total = total.saturating_add(value);
            UnifiedSpot {
                token: token.to_owned(),
                available: number::Amount(row.available),
                frozen: number::Amount(row.frozen),
                usdt_value: Fixed(value / STEP, 8),
            }
        })
        .collect();
    let open_orders =
        views.perpetuals().orders().open_of(account).filter(|order| !order.is_of_service()).count();
    UnifiedAccount {
        account_id: account,
        address,
        margin_mode: mode,
        tier: figures.account.tier,
        total_equity: SignedFixed(total / STEP, 8),
        perpetual: UnifiedPerpetual {
            wallet_balance: SignedMoney(figures.wallet),
            unrealized_pnl: SignedMoney(figures.unrealised),
            margin_balance: SignedMoney(margin_balance),
            available_balance: Money(figures.available),
            max_withdraw: Money(figures.withdrawable),
            initial_margin: Money(figures.total(|held| held.initial)),
            maint_margin: Money(maintenance),
            margin_ratio: SignedFixed(ratio, if ratio == 0 { 0 } else { 6 }),
        },
        spot,
        positions,
        open_orders,
        update_time: now_ms,
    }
}

/// An amount in USDT, down: USDT at 1, others at the last price of their market against it, nothing without one.
fn value_of(views: &Views, token: &str, amount: Amount) -> Amount {
    if token == USDT {
        return amount;
    }
    let markets = views.markets();
    let market = markets
        .in_order_of_symbol()
        .find(|market| market.base_name() == token && market.quote_name() == USDT);
    let price =
        market.and_then(|market| views.tickers().get(market.market)).map_or(0, |ticker| ticker.day.close);
    // A price is below 2^63, so that whole units times it stay in range.
    let (whole, part) = (amount / Amount::from(UNIT), amount % Amount::from(UNIT));
    whole.saturating_mul(price.into()).saturating_add(part * Amount::from(price) / Amount::from(UNIT))
}
