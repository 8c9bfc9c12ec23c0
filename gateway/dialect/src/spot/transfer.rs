//! Transfers between the spot and the perpetual ledger (`spot.md` 9): requests into amounts, rows into what is shown.

use super::decode::{number, text};
use super::refusal::{self, Refusal};
use ringside_core::ids::padded;
use ringside_core::money::Amount;
use ringside_core::reject::Reject;
use ringside_views::perpetual::rows::TransferRecord;
use ringside_wire::decimal::parse_amount;
use ringside_wire::name::{Token, TradeId};
use ringside_wire::number::Micros;
use ringside_wire::spot::{Completed, Direction, Transfer};

/// 400. The specification names the two words and no string.
pub const INVALID_DIRECTION: Refusal = Refusal { status: 400, error: "invalid direction" };

/// The one token that both ledgers know.
pub const TOKEN: &str = "USDT";
/// Words of the two directions: from spot to perpetual, and back.
const TO_PERPETUAL: &str = "to_perp";
const TO_SPOT: &str = "to_spot";
/// The words.
pub const DIRECTIONS: &[&str] = &[TO_SPOT, TO_PERPETUAL];

const MICRO: Amount = 1_000_000_000_000;

body! {
    /// Body of POST /spot/transfer.
    pub TransferBody { direction, token, amount }
}

/// Why a body is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// As the table has it.
    Refused(Refusal),
    /// Of another token, which is named.
    Token(String),
}

impl TransferBody<'_> {
    /// Micro-quote, above 0 from spot to perpetual.
    pub fn micros(&self) -> Result<i64, Fault> {
        let direction = self.direction.and_then(text);
        let is_to_perpetual =
            direction.and_then(|word| is_to_perpetual(&word)).ok_or(Fault::Refused(INVALID_DIRECTION))?;
        let token = self.token.and_then(text).unwrap_or_default();
        if token != TOKEN {
            return Err(Fault::Token(token.into_owned()));
        }
        let amount =
            self.amount.and_then(|raw| number(raw, parse_amount)).filter(|amount| amount % MICRO == 0);
        let amount = amount.filter(|amount| *amount > 0).ok_or(Fault::Refused(refusal::INVALID_AMOUNT))?;
        // More than the perpetual ledger can hold is well formed, and more than anybody has there or can bring there.
        let micros = i64::try_from(amount / MICRO)
            .map_err(|_| Fault::Refused(refusal::of_reject(Reject::InsufficientBalance)))?;
        Ok(if is_to_perpetual { micros } else { -micros })
    }
}

/// Which way a word means.
pub fn is_to_perpetual(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        TO_PERPETUAL => Some(true),
        TO_SPOT => Some(false),
        _ => None,
    }
}

/// How a refusal of the engine is answered.
pub const fn of_reject(reject: Reject) -> Refusal {
    match reject {
        // An amount is malformed to the engine where the ledgers could not hold it.
        Reject::InsufficientBalance | Reject::CrossInsufficient | Reject::InvalidAmount => {
            refusal::of_reject(Reject::InsufficientBalance)
        }
        // To spot, while the insurance pool is in deficit.
        Reject::WithdrawalsPaused => refusal::WITHDRAWALS_PAUSED,
        // Without a perpetual market there is no margin asset.
        Reject::MarketNotFound => refusal::DISABLED,
        reject => refusal::of_reject(reject),
    }
}

/// A transfer as it is shown.
pub fn transfer(row: &TransferRecord) -> Transfer {
    Transfer {
        id: TradeId(row.number),
        direction: if row.amount > 0 { Direction::ToPerp } else { Direction::ToSpot },
        token: Token(padded(TOKEN).unwrap_or_default()),
        amount: Micros(row.amount.saturating_abs()),
        status: Completed::Completed,
        ts: row.time_ms.div_euclid(1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<i64, Fault> {
        serde_json::from_str::<TransferBody<'_>>(body).unwrap().micros()
    }

    #[test]
    fn bodies_are_judged_field_by_field() {
        assert_eq!(read(r#"{"direction":"to_perp","token":"USDT","amount":"1.5"}"#), Ok(1_500_000));
        assert_eq!(read(r#"{"direction":"TO_SPOT","token":"USDT","amount":0.000001}"#), Ok(-1));
        assert_eq!(read("{}"), Err(Fault::Refused(INVALID_DIRECTION)));
        let token = |token: &str| Err(Fault::Token(token.to_owned()));
        assert_eq!(read(r#"{"direction":"to_spot"}"#), token(""));
        assert_eq!(read(r#"{"direction":"to_spot","token":"DF","amount":"x"}"#), token("DF"));
        for amount in ["0", "-1", "0.0000001", "99999999999999999999.0000001", "\"\"", "null", "{}"] {
            let body = format!(r#"{{"direction":"to_spot","token":"USDT","amount":{amount}}}"#);
            assert_eq!(read(&body), Err(Fault::Refused(refusal::INVALID_AMOUNT)), "{amount}");
        }
        let most =
            |amount: &str| read(&format!(r#"{{"direction":"to_perp","token":"USDT","amount":{amount}}}"#));
        assert_eq!(most("9223372036854.775807"), Ok(i64::MAX));
        let short = refusal::of_reject(Reject::InsufficientBalance);
        assert_eq!(most("9223372036854.775808"), Err(Fault::Refused(short)));
    }
}
