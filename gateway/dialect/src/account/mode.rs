//! Margin modes as the routes of accounts spell them (`account.md` 8). Which may change is the engine's to say.

use super::params::member;
use super::refusal::{self, Refused, invalid};
use crate::fapi::words::MarginType;
use ringside_core::command::MarginMode;
use ringside_core::ids::AccountId;
use ringside_core::reject::Reject;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::own::MarginModes;

body! {
    /// Body of POST /api/v1/account/margin-mode.
    pub Body { margin_mode, mode, symbol }
}

/// A change of mode that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The new one.
    pub mode: MarginMode,
    /// Name of the market as sent; `None` for all.
    pub symbol: Option<String>,
}

impl Body<'_> {
    /// What is asked for; a refusal names the first member that is missing or malformed.
    pub fn read(&self) -> Result<Asked, Refused> {
        let (name, raw) = match member(self.margin_mode) {
            None if member(self.mode).is_some() => ("mode", self.mode),
            sent => ("margin_mode", sent),
        };
        let word: Option<String> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let mode = match word.map(|word| word.to_ascii_uppercase()).as_deref() {
            Some("CROSSED" | "CROSS") => MarginMode::Cross,
            Some("ISOLATED") => MarginMode::Isolated,
            _ => return Err(invalid(name)),
        };
        let symbol = member(self.symbol).map(|raw| serde_json::from_str(raw.get()));
        Ok(Asked { mode, symbol: symbol.transpose().map_err(|_| invalid("symbol"))? })
    }
}

/// The modes of an account.
pub fn shown(views: &Perpetuals, account: AccountId) -> MarginModes {
    let account = views.accounts().get(account);
    let word = |code: u32| {
        let mode = u8::try_from(code).ok().and_then(MarginMode::from_code).unwrap_or(MarginMode::Cross);
        MarginType::of(mode)
    };
    let mode_in = |market: &PerpetualMarket| {
        (market.symbol().to_owned(), word(account.holding(market.market).position.mode))
    };
    let symbols = views.markets().all().iter().map(mode_in).collect();
    MarginModes { margin_mode: word(account.terms.default_mode), symbols }
}

/// What a change of mode is refused with.
pub fn of_mode(reject: Reject) -> Refused {
    match reject {
        Reject::OpenOrdersExist => refusal::OPEN_ORDERS_EXIST.into(),
        Reject::PositionExists => refusal::POSITION_EXISTS.into(),
        Reject::MarketNotFound => refusal::SYMBOL_NOT_FOUND.into(),
        _ => refusal::INTERNAL.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_name_either_case_and_margin_mode_counts() {
        let read = |text: &str| {
            let body: Body<'_> = serde_json::from_str(text).unwrap();
            body.read()
                .map(|asked| (asked.mode, asked.symbol))
                .map_err(|refused| refused.message.into_owned())
        };
        assert_eq!(read(r#"{"mode":"cross"}"#), Ok((MarginMode::Cross, None)));
        assert_eq!(read(r#"{"margin_mode":"Isolated","mode":5}"#), Ok((MarginMode::Isolated, None)));
        assert_eq!(
            read(r#"{"margin_mode":null,"mode":"CROSSED","symbol":"btcusdt"}"#),
            Ok((MarginMode::Cross, Some("btcusdt".to_owned())))
        );
        for (wrong, name) in [
            ("{}", "margin_mode"),
            (r#"{"margin_mode":"HEDGE","mode":"CROSS"}"#, "margin_mode"),
            (r#"{"mode":""}"#, "mode"),
            (r#"{"mode":"CROSS","symbol":7}"#, "symbol"),
        ] {
            assert_eq!(read(wrong), Err(format!("{name}: missing or malformed")), "{wrong}");
        }
    }
}
