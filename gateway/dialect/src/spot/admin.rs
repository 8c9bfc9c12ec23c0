//! Requests of the administrator into commands. A fault of a field is `invalid <field>`, the first in the order of the
//! fields as `spot.md` 5 lists them.

use super::decode::{number, text};
use super::refusal::{self, Refusal};
use ringside_core::command::{Credit, ListMarket, MarketKind, MarketStatus, UpdateMarket, update_mask};
use ringside_core::ids::{self, AssetName, MarketId, Symbol, padded};
use ringside_core::money::{Amount, FeeRate};
use ringside_wire::address::parse_address;
use ringside_wire::decimal::{parse_amount, parse_bps, parse_entry, text_of, write_bps};
use ringside_wire::number::{Amount as AmountText, Units};
use ringside_wire::spot::words::SpotMarketStatus;
use serde_json::value::RawValue;

/// Longest reason of a change.
const REASON_LEN_MAX: usize = 256;
/// Most open orders of one account in a market (`spot.md` 12).
const MAX_OPEN_ORDERS: u32 = 200;

body! {
    /// Body of POST /admin/spot/markets.
    pub ListBody {
        id, base_token, quote_token, tick_size, lot_size, min_notional, maker_fee_bps, taker_fee_bps, reason,
    }
}

impl ListBody<'_> {
    /// Why, for the audit log.
    pub fn reason(&self) -> Result<String, Refusal> {
        reason(self.reason)
    }

    /// The command.
    pub fn command(&self) -> Result<ListMarket, Refusal> {
        let symbol: Symbol = name(self.id, 2).ok_or(INVALID_ID)?;
        let base: AssetName = name(self.base_token, 1).ok_or(INVALID_BASE_TOKEN)?;
        let quote = name(self.quote_token, 1).filter(|quote| *quote != base).ok_or(INVALID_QUOTE_TOKEN)?;
        Ok(ListMarket {
            symbol,
            base,
            quote,
            tick: step(self.tick_size).ok_or(INVALID_TICK_SIZE)?,
            lot: step(self.lot_size).ok_or(INVALID_LOT_SIZE)?,
            min_notional: positive(self.min_notional).ok_or(INVALID_MIN_NOTIONAL)?.into(),
            maker_fee: rate(self.maker_fee_bps).ok_or(INVALID_MAKER_FEE)?,
            taker_fee: rate(self.taker_fee_bps).ok_or(INVALID_TAKER_FEE)?,
            max_open_orders: MAX_OPEN_ORDERS,
            kind: MarketKind::Spot as u8,
            reserved: [0; 3],
        })
    }
}

body! {
    /// Body of PATCH /admin/spot/markets/:id.
    pub UpdateBody { tick_size, lot_size, min_notional, maker_fee_bps, taker_fee_bps, reason }
}

impl UpdateBody<'_> {
    /// Why, for the audit log.
    pub fn reason(&self) -> Result<String, Refusal> {
        reason(self.reason)
    }

    /// The command; its mask is 0 when the body names nothing.
    pub fn command(&self, market: MarketId) -> Result<UpdateMarket, Refusal> {
        let mut mask = 0;
        let tick = field(self.tick_size, &mut mask, update_mask::TICK, step, INVALID_TICK_SIZE)?;
        let lot = field(self.lot_size, &mut mask, update_mask::LOT, step, INVALID_LOT_SIZE)?;
        let bit = update_mask::MIN_NOTIONAL;
        let min_notional = field(self.min_notional, &mut mask, bit, positive, INVALID_MIN_NOTIONAL)?;
        let maker_fee =
            field(self.maker_fee_bps, &mut mask, update_mask::MAKER_FEE, rate, INVALID_MAKER_FEE)?;
        let taker_fee =
            field(self.taker_fee_bps, &mut mask, update_mask::TAKER_FEE, rate, INVALID_TAKER_FEE)?;
        Ok(UpdateMarket { market, mask, tick, lot, min_notional: min_notional.into(), maker_fee, taker_fee })
    }
}

body! {
    /// Body of PATCH /admin/spot/markets/:id/status.
    pub StatusBody { status, reason }
}

