//! The configuration of perpetual markets as operators write and read it (`account.md` 13, `risk.md` 2): names and units of parameters,
//! brackets, sources, fee tiers, and what each may be where it is something else.

use super::params::{member, typed};
use super::refusal::{INVALID_PARAMETER, Refused, invalid};
use crate::fapi::params::Members;
use crate::fapi::text;
use crate::fapi::words::TradingState;
use ringside_core::command::{
    Command, DraftPerpetual, PerpetualParameter as P, PerpetualState, ScheduleVipTier, SetBrackets,
    SetPerpetualParameter, SetSource,
};
use ringside_core::ids::{ALL_MARKETS, DRAFT_MARKET, text as padded_text};
use ringside_core::money::{AMOUNT_UNIT, RATE_ONE, UNIT};
use ringside_core::risk::perpetual::bounds::{
    self, Allowed, Breach, Field, SOURCES_MAX, STALE_MS_MAX, TIERS_MAX, TierField, WEIGHT_MAX,
};
use ringside_core::risk::perpetual::bracket::BracketRow;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::configured::Change;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::operator::{FeeSchedules, KeyOfChange};
use ringside_wire::decimal;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The insurance fund that every market belongs to.
const POOL: &str = "MAIN";
/// Rows of brackets that one command carries.
const ROWS: usize = 8;
/// Longest text of what was asked for in the audit log; the commands themselves are in the journal.
const DETAIL_LEN: usize = 250;

/// In which unit a parameter is written.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    /// A price, a quantity, or a rate as a fraction of 1: at most 8 decimals.
    Eight,
    /// USDT: at most 6 decimals.
    Money,
    /// A whole number.
    Whole,
    /// Name of a spot market of this exchange, or null.
    SpotMarket,
}

/// Every parameter of a market, by name.
const PARAMETERS: [(&str, P, Unit); 28] = [
    ("tick_size", P::Tick, Unit::Eight),
    ("lot_size", P::Lot, Unit::Eight),
    ("min_price", P::MinPrice, Unit::Eight),
    ("max_price", P::MaxPrice, Unit::Eight),
    ("min_quantity", P::MinQuantity, Unit::Eight),
    ("max_quantity", P::MaxQuantity, Unit::Eight),
    ("max_market_quantity", P::MaxMarketQuantity, Unit::Eight),
    ("min_notional", P::MinNotional, Unit::Money),
    ("max_notional", P::MaxNotional, Unit::Money),
    ("max_open_orders", P::MaxOpenOrders, Unit::Whole),
    ("max_conditional", P::MaxConditionalOrders, Unit::Whole),
    ("multiplier_up", P::BandUp, Unit::Eight),
    ("multiplier_down", P::BandDown, Unit::Eight),
    ("take_bound", P::TakeBound, Unit::Eight),
    ("trigger_protect", P::TriggerProtect, Unit::Eight),
    ("liquidation_fee", P::LiquidationFee, Unit::Eight),
    ("mark_clamp", P::MarkClamp, Unit::Eight),
    ("source_clamp", P::SourceClamp, Unit::Eight),
    ("source_stale_ms", P::SourceStaleMs, Unit::Whole),
    ("min_sources", P::MinSources, Unit::Whole),
    ("impact_notional", P::ImpactNotional, Unit::Money),
    ("funding_interval_h", P::FundingIntervalHours, Unit::Whole),
    ("interest", P::Interest, Unit::Eight),
    ("damp", P::Damp, Unit::Eight),
    ("funding_cap", P::FundingCap, Unit::Eight),
    ("dynamic_band", P::DynamicBand, Unit::Eight),
    ("dynamic_reference_s", P::DynamicReferenceSeconds, Unit::Whole),
    ("spot_market", P::SpotMarket, Unit::SpotMarket),
];

/// A source of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Number of its feed in the market.
    pub feed: u32,
    /// Its weight.
    pub weight: u32,
    /// Age after which it is not fresh, milliseconds; 0: as the market says.
    pub stale_ms: u32,
}

/// What an operator wants of a market.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Name, of a listing.
    pub symbol: Option<String>,
    /// Name of the base, of a listing.
    pub base: Option<String>,
    /// Parameters that are named, each once.
    pub parameters: Vec<(P, i64)>,
    /// The band around the mark was named by its one width.
    has_band: bool,
    /// The whole table.
    pub brackets: Option<Vec<BracketRow>>,
    /// The whole list.
    pub sources: Option<Vec<Source>>,
    /// The state that it is to have.
    pub state: Option<PerpetualState>,
    /// What was said of it before is wanted all the same.
    pub confirm: bool,
    /// The reason that the operator gave.
    pub reason: String,
}

