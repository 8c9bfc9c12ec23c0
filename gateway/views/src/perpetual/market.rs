//! Perpetual markets: rules, state, prices, the newest trade, who holds positions.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::kept::Kept;
use super::super::market::MarketView;
use super::place;
use super::rows::MarketTrade;
use ringside_core::command::{PerpetualParameter, PerpetualState};
use ringside_core::event::{self, IndexState};
use ringside_core::ids::{ALL_MARKETS, AccountId, AssetName, FIRST_PERPETUAL, MarketId, Symbol, text};
use ringside_core::money::{Price, Quantity, Rate};
use ringside_core::risk::perpetual::bracket::{BracketRow, Brackets};
use ringside_core::risk::perpetual::funding;
use std::collections::BTreeSet;

/// One more than the largest number of a parameter.
const SETTINGS: usize = 41;
/// As many as version 1 of the list has.
const SETTINGS_1: usize = 41;
/// What is shown of the funding of a market.
const FUNDING: [PerpetualParameter; 2] =
    [PerpetualParameter::FundingCap, PerpetualParameter::FundingIntervalHours];
/// Trades of one taker side at one price join within this time.
const AGGREGATE_MS: i64 = 100;

/// One market.
#[derive(Clone, Debug)]
pub struct PerpetualMarket {
    /// Market id.
    pub market: MarketId,
    /// Name, padded.
    pub symbol: Symbol,
    /// Name of the base, padded.
    pub base: AssetName,
    /// Name of the margin asset, padded.
    pub quote: AssetName,
    /// When it was listed, UNIX milliseconds.
    pub listed_ms: i64,
    /// Values of its parameters, by number.
    settings: [i64; SETTINGS],
    /// When the bounds or the interval of its funding were last set, UNIX milliseconds.
    pub funding_set_ms: i64,
    /// Its brackets as told, ascending.
    pub brackets: Vec<event::PerpetualBracket>,
    /// State in force.
    pub state: PerpetualState,
    /// The last prices told; `None` before the first.
    pub price: Option<event::PerpetualPrice>,
    /// When that was, or a tick last found them as they are.
    pub price_ms: i64,
    /// When the book last changed, 0 for never.
    pub book_ms: i64,
    /// Base quantity of all long positions.
    pub open_interest: i128,
    /// Sources of the index as told, by id; a weight of 0 is one taken away.
    pub sources: Vec<event::PerpetualSource>,
    /// The newest trade.
    last: Option<MarketTrade>,
    /// Who holds a position.
    holders: BTreeSet<AccountId>,
}

impl PerpetualMarket {
    /// Its name as text.
    pub fn symbol(&self) -> &str {
        text(&self.symbol)
    }

    /// Name of the base as text.
    pub fn base(&self) -> &str {
        text(&self.base)
    }

    /// Name of the margin asset as text.
    pub fn quote(&self) -> &str {
        text(&self.quote)
    }

    /// The value of a parameter.
    pub fn setting(&self, parameter: PerpetualParameter) -> i64 {
        self.settings[parameter as usize]
    }

    /// Price step.
    pub fn tick(&self) -> Price {
        self.setting(PerpetualParameter::Tick)
    }

    /// Quantity step.
    pub fn lot(&self) -> Quantity {
        self.setting(PerpetualParameter::Lot)
    }

    /// Mark, 0 before the first.
    pub fn mark(&self) -> Price {
        self.price.map_or(0, |price| price.mark)
    }

    /// Index, 0 before the first.
    pub fn index(&self) -> Price {
        self.price.map_or(0, |price| price.index)
    }

    /// The newest trade.
    pub fn last_trade(&self) -> Option<&MarketTrade> {
        self.last.as_ref()
    }

    /// Who holds a position, ascending.
    pub fn holders(&self) -> &BTreeSet<AccountId> {
        &self.holders
    }

    /// Greatest leverage.
    pub fn leverage_max(&self) -> u32 {
        self.brackets.first().map_or(1, |bracket| bracket.leverage)
    }

    /// Its brackets ready to compute with; `None` before they were told whole.
    pub fn table(&self) -> Option<Brackets> {
        let row = |bracket: &event::PerpetualBracket| BracketRow {
            cap: bracket.cap,
            maintenance_rate: bracket.rate,
            leverage_max: bracket.leverage,
        };
        Brackets::new(&self.brackets.iter().map(row).collect::<Vec<_>>())
    }
}

/// All perpetual markets, in order of listing.
#[derive(Clone, Debug)]
pub struct MarketTable {
    markets: Vec<PerpetualMarket>,
    venue: [i64; SETTINGS],
}