impl StatusBody<'_> {
    /// Why, for the audit log.
    pub fn reason(&self) -> Result<String, Refusal> {
        reason(self.reason)
    }

    /// The status asked for.
    pub fn status(&self) -> Result<MarketStatus, Refusal> {
        let word = self.status.and_then(text);
        word.and_then(|word| SpotMarketStatus::read_any_case(&word)).ok_or(refusal::INVALID_STATUS)
    }
}

body! {
    /// Body of POST /admin/spot/balances/credit.
    pub CreditBody { user_address, token, amount, reason }
}

impl CreditBody<'_> {
    /// Why, for the audit log.
    pub fn reason(&self) -> Result<String, Refusal> {
        reason(self.reason)
    }

    /// The command. Whether the token is one, the table of markets and the engine know. Of a long reason it has the beginning; the
    /// audit log has the whole.
    pub fn command(&self) -> Result<Credit, Refusal> {
        let address =
            self.user_address.and_then(text).and_then(|text| parse_address(&text.to_ascii_lowercase()));
        let mut credit = Credit {
            address: address.ok_or(INVALID_USER_ADDRESS)?,
            asset: name(self.token, 1).ok_or(INVALID_TOKEN)?,
            reserved: 0,
            amount: positive(self.amount).ok_or(refusal::INVALID_AMOUNT)?.into(),
            reason: [0; 64],
        };
        let reason = self.reason()?;
        let beginning = &reason.as_bytes()[..reason.floor_char_boundary(credit.reason.len())];
        credit.reason[..beginning.len()].copy_from_slice(beginning);
        Ok(credit)
    }
}

/// Faults of a new market's name and tokens.
pub const OF_NAMES: &[Refusal] = &[INVALID_ID, INVALID_BASE_TOKEN, INVALID_QUOTE_TOKEN];
/// Faults of a market's entry rules and fees.
pub const OF_RULES: &[Refusal] =
    &[INVALID_TICK_SIZE, INVALID_LOT_SIZE, INVALID_MIN_NOTIONAL, INVALID_MAKER_FEE, INVALID_TAKER_FEE];
/// Faults of a credit.
pub const OF_CREDIT: &[Refusal] =
    &[INVALID_USER_ADDRESS, INVALID_TOKEN, refusal::INVALID_AMOUNT, INVALID_REASON];

const INVALID_ID: Refusal = refusal::INVALID_ID;
const INVALID_BASE_TOKEN: Refusal = Refusal { status: 400, error: "invalid base_token" };
const INVALID_QUOTE_TOKEN: Refusal = Refusal { status: 400, error: "invalid quote_token" };
const INVALID_TICK_SIZE: Refusal = Refusal { status: 400, error: "invalid tick_size" };
const INVALID_LOT_SIZE: Refusal = Refusal { status: 400, error: "invalid lot_size" };
const INVALID_MIN_NOTIONAL: Refusal = Refusal { status: 400, error: "invalid min_notional" };
const INVALID_MAKER_FEE: Refusal = Refusal { status: 400, error: "invalid maker_fee_bps" };
const INVALID_TAKER_FEE: Refusal = Refusal { status: 400, error: "invalid taker_fee_bps" };
const INVALID_USER_ADDRESS: Refusal = Refusal { status: 400, error: "invalid user_address" };
/// Also the answer when the engine knows no such asset.
pub const INVALID_TOKEN: Refusal = Refusal { status: 400, error: "invalid token" };
/// Of every route here.
pub const INVALID_REASON: Refusal = Refusal { status: 400, error: "invalid reason" };

/// What a listing says, for the audit log.
pub fn detail_of_list(list: &ListMarket) -> String {
    let rules = rules(
        update_mask::ALL,
        list.tick,
        list.lot,
        list.min_notional.get(),
        [list.maker_fee, list.taker_fee],
    );
    format!("base={} quote={} {rules}", ids::text(&list.base), ids::text(&list.quote))
}

/// What an update says, for the audit log.
pub fn detail_of_update(update: &UpdateMarket) -> String {
    let UpdateMarket { mask, tick, lot, min_notional, maker_fee, taker_fee, .. } = *update;
    rules(mask, tick, lot, min_notional.get(), [maker_fee, taker_fee])
}