impl Wanted {
    /// Of a body. `members` are the names, parameters apart, that the route knows; `spot` finds spot markets by name.
    pub fn read(
        body: &[u8],
        members: &[&str],
        has_parameters: bool,
        spot: impl Fn(&str) -> Option<u32>,
    ) -> Result<Wanted, Refused> {
        let text = std::str::from_utf8(body).ok();
        let sent = text.and_then(Members::read).ok_or_else(|| invalid("body"))?;
        let mut wanted = Wanted::default();
        for (at, (name, raw)) in sent.0.iter().enumerate() {
            let name = name.as_ref();
            if sent.0[..at].iter().any(|(other, _)| other == name) {
                return Err(INVALID_PARAMETER.saying(format!("{name}: sent twice")));
            }
            let raw: &RawValue = serde_json::from_str(raw).map_err(|_| invalid(name))?;
            let parameter = PARAMETERS.iter().find(|(known, ..)| has_parameters && *known == name);
            match name {
                _ if parameter.is_some() => {
                    if let Some(&(name, parameter, unit)) = parameter
                        && (unit == Unit::SpotMarket || member(Some(raw)).is_some())
                    {
                        wanted.add(name, parameter, value(name, raw, unit, &spot)?)?;
                    }
                }
                "price_band" if has_parameters && member(Some(raw)).is_none() => {}
                "price_band" if has_parameters => {
                    let band = value(name, raw, Unit::Eight, &spot)?;
                    wanted.add(name, P::BandUp, RATE_ONE.saturating_add(band))?;
                    wanted.add(name, P::BandDown, RATE_ONE.saturating_sub(band))?;
                    wanted.has_band = true;
                }
                "pool" if has_parameters => {
                    let pool: Option<String> = typed(name, Some(raw))?;
                    if pool.is_some_and(|pool| pool != POOL) {
                        return Err(INVALID_PARAMETER.saying(format!("pool: may be {POOL}")));
                    }
                }
                _ if !members.contains(&name) => {
                    return Err(INVALID_PARAMETER.saying(format!("{name}: there is no such parameter")));
                }
                "symbol" => wanted.symbol = typed(name, Some(raw))?,
                "base" => wanted.base = typed(name, Some(raw))?,
                "brackets" => wanted.brackets = member(Some(raw)).map(brackets).transpose()?,
                "sources" => wanted.sources = member(Some(raw)).map(sources).transpose()?,
                "state" => {
                    wanted.state = typed(name, Some(raw))?.map(|word: String| state(&word)).transpose()?
                }
                "confirm" => wanted.confirm = typed(name, Some(raw))?.unwrap_or(false),
                "reason" => wanted.reason = typed(name, Some(raw))?.unwrap_or_default(),
                _ => {}
            }
        }
        Ok(wanted)
    }

    fn add(&mut self, name: &str, parameter: P, value: i64) -> Result<(), Refused> {
        if self.parameters.iter().any(|(known, _)| *known == parameter) {
            return Err(INVALID_PARAMETER.saying(format!("{name}: beside multiplier_up or multiplier_down")));
        }
        self.parameters.push((parameter, value));
        Ok(())
    }

    /// The value of a parameter, where it is named.
    pub fn get(&self, parameter: P) -> Option<i64> {
        self.parameters.iter().find(|(known, _)| *known == parameter).map(|(_, value)| *value)
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.parameters.is_empty() && self.brackets.is_none() && self.sources.is_none()
    }

    /// Judges a market as it would be: the first bound that is broken, with what its field may be. `market`: as it is, `None` for a
    /// new one.
    pub fn judge(&self, market: Option<&PerpetualMarket>, spot_markets: usize) -> Result<(), Refused> {
        let refused = |breach| self.refused(breach);
        let steps = [P::Tick, P::Lot].map(|step| {
            let now = market.map_or(0, |market| market.setting(step));
            self.get(step).unwrap_or(now)
        });
        bounds::check_steps(steps[0], steps[1], P::Lot).map_err(refused)?;
        let rows = match (&self.brackets, market) {
            (Some(rows), _) => rows.clone(),
            (None, Some(market)) => rows_of(market),
            (None, None) => Vec::new(),
        };
        let brackets = bounds::table(&rows).map_err(refused)?;
        let get = |parameter| {
            let named = self.get(parameter);
            named.unwrap_or_else(|| match market {
                Some(market) => market.setting(parameter),
                None => bounds::default_of(parameter, &brackets, (steps[0], steps[1])),
            })
        };
        bounds::check_all(get, &rows, spot_markets).map(|_| ()).map_err(refused)
    }