impl Default for MarketTable {
    fn default() -> MarketTable {
        MarketTable { markets: Vec::new(), venue: [0; SETTINGS] }
    }
}

impl MarketTable {
    /// All of them, in order of listing.
    pub fn all(&self) -> &[PerpetualMarket] {
        &self.markets
    }

    /// The market of an id.
    pub fn get(&self, market: MarketId) -> Option<&PerpetualMarket> {
        self.markets.get(market.checked_sub(FIRST_PERPETUAL)? as usize)
    }

    /// The market of a name, whatever its case.
    pub fn by_symbol(&self, symbol: &str) -> Option<&PerpetualMarket> {
        self.markets.iter().find(|market| market.symbol().eq_ignore_ascii_case(symbol))
    }

    /// A parameter of the whole venue.
    pub fn venue(&self, parameter: PerpetualParameter) -> i64 {
        self.venue[parameter as usize]
    }

    fn at(&mut self, market: MarketId) -> Option<&mut PerpetualMarket> {
        self.markets.get_mut(market.checked_sub(FIRST_PERPETUAL)? as usize)
    }

    pub(super) fn listed(&mut self, listed: &event::PerpetualListed, spot: &MarketView, time_ms: i64) {
        assert_eq!(place(listed.market), self.markets.len(), "perpetual market ids are dense");
        let name = |asset| {
            let mut name = AssetName::default();
            let text = spot.asset_name(asset).unwrap_or("").as_bytes();
            name[..text.len()].copy_from_slice(text);
            name
        };
        self.markets.push(PerpetualMarket {
            market: listed.market,
            symbol: listed.symbol,
            base: name(listed.base),
            quote: name(listed.quote),
            listed_ms: time_ms,
            settings: [0; SETTINGS],
            funding_set_ms: time_ms,
            brackets: Vec::new(),
            state: PerpetualState::Halted,
            price: None,
            price_ms: 0,
            book_ms: time_ms,
            open_interest: 0,
            sources: Vec::new(),
            last: None,
            holders: BTreeSet::new(),
        });
    }

    pub(super) fn set(&mut self, setting: &event::PerpetualSetting, time_ms: i64) {
        let settings = match setting.market {
            ALL_MARKETS => Some(&mut self.venue),
            market => self.at(market).map(|market| {
                if FUNDING.iter().any(|parameter| *parameter as u32 == setting.parameter) {
                    market.funding_set_ms = time_ms;
                }
                &mut market.settings
            }),
        };
        if let Some(value) = settings.and_then(|settings| settings.get_mut(setting.parameter as usize)) {
            *value = setting.value;
        }
    }

    pub(super) fn bracket(&mut self, bracket: &event::PerpetualBracket) {
        let Some(market) = self.at(bracket.market) else { return };
        if bracket.bracket == 1 {
            market.brackets.clear();
        }
        market.brackets.push(*bracket);
    }

    pub(super) fn state(&mut self, changed: &event::PerpetualStateChanged) {
        let Some(market) = self.at(changed.market) else { return };
        market.state = PerpetualState::from_code(changed.state).expect("the engine emits known states");
    }

    pub(super) fn source(&mut self, source: &event::PerpetualSource) {
        let Some(market) = self.at(source.market) else { return };
        if source.manual == 1 {
            return;
        }
        match market.sources.binary_search_by_key(&source.source, |known| known.source) {
            Ok(at) => market.sources[at] = *source,
            Err(at) => market.sources.insert(at, *source),
        }
    }

    pub(super) fn price(&mut self, price: &event::PerpetualPrice, time_ms: i64) {
        let Some(market) = self.at(price.market) else { return };
        market.price = Some(*price);
        market.price_ms = time_ms;
    }

    /// A tick found the prices as they were told. Those that are held are as old as they are.
    pub(super) fn stood(&mut self, time_ms: i64) {
        let open = self.markets.iter_mut().filter(|market| market.state != PerpetualState::Closed);
        open.filter(|market| market.price.as_ref().is_some_and(is_known))
            .for_each(|market| market.price_ms = time_ms);
    }

    pub(super) fn book_changed(&mut self, market: MarketId, time_ms: i64) {
        if let Some(market) = self.at(market) {
            market.book_ms = time_ms;
        }
    }

    /// An account's position went from one quantity to another.
    pub(super) fn interest(
        &mut self,
        market: MarketId,
        account: AccountId,
        before: Quantity,
        after: Quantity,
    ) {
        let Some(market) = self.at(market) else { return };
        market.open_interest += i128::from(after.max(0)) - i128::from(before.max(0));
        match (before, after) {
            (0, 0) => {}
            (0, _) => {
                market.holders.insert(account);
            }
            (_, 0) => {
                market.holders.remove(&account);
            }
            _ => {}
        }
    }