/// Entry rules and fees as members of requests spell them, those whose bits are set.
fn rules(mask: u32, tick: i64, lot: i64, least: Amount, fees: [FeeRate; 2]) -> String {
    let members = [
        (update_mask::TICK, "tick_size", Units(tick).text()),
        (update_mask::LOT, "lot_size", Units(lot).text()),
        (update_mask::MIN_NOTIONAL, "min_notional", AmountText(least).text()),
        (update_mask::MAKER_FEE, "maker_fee_bps", text_of(|out| write_bps(out, fees[0]))),
        (update_mask::TAKER_FEE, "taker_fee_bps", text_of(|out| write_bps(out, fees[1]))),
    ];
    let set = members.iter().filter(|(bit, ..)| mask & bit != 0);
    set.map(|(_, name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Why something is done: at most 256 bytes.
fn reason(member: Option<&RawValue>) -> Result<String, Refusal> {
    let Some(raw) = member else { return Ok(String::new()) };
    let sent = text(raw).filter(|reason| reason.len() <= REASON_LEN_MAX);
    Ok(sent.ok_or(INVALID_REASON)?.into_owned())
}

/// A name of `least` to `N` characters of `[A-Z0-9]`, padded.
fn name<const N: usize>(member: Option<&RawValue>, least: usize) -> Option<[u8; N]> {
    let name = member.and_then(text)?;
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    if name.len() < least || !name.bytes().all(is_name) {
        return None;
    }
    padded(&name)
}

/// A tick or lot: at most 8 decimals, > 0.
fn step(member: Option<&RawValue>) -> Option<i64> {
    number(member?, parse_entry).filter(|step| *step > 0)
}

/// An amount > 0.
fn positive(member: Option<&RawValue>) -> Option<Amount> {
    number(member?, parse_amount).filter(|amount| *amount > 0)
}

/// Basis points: a JSON number, never a string (`interface.md`).
fn rate(member: Option<&RawValue>) -> Option<FeeRate> {
    number(member.filter(|member| !member.get().starts_with('"'))?, parse_bps)
}

/// A member that may be absent; sets its bit where it is not.
fn field<T: Default>(
    member: Option<&RawValue>,
    mask: &mut u32,
    bit: u32,
    read: fn(Option<&RawValue>) -> Option<T>,
    fault: Refusal,
) -> Result<T, Refusal> {
    if member.is_none() {
        return Ok(T::default());
    }
    *mask |= bit;
    read(member).ok_or(fault)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::ids::text;
    use ringside_core::money::{AMOUNT_UNIT, UNIT};
    use serde_json::{Value, json};

    /// The error of `base` with one member replaced (removed for null), or `None` when it is taken.
    fn fault<T>(
        base: &Value,
        member: &str,
        value: Value,
        read: impl Fn(&str) -> Result<T, Refusal>,
    ) -> Option<&'static str> {
        let mut body = base.clone();
        body[member] = value;
        read(&body.to_string()).err().map(|refusal| refusal.error)
    }

    #[test]
    fn a_listing_names_its_first_bad_field() {
        let base = json!({"id": "ABCUSD", "base_token": "ABC", "quote_token": "USD", "tick_size": "0.01",
            "lot_size": 1, "min_notional": "5", "maker_fee_bps": 0, "taker_fee_bps": 10.5});
        let read = |body: &str| serde_json::from_str::<ListBody<'_>>(body).expect("json").command();
        let listed = read(&base.to_string()).expect("a listing");
        assert_eq!((text(&listed.symbol), text(&listed.base), text(&listed.quote)), ("ABCUSD", "ABC", "USD"));
        assert_eq!((listed.tick, listed.lot, listed.taker_fee), (UNIT / 100, UNIT, 105_000));
        assert_eq!(listed.min_notional.get(), 5 * AMOUNT_UNIT);
        let bad: [(&str, Vec<Value>); 8] = [
            (
                "id",
                vec![json!(null), json!("a"), json!("A"), json!("abcusd"), json!("A".repeat(21)), json!(12)],
            ),
            ("base_token", vec![json!(null), json!(""), json!("abc"), json!("A".repeat(11)), json!("A-B")]),
            ("quote_token", vec![json!(null), json!("ABC"), json!("usd")]),
            ("tick_size", vec![json!(null), json!(0), json!("0.000000001"), json!(-1), json!("1e-2")]),
            ("lot_size", vec![json!(null), json!("0"), json!("92233720369"), json!(true)]),
            ("min_notional", vec![json!(null), json!(0), json!("0.0000000000000000001")]),
            ("maker_fee_bps", vec![json!(null), json!(-1), json!(0.00001), json!(10001), json!("5")]),
            ("taker_fee_bps", vec![json!(null), json!(10000.01)]),
        ];
        for (member, values) in bad {
            for value in values {
                let error = fault(&base, member, value.clone(), read);
                assert_eq!(error, Some(format!("invalid {member}").as_str()), "{value}");
            }
        }
        assert_eq!(read("{}").err(), Some(INVALID_ID));
    }

    #[test]
    fn an_update_counts_what_it_names() {
        let read = |body: &str| serde_json::from_str::<UpdateBody<'_>>(body).expect("json").command(3);
        let mask = |body: &str| read(body).map(|update| update.mask);
        assert_eq!(mask("{}"), Ok(0));
        assert_eq!(mask(r#"{"tick_size":null,"x":1}"#), Ok(0));
        assert_eq!(
            mask(r#"{"tick_size":"0.1","taker_fee_bps":1}"#),
            Ok(update_mask::TICK | update_mask::TAKER_FEE)
        );
        assert_eq!(
            mask(r#"{"lot_size":"0.1","maker_fee_bps":1}"#),
            Ok(update_mask::LOT | update_mask::MAKER_FEE)
        );
        assert_eq!(mask(r#"{"min_notional":1,"tick_size":0}"#), Err(INVALID_TICK_SIZE));
        assert_eq!(mask(r#"{"min_notional":0}"#), Err(INVALID_MIN_NOTIONAL));
    }

    #[test]
    fn a_credit_names_its_first_bad_field() {
        let address = "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF";
        let base = json!({"user_address": address, "token": "DF", "amount": 1.5, "reason": "€".repeat(22)});
        let read = |body: &str| serde_json::from_str::<CreditBody<'_>>(body).expect("json").command();
        let credit = read(&base.to_string()).expect("a credit");
        assert_eq!((credit.address[0], credit.address[19], text(&credit.asset)), (0x2b, 0xcf, "DF"));
        assert_eq!(credit.amount.get(), 15 * AMOUNT_UNIT / 10);
        let shouted = json!({"user_address": address.to_uppercase(), "token": "DF", "amount": 1.5});
        assert_eq!(read(&shouted.to_string()).expect("a credit").address, credit.address, "lowercased here");
        assert_eq!(text(&credit.reason), "€".repeat(21), "whole characters of what fits");
        let bad: [(&str, Vec<Value>); 4] = [
            ("user_address", vec![json!(null), json!(&address[2..]), json!(format!("{address}0")), json!(5)]),
            ("token", vec![json!(null), json!(""), json!("df"), json!(5)]),
            ("amount", vec![json!(null), json!(0), json!("-1"), json!("1e3"), json!({})]),
            ("reason", vec![json!("ä".repeat(129)), json!(5)]),
        ];
        for (member, values) in bad {
            for value in values {
                let error = fault(&base, member, value.clone(), read);
                assert_eq!(error, Some(format!("invalid {member}").as_str()), "{value}");
            }
        }
        assert_eq!(fault(&base, "reason", json!(null), read), None);
    }

    #[test]
    fn a_status_is_one_of_three() {
        let read = |body: &str| serde_json::from_str::<StatusBody<'_>>(body).expect("json").status();
        assert_eq!(read(r#"{"status":"Halted"}"#), Ok(MarketStatus::Halted));
        for body in ["{}", r#"{"status":"paused"}"#, r#"{"status":1}"#, r#"{"status":null}"#] {
            assert_eq!(read(body), Err(refusal::INVALID_STATUS));
        }
    }
}