    /// A breach in the words of the request.
    fn refused(&self, breach: Breach) -> Refused {
        let name = match breach.field {
            Field::Parameter(P::BandUp | P::BandDown) if self.has_band => {
                return INVALID_PARAMETER.saying("price_band: may be 0 to 1");
            }
            Field::Parameter(parameter) => name_of(parameter).to_owned(),
            Field::Brackets => "brackets".to_owned(),
            Field::Cap(row) => format!("brackets[{row}].notional_cap"),
            Field::Leverage(row) => format!("brackets[{row}].max_leverage"),
            Field::Rate(row) => format!("brackets[{row}].maint_margin_ratio"),
        };
        let unit = match breach.field {
            Field::Parameter(parameter) => unit_of(parameter),
            Field::Cap(_) => Unit::Money,
            Field::Rate(_) => Unit::Eight,
            Field::Brackets | Field::Leverage(_) => Unit::Whole,
        };
        INVALID_PARAMETER.saying(match (breach.field, breach.allowed) {
            (Field::Brackets, Allowed::Range(low, high)) => format!("brackets: may be {low} to {high} rows"),
            (Field::Parameter(P::SpotMarket), _) => "spot_market: may be a spot market or null".to_owned(),
            (_, Allowed::Range(low, high)) if high < low => {
                format!("{name}: no value is possible beside the others")
            }
            (_, Allowed::Range(low, high)) => {
                format!("{name}: may be {} to {}", written(low, unit), written(high, unit))
            }
            (_, Allowed::Interval) => format!("{name}: may be 1, 2, 4 or 8"),
            (_, Allowed::Step) => format!("{name}: tick_size x lot_size must be a multiple of 0.000001"),
            (_, Allowed::WholeMicros) => {
                format!("{name}: the change of the rate must be worth whole millionths of USDT there")
            }
        })
    }

    /// The commands that collect it, first the draft's own. `market`: which is changed, 0 to list one of these names.
    pub fn draft(&self, draft: DraftPerpetual) -> Vec<Command> {
        let mut commands = vec![Command::new(draft)];
        let market = DRAFT_MARKET;
        for &(parameter, value) in &self.parameters {
            let parameter = parameter as u32;
            commands.push(Command::new(SetPerpetualParameter { market, parameter, value }));
        }
        for (part, rows) in self.brackets.iter().flat_map(|rows| rows.chunks(ROWS)).enumerate() {
            let mut set =
                SetBrackets { market, count: 0, caps: [0; ROWS], leverages: [0; ROWS], rates: [0; ROWS] };
            set.count = rows.len() as u32 | (part as u32) << 16;
            for (at, row) in rows.iter().enumerate() {
                (set.caps[at], set.leverages[at]) = (row.cap, row.leverage_max);
                // Judged before: below 1.
                set.rates[at] = u32::try_from(row.maintenance_rate).unwrap_or(u32::MAX);
            }
            commands.push(Command::new(set));
        }
        if let Some(sources) = &self.sources {
            let source = |source: &Source| SetSource {
                market,
                source: source.feed,
                weight: source.weight,
                stale_ms: source.stale_ms,
            };
            commands.extend(sources.iter().map(|row| Command::new(source(row))));
            if sources.is_empty() {
                // A list of none.
                commands.push(Command::new(SetSource { market, source: 0, weight: 0, stale_ms: 0 }));
            }
        }
        commands
    }

    /// What was asked for, in short.
    pub fn detail(&self) -> String {
        let mut parts = Vec::new();
        parts.extend(self.base.iter().map(|base| format!("base={base}")));
        for &(parameter, value) in &self.parameters {
            parts.push(format!("{}={}", name_of(parameter), written(value, unit_of(parameter))));
        }
        if let Some(rows) = &self.brackets {
            let row = |row: &BracketRow| {
                format!(
                    "{}:{}:{}",
                    text::micros(row.cap),
                    row.leverage_max,
                    text::units8(row.maintenance_rate)
                )
            };
            parts.push(format!("brackets={}", rows.iter().map(row).collect::<Vec<_>>().join(",")));
        }
        if let Some(sources) = &self.sources {
            let row = |row: &Source| format!("{}:{}:{}", row.feed, row.weight, row.stale_ms);
            parts.push(format!("sources={}", sources.iter().map(row).collect::<Vec<_>>().join(",")));
        }
        parts.extend(self.state.iter().map(|state| format!("state={}", TradingState::of(*state).text())));
        let mut detail = parts.join(" ");
        if detail.len() > DETAIL_LEN {
            detail.truncate(detail.floor_char_boundary(DETAIL_LEN));
            detail.push_str("...");
        }
        detail
    }