    /// Takes in a trade of the book; the row that it is in the market's history.
    pub(super) fn traded(&mut self, trade: &event::PerpetualTrade, time_ms: i64) -> Option<MarketTrade> {
        let market = self.at(trade.market)?;
        let is_buyer_maker = u32::from(trade.taker_side == ringside_core::command::Side::Sell as u8);
        let joins = market.last.filter(|last| {
            last.is_buyer_maker == is_buyer_maker
                && last.price == trade.price
                && time_ms - last.aggregate_ms < AGGREGATE_MS
        });
        let (aggregate, aggregate_ms) = match (joins, market.last) {
            (Some(row), _) => (row.aggregate, row.aggregate_ms),
            (None, last) => (last.map_or(1, |last| last.aggregate + 1), time_ms),
        };
        let row = MarketTrade {
            trade: trade.trade,
            aggregate,
            price: trade.price,
            quantity: trade.quantity,
            value: trade.value,
            time_ms,
            aggregate_ms,
            market: trade.market,
            is_buyer_maker,
        };
        market.last = Some(row);
        Some(row)
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        save_settings(writer, &self.venue);
        writer.count(self.markets.len());
        for market in &self.markets {
            writer.fixed(&market.symbol);
            writer.fixed(&market.base);
            writer.fixed(&market.quote);
            writer.i64(market.listed_ms);
            save_settings(writer, &market.settings);
            writer.i64(market.funding_set_ms);
            writer.records(market.brackets.iter());
            writer.fixed(&[market.state as u8]);
            writer.records(market.price.iter());
            writer.i64(market.price_ms);
            writer.i64(market.book_ms);
            writer.i128(market.open_interest);
            writer.records(market.sources.iter());
            writer.records(market.last.iter());
            writer.count(market.holders.len());
            market.holders.iter().for_each(|account| writer.u64((*account).into()));
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<MarketTable, LoadError> {
        let version = reader.version(Kept::PerpetualMarkets);
        let mut table = MarketTable { venue: load_settings(reader)?, ..MarketTable::default() };
        for number in 0..reader.count()? {
            let number = u32::try_from(number).ok().filter(|number| number >> 20 == 0);
            let mut market = PerpetualMarket {
                market: FIRST_PERPETUAL + number.ok_or_else(|| reader.bad("market"))?,
                symbol: reader.fixed()?,
                base: reader.fixed()?,
                quote: reader.fixed()?,
                listed_ms: reader.i64()?,
                settings: load_settings(reader)?,
                funding_set_ms: if version >= 2 { reader.i64()? } else { 0 },
                brackets: reader.records()?,
                state: reader.code("market state", PerpetualState::from_code)?,
                price: reader.records()?.pop(),
                price_ms: reader.i64()?,
                book_ms: reader.i64()?,
                open_interest: reader.i128()?,
                sources: reader.records()?,
                last: reader.records()?.pop(),
                holders: {
                    let count = reader.count()?;
                    (0..count).map(|_| reader.uint("account")).collect::<Result<_, _>>()?
                },
            };
            if version < 2 {
                // A listing sets all parameters; of changes since nothing is known.
                market.funding_set_ms = market.listed_ms;
            }
            table.markets.push(market);
        }
        Ok(table)
    }
}

fn save_settings(writer: &mut Writer<'_>, settings: &[i64; SETTINGS]) {
    writer.count(SETTINGS);
    settings.iter().for_each(|value| writer.i64(*value));
}

/// Parameters that came later are 0.
fn load_settings(reader: &mut Reader<'_>) -> Result<[i64; SETTINGS], LoadError> {
    let count = if reader.version(Kept::PerpetualMarkets) >= 2 { reader.count()? } else { SETTINGS_1 };
    let mut settings = [0; SETTINGS];
    let known = settings.get_mut(..count).ok_or_else(|| reader.bad("settings"))?;
    for value in known {
        *value = reader.i64()?;
    }
    Ok(settings)
}

/// Whether the index comes from anywhere now, and is not the last one.
fn is_known(price: &event::PerpetualPrice) -> bool {
    !matches!(IndexState::from_code(price.index_state), None | Some(IndexState::Held | IndexState::Stale))
}

/// The premium of a sample, 10^-8 (`risk.md` 11). `None` while the index is held or stale, as no sample is taken then.
pub fn premium(price: &event::PerpetualPrice) -> Option<Rate> {
    if !is_known(price) {
        return None;
    }
    let impact = |price: Price| (price != 0).then_some(price);
    funding::premium(price.index, impact(price.impact_bid), impact(price.impact_ask))
}