    /// Whether a market is already as it is wanted, as far as that is said.
    pub fn is_met(&self, market: &PerpetualMarket, views: &Perpetuals) -> bool {
        let sources = sources_of(market, views);
        let sorted = |mut list: Vec<Source>| {
            list.sort_unstable_by_key(|source| source.feed);
            list
        };
        self.base.as_ref().is_none_or(|base| base == market.base())
            && self.parameters.iter().all(|(parameter, value)| market.setting(*parameter) == *value)
            && self.brackets.as_ref().is_none_or(|rows| *rows == rows_of(market))
            && self.sources.as_ref().is_none_or(|wanted| sorted(wanted.clone()) == sorted(sources))
    }
}

fn name_of(parameter: P) -> &'static str {
    PARAMETERS.iter().find(|(_, known, _)| *known == parameter).map_or("", |(name, ..)| name)
}

fn unit_of(parameter: P) -> Unit {
    PARAMETERS.iter().find(|(_, known, _)| *known == parameter).map_or(Unit::Whole, |(.., unit)| *unit)
}

fn written(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Eight => text::units8(value),
        Unit::Money => text::micros(value),
        Unit::Whole | Unit::SpotMarket => value.to_string(),
    }
}

/// A number sent as text or as a number, in steps of 10^-18; it may be below 0.
fn signed(raw: &RawValue) -> Option<i128> {
    let sent = raw.get();
    match sent.strip_prefix('-') {
        Some(rest) => decimal::of_json(rest, decimal::parse_any).map(|amount| -amount),
        None => decimal::of_json(sent, |text| match text {
            [b'-', rest @ ..] => decimal::parse_any(rest).map(|amount| -amount),
            text => decimal::parse_any(text),
        }),
    }
}

/// A number in whole steps of its unit; beyond what a word holds, the most that it does, which no bound allows.
fn in_steps(name: &str, raw: &RawValue, one: i128, decimals: &str) -> Result<i64, Refused> {
    let amount = signed(raw).ok_or_else(|| invalid(name))?;
    if amount % (AMOUNT_UNIT / one) != 0 {
        return Err(INVALID_PARAMETER.saying(format!("{name}: at most {decimals} decimals")));
    }
    let steps = amount / (AMOUNT_UNIT / one);
    Ok(i64::try_from(steps).unwrap_or(if steps < 0 { i64::MIN } else { i64::MAX }))
}

fn eight(name: &str, raw: &RawValue) -> Result<i64, Refused> {
    in_steps(name, raw, UNIT.into(), "8")
}

fn money(name: &str, raw: &RawValue) -> Result<i64, Refused> {
    in_steps(name, raw, 1_000_000, "6")
}

fn whole(name: &str, raw: &RawValue) -> Result<i64, Refused> {
    in_steps(name, raw, 1, "0")
}

fn value(
    name: &str,
    raw: &RawValue,
    unit: Unit,
    spot: &impl Fn(&str) -> Option<u32>,
) -> Result<i64, Refused> {
    match unit {
        Unit::Eight => eight(name, raw),
        Unit::Money => money(name, raw),
        Unit::Whole => whole(name, raw),
        Unit::SpotMarket => match typed::<String>(name, Some(raw))? {
            None => Ok(-1),
            Some(market) => spot(&market).map(i64::from).ok_or_else(|| {
                INVALID_PARAMETER.saying("spot_market: may be a spot market of this exchange or null")
            }),
        },
    }
}

/// A state by its word.
pub fn state(word: &str) -> Result<PerpetualState, Refused> {
    TradingState::read(word).ok_or_else(|| invalid("state"))
}

body! {
    #[serde(deny_unknown_fields)]
    BracketBody {
        #[serde(alias = "notionalCap")]
        notional_cap,
        #[serde(alias = "initialLeverage")]
        max_leverage,
        #[serde(alias = "maintMarginRatio")]
        maint_margin_ratio,
        // What GET leverageBracket shows beside them follows from these three.
        #[serde(rename = "bracket")]
        _bracket,
        #[serde(rename = "notionalFloor", alias = "notional_floor")]
        _floor,
        #[serde(rename = "cum")]
        _cumulated,
    }

    #[serde(deny_unknown_fields)]
    SourceBody {
        feed,
        weight,
        #[serde(alias = "staleness")]
        stale_ms,
    }
}

fn list<'a, T: serde::Deserialize<'a>>(name: &str, raw: &'a RawValue) -> Result<Vec<T>, Refused> {
    let rows: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|_| invalid(name))?;
    let row = |(at, row): (usize, &&'a RawValue)| {
        serde_json::from_str(row.get())
            .map_err(|error| INVALID_PARAMETER.saying(format!("{name}[{at}]: {error}")))
    };
    rows.iter().enumerate().map(row).collect()
}

fn brackets(raw: &RawValue) -> Result<Vec<BracketRow>, Refused> {
    let rows: Vec<BracketBody<'_>> = list("brackets", raw)?;
    let row = |(at, row): (usize, &BracketBody<'_>)| {
        let part = |part: &str| format!("brackets[{at}].{part}");
        let sent = |name: &str, raw: Option<&RawValue>, read: fn(&str, &RawValue) -> Result<i64, Refused>| {
            let name = part(name);
            read(&name, member(raw).ok_or_else(|| invalid(&name))?)
        };
        let leverage = sent("max_leverage", row.max_leverage, whole)?;
        Ok(BracketRow {
            cap: sent("notional_cap", row.notional_cap, money)?,
            // Out of a word, it is out of its bounds as well.
            leverage_max: u32::try_from(leverage).unwrap_or(if leverage < 0 { 0 } else { u32::MAX }),
            maintenance_rate: sent("maint_margin_ratio", row.maint_margin_ratio, eight)?,
        })
    };
    rows.iter().enumerate().map(row).collect()
}

fn sources(raw: &RawValue) -> Result<Vec<Source>, Refused> {
    let rows: Vec<SourceBody<'_>> = list("sources", raw)?;
    if rows.len() > SOURCES_MAX {
        return Err(INVALID_PARAMETER.saying(format!("sources: may be 0 to {SOURCES_MAX} rows")));
    }
    let mut sources: Vec<Source> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let sent = |name: &str, raw: Option<&RawValue>, low: u32, high: u32| {
            let name = format!("sources[{at}].{name}");
            let value = whole(&name, member(raw).ok_or_else(|| invalid(&name))?)?;
            let value = u32::try_from(value).ok().filter(|value| (low..=high).contains(value));
            value.ok_or_else(|| INVALID_PARAMETER.saying(format!("{name}: may be {low} to {high}")))
        };
        let stale_ms = match member(row.stale_ms) {
            None => 0,
            some => sent("stale_ms", some, 0, STALE_MS_MAX)?,
        };
        let feed = sent("feed", row.feed, 0, u32::MAX)?;
        if sources.iter().any(|other| other.feed == feed) {
            return Err(INVALID_PARAMETER.saying(format!("sources[{at}].feed: {feed} stands twice")));
        }
        sources.push(Source { feed, weight: sent("weight", row.weight, 1, WEIGHT_MAX)?, stale_ms });
    }
    Ok(sources)
}

fn rows_of(market: &PerpetualMarket) -> Vec<BracketRow> {
    let row = |row: &ringside_core::event::PerpetualBracket| BracketRow {
        cap: row.cap,
        maintenance_rate: row.rate,
        leverage_max: row.leverage,
    };
    market.brackets.iter().map(row).collect()
}

fn sources_of(market: &PerpetualMarket, views: &Perpetuals) -> Vec<Source> {
    let of = market.sources.iter().filter(|source| source.weight > 0);
    of.map(|source| Source {
        feed: source.source,
        weight: source.weight,
        stale_ms: views.configured().source_age(market.market, source.source),
    })
    .collect()
}

/// Everything configured of a market, and who changed it last. `spot` names spot markets.
pub fn shown(market: &PerpetualMarket, views: &Perpetuals, spot: impl Fn(u32) -> Option<String>) -> Value {
    let mut shown = json!({
        "symbol": market.symbol(),
        "base": market.base(),
        "quote": market.quote(),
        "state": TradingState::of(market.state),
        "pool": POOL,
    });
    for (name, parameter, unit) in PARAMETERS {
        let value = market.setting(parameter);
        shown[name] = match unit {
            Unit::Whole => json!(value),
            Unit::SpotMarket => json!(u32::try_from(value).ok().and_then(&spot)),
            unit => json!(written(value, unit)),
        };
    }
    let bracket = |row: &ringside_core::event::PerpetualBracket| {
        json!({
            "notional_cap": text::micros(row.cap),
            "max_leverage": row.leverage,
            "maint_margin_ratio": text::units8(row.rate),
            "cum": text::micros(row.cumulated),
        })
    };
    shown["brackets"] = market.brackets.iter().map(bracket).collect();
    let prices =
        |feed: u32| market.sources.iter().find(|told| told.source == feed).map_or(0, |told| told.price);
    let source = |source: &Source| {
        let price = prices(source.feed);
        json!({
            "feed": source.feed,
            "weight": source.weight,
            "stale_ms": if source.stale_ms == 0 { market.setting(P::SourceStaleMs) } else { source.stale_ms.into() },
            "price": (price != 0).then(|| text::units8(price)),
        })
    };
    shown["sources"] = sources_of(market, views).iter().map(source).collect();
    shown["listed_at"] = json!(market.listed_ms);
    let (at, by, with) = changed(views.configured().change(market.market));
    shown["changed_at"] = json!(at);
    shown["changed_by"] = json!(by);
    shown["changed_with"] = json!(with);
    shown
}

/// When something was changed last, by whom, and how that is known.
fn changed(change: Option<&Change>) -> (Option<i64>, Option<String>, Option<KeyOfChange>) {
    let by = change.map(|change| padded_text(&change.operator)).filter(|name| !name.is_empty());
    let with = |change: &Change| if change.proven == 1 { KeyOfChange::Own } else { KeyOfChange::Shared };
    (change.map(|change| change.time_ms), by.map(str::to_owned), by.and(change).map(with))
}

body! {
    #[serde(deny_unknown_fields)]
    TierBody {
        min_volume_14d,
        maker_rate,
        taker_rate,
        // What GET shows beside them follows from their order.
        #[serde(rename = "tier")]
        _tier,
        #[serde(rename = "name")]
        _name,
    }
}

/// The tiers of a schedule, lowest first.
pub fn tiers(raw: Option<&RawValue>) -> Result<Vec<ScheduleVipTier>, Refused> {
    let raw = member(raw).ok_or_else(|| invalid("schedule"))?;
    let rows: Vec<TierBody<'_>> = list("schedule", raw)?;
    if !(1..=TIERS_MAX).contains(&rows.len()) {
        return Err(INVALID_PARAMETER.saying(format!("schedule: may be 1 to {TIERS_MAX} tiers")));
    }
    let mut tiers: Vec<ScheduleVipTier> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let sent = |part: &str, raw: Option<&RawValue>, read: fn(&str, &RawValue) -> Result<i64, Refused>| {
            let name = format!("schedule[{at}].{part}");
            read(&name, member(raw).ok_or_else(|| invalid(&name))?)
        };
        let volume = sent("min_volume_14d", row.min_volume_14d, money)?;
        let maker_rate = sent("maker_rate", row.maker_rate, eight)?;
        let taker_rate = sent("taker_rate", row.taker_rate, eight)?;
        let below = tiers.last().map(|tier| tier.volume);
        bounds::check_tier(below, (volume, maker_rate, taker_rate)).map_err(|breach| {
            let (part, unit) = match breach.field {
                TierField::Volume => ("min_volume_14d", Unit::Money),
                TierField::Maker => ("maker_rate", Unit::Eight),
                TierField::Taker => ("taker_rate", Unit::Eight),
            };
            let (low, high) = (written(breach.low, unit), written(breach.high, unit));
            INVALID_PARAMETER.saying(format!("schedule[{at}].{part}: may be {low} to {high}"))
        })?;
        let (tier, count) = (at as u32, rows.len() as u32);
        tiers.push(ScheduleVipTier { tier, count, volume, maker_rate, taker_rate });
    }
    Ok(tiers)
}

/// A schedule in short.
pub fn detail_of_tiers(tiers: &[ScheduleVipTier]) -> String {
    let row = |tier: &ScheduleVipTier| {
        let [maker, taker] = [tier.maker_rate, tier.taker_rate].map(text::units8);
        format!("{}:{maker}:{taker}", text::micros(tier.volume))
    };
    tiers.iter().map(row).collect::<Vec<_>>().join(" ")
}

/// The fee schedule in force, the one to come, and who changed them last.
pub fn schedules(views: &Perpetuals) -> FeeSchedules {
    let (changed_at, changed_by, changed_with) = changed(views.configured().change(ALL_MARKETS));
    FeeSchedules {
        changed_at,
        changed_by,
        changed_with,
        next: super::fees::next_schedule(views),
        schedule: views.accounts().tiers().iter().map(super::fees::tier).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Wanted, String> {
        let members = ["symbol", "base", "brackets", "sources", "state", "confirm", "reason"];
        let spot = |name: &str| (name == "BTCSPOT").then_some(3);
        Wanted::read(body.as_bytes(), &members, true, spot).map_err(|refused| refused.message.into_owned())
    }

    #[test]
    fn every_parameter_has_a_name_and_a_unit() {
        let named: Vec<P> = PARAMETERS.iter().map(|(_, parameter, _)| *parameter).collect();
        let all: Vec<P> =
            P::ALL.iter().copied().filter(|parameter| bounds::is_of_market(*parameter)).collect();
        assert_eq!(named, all);
    }

    #[test]
    fn values_are_read_in_their_units() {
        let wanted = read(
            r#"{"tick_size":"0.1","lot_size":0.001,"min_notional":"5.5","max_open_orders":7,"interest":"-0.0001",
                "price_band":"0.1","spot_market":"BTCSPOT","mark_clamp":null,"pool":"MAIN","state":"HALTED",
                "sources":[{"feed":1,"weight":2,"staleness":500},{"feed":2,"weight":1}],
                "brackets":[{"notionalCap":"1000","initialLeverage":"20","maintMarginRatio":"0.01","cum":0}]}"#,
        )
        .unwrap();
        let expected = [
            (P::Tick, 10_000_000),
            (P::Lot, 100_000),
            (P::MinNotional, 5_500_000),
            (P::MaxOpenOrders, 7),
            (P::Interest, -10_000),
            (P::BandUp, 110_000_000),
            (P::BandDown, 90_000_000),
            (P::SpotMarket, 3),
        ];
        assert_eq!(wanted.parameters, expected);
        assert_eq!(wanted.sources.as_ref().unwrap()[0], Source { feed: 1, weight: 2, stale_ms: 500 });
        let row = BracketRow { cap: 1_000_000_000, maintenance_rate: 1_000_000, leverage_max: 20 };
        assert_eq!(
            (wanted.brackets.as_deref(), wanted.state),
            (Some(&[row][..]), Some(PerpetualState::Halted))
        );
        assert_eq!(
            wanted.detail(),
            "tick_size=0.1 lot_size=0.001 min_notional=5.5 max_open_orders=7 interest=-0.0001 multiplier_up=1.1 \
             multiplier_down=0.9 spot_market=3 brackets=1000:20:0.01 sources=1:2:500,2:1:0 state=HALTED"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (body, message) in [
            ("[]", "body: missing or malformed"),
            (r#"{"tick":1}"#, "tick: there is no such parameter"),
            (r#"{"tick_size":1,"tick_size":2}"#, "tick_size: sent twice"),
            (r#"{"tick_size":"x"}"#, "tick_size: missing or malformed"),
            (r#"{"tick_size":"0.000000001"}"#, "tick_size: at most 8 decimals"),
            (r#"{"min_notional":"0.0000001"}"#, "min_notional: at most 6 decimals"),
            (r#"{"min_sources":1.5}"#, "min_sources: at most 0 decimals"),
            (
                r#"{"price_band":"0.1","multiplier_up":"1.2"}"#,
                "multiplier_up: beside multiplier_up or multiplier_down",
            ),
            (r#"{"pool":"OTHER"}"#, "pool: may be MAIN"),
            (r#"{"spot_market":"NONE"}"#, "spot_market: may be a spot market of this exchange or null"),
            (r#"{"state":"OPEN"}"#, "state: missing or malformed"),
            (r#"{"brackets":{}}"#, "brackets: missing or malformed"),
            (
                r#"{"brackets":[{"notional_cap":1,"max_leverage":1}]}"#,
                "brackets[0].maint_margin_ratio: missing or malformed",
            ),
            (r#"{"sources":[{"feed":1,"weight":0}]}"#, "sources[0].weight: may be 1 to 1000000"),
            (
                r#"{"sources":[{"feed":1,"weight":1,"stale_ms":600001}]}"#,
                "sources[0].stale_ms: may be 0 to 600000",
            ),
            (
                r#"{"sources":[{"feed":1,"weight":1},{"feed":1,"weight":2}]}"#,
                "sources[1].feed: 1 stands twice",
            ),
            (r#"{"sources":[{"feed":-1,"weight":1}]}"#, "sources[0].feed: may be 0 to 4294967295"),
        ] {
            assert_eq!(read(body).unwrap_err(), message, "{body}");
        }
        let unknown = read(r#"{"brackets":[{"cap":1}]}"#).unwrap_err();
        assert!(unknown.starts_with("brackets[0]: unknown field `cap`"), "{unknown}");
    }

    #[test]
    fn bounds_are_told_in_the_units_of_the_request() {
        let list = |more: &str| {
            let brackets = r#"[{"notional_cap":"50000","max_leverage":125,"maint_margin_ratio":"0.004"}]"#;
            let body = format!(r#"{{"tick_size":"0.1","lot_size":"0.001","brackets":{brackets}{more}}}"#);
            read(&body).unwrap().judge(None, 1).map_err(|refused| refused.message.into_owned())
        };
        assert_eq!(list(""), Ok(()));
        for (more, message) in [
            (r#","mark_clamp":"0.00398407""#, "mark_clamp: may be 0 to 0.00398406"),
            (r#","liquidation_fee":"0.004""#, "liquidation_fee: may be 0 to 0.00399999"),
            (r#","funding_cap":"0.0031""#, "funding_cap: may be 0 to 0.003"),
            (r#","funding_interval_h":3"#, "funding_interval_h: may be 1, 2, 4 or 8"),
            (r#","price_band":"1.5""#, "price_band: may be 0 to 1"),
            (r#","multiplier_up":"0.9""#, "multiplier_up: may be 1 to 10"),
            (r#","min_notional":"9000000""#, "min_notional: may be 0 to 5000000"),
            (r#","max_notional":"99999999999""#, "max_notional: may be 1 to 1000000000"),
            (r#","max_open_orders":0"#, "max_open_orders: may be 1 to 10000"),
            (r#","interest":-2"#, "interest: may be -1 to 1"),
        ] {
            let said = list(more).unwrap_err();
            let said = said.replace("0.000001 to", "1 to");
            assert_eq!(said, message, "{more}");
        }
        let brackets = |rows: &str| {
            let body = format!(r#"{{"tick_size":"0.1","lot_size":"0.001","brackets":{rows}}}"#);
            read(&body).unwrap().judge(None, 0).unwrap_err().message.into_owned()
        };
        assert_eq!(brackets("[]"), "brackets: may be 1 to 16 rows");
        assert_eq!(
            brackets(r#"[{"notional_cap":"50000","max_leverage":126,"maint_margin_ratio":"0.004"}]"#),
            "brackets[0].max_leverage: may be 1 to 125"
        );
        assert_eq!(
            brackets(r#"[{"notional_cap":"50000","max_leverage":125,"maint_margin_ratio":"0.009"}]"#),
            "brackets[0].maint_margin_ratio: may be 0.00000001 to 0.008"
        );
        let steps = read(r#"{"tick_size":"0.001","lot_size":"0.0001","brackets":[]}"#).unwrap();
        assert_eq!(
            steps.judge(None, 0).unwrap_err().message,
            "lot_size: tick_size x lot_size must be a multiple of 0.000001"
        );
    }

    #[test]
    fn tiers_are_judged_one_by_one() {
        let read = |body: &str| {
            let raw: &RawValue = serde_json::from_str(body).unwrap();
            tiers(Some(raw)).map_err(|refused| refused.message.into_owned())
        };
        let rows = read(
            r#"[{"min_volume_14d":0,"maker_rate":"-0.00005","taker_rate":"0.0005","name":"VIP 0"},
            {"tier":1,"min_volume_14d":"1000","maker_rate":0,"taker_rate":0}]"#,
        )
        .unwrap();
        assert_eq!((rows[0].maker_rate, rows[1].volume, rows[1].count), (-5_000, 1_000_000_000, 2));
        assert_eq!(detail_of_tiers(&rows), "0:-0.00005:0.0005 1000:0:0");
        for (body, message) in [
            ("[]", "schedule: may be 1 to 16 tiers"),
            ("{}", "schedule: missing or malformed"),
            (
                r#"[{"min_volume_14d":1,"maker_rate":0,"taker_rate":0}]"#,
                "schedule[0].min_volume_14d: may be 0 to 0",
            ),
            (r#"[{"min_volume_14d":0,"maker_rate":0}]"#, "schedule[0].taker_rate: missing or malformed"),
            (
                r#"[{"min_volume_14d":0,"maker_rate":"0.02","taker_rate":0}]"#,
                "schedule[0].maker_rate: may be -0.01 to 0.01",
            ),
            (
                r#"[{"min_volume_14d":0,"maker_rate":"-0.001","taker_rate":0}]"#,
                "schedule[0].taker_rate: may be 0.001 to 0.01",
            ),
        ] {
            assert_eq!(read(body).unwrap_err(), message, "{body}");
        }
    }
}
