//! Markets and assets: configuration and status, by id and by name. Prices and books are elsewhere.
//!
//! The whole view is small and changes only when an administrator acts, so it is shared as one immutable table: order entry
//! reads it without a lock that the fold could hold (see `egress`).

use super::codec::{LoadError, Reader, Writer};
use ringside_core::command::{MarketKind, MarketStatus};
use ringside_core::event;
use ringside_core::ids::{AssetId, AssetName, MarketId, Symbol, text};
use ringside_core::money::{Amount, FeeRate, Price, Quantity, kept_rate, rate_of_kept};
use std::collections::BTreeSet;

/// One market as it now is. The names of its assets stand beside their ids, so that a reply needs one record only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarketRecord {
    /// Market id.
    pub market: MarketId,
    /// Name, padded.
    pub symbol: Symbol,
    /// What is traded.
    pub base: AssetId,
    /// What is paid.
    pub quote: AssetId,
    /// Name of the base asset, padded.
    pub base_name: AssetName,
    /// Name of the quote asset, padded.
    pub quote_name: AssetName,
    /// Price step.
    pub tick: Price,
    /// Quantity step.
    pub lot: Quantity,
    /// Least notional.
    pub min_notional: Amount,
    /// Fee of the resting side.
    pub maker_fee: FeeRate,
    /// Fee of the arriving side.
    pub taker_fee: FeeRate,
    /// Most open orders of one account.
    pub max_open_orders: u32,
    /// What settles its trades.
    pub kind: MarketKind,
    /// Whether it trades.
    pub status: MarketStatus,
}

impl MarketRecord {
    /// Its name as text.
    pub fn symbol(&self) -> &str {
        text(&self.symbol)
    }

    /// The base asset's name as text.
    pub fn base_name(&self) -> &str {
        text(&self.base_name)
    }

    /// The quote asset's name as text.
    pub fn quote_name(&self) -> &str {
        text(&self.quote_name)
    }
}

/// Tokens that every deployment has (`spot.md` 5).
const TOKENS: [&str; 2] = ["DF", "USDT"];

/// All markets, delisted ones included, and all assets.
#[derive(Clone, Debug, Default)]
pub struct MarketView {
    /// Indexed by asset.
    assets: Vec<AssetName>,
    /// Indexed by market.
    markets: Vec<MarketRecord>,
    /// Markets in order of their symbols.
    by_symbol: Vec<(Symbol, MarketId)>,
    /// Assets that a contract of a chain is; the bytes of views have them elsewhere.
    on_chain: BTreeSet<AssetId>,
}

impl MarketView {
    pub(super) fn asset_created(&mut self, created: &event::AssetCreated) {
        assert_eq!(usize::from(created.asset), self.assets.len(), "asset ids are dense");
        self.assets.push(created.name);
    }

    /// An asset is a token of a chain.
    pub(super) fn has_token(&mut self, asset: AssetId) {
        self.on_chain.insert(asset);
    }

    pub(super) fn changed(&mut self, changed: &event::Market) {
        let name = |asset: AssetId| self.assets.get(usize::from(asset)).copied().unwrap_or_default();
        self.put(MarketRecord {
            market: changed.market,
            symbol: changed.symbol,
            base: changed.base,
            quote: changed.quote,
            base_name: name(changed.base),
            quote_name: name(changed.quote),
            tick: changed.tick,
            lot: changed.lot,
            min_notional: changed.min_notional.get(),
            maker_fee: changed.maker_fee,
            taker_fee: changed.taker_fee,
            max_open_orders: changed.max_open_orders,
            kind: MarketKind::from_code(changed.kind).expect("the engine emits known kinds"),
            status: MarketStatus::from_code(changed.status).expect("the engine emits known statuses"),
        });
    }

    fn put(&mut self, record: MarketRecord) {
        let index = record.market as usize;
        if let Some(market) = self.markets.get_mut(index) {
            *market = record;
            return;
        }
        assert_eq!(index, self.markets.len(), "market ids are dense");
        self.markets.push(record);
        let place = self.by_symbol.partition_point(|(symbol, _)| *symbol < record.symbol);
        self.by_symbol.insert(place, (record.symbol, record.market));
    }

    /// The market of an id.
    pub fn get(&self, market: MarketId) -> Option<&MarketRecord> {
        self.markets.get(market as usize)
    }

    /// The market of a symbol, whatever its case; `None` also for text that no symbol can be.
    pub fn by_symbol(&self, symbol: &str) -> Option<&MarketRecord> {
        // It would be taken for the padding.
        if symbol.contains('\0') {
            return None;
        }
        let mut padded = Symbol::default();
        let field = padded.get_mut(..symbol.len())?;
        field.copy_from_slice(symbol.as_bytes());
        field.make_ascii_uppercase();
        let index = self.by_symbol.binary_search_by_key(&padded, |(symbol, _)| *symbol).ok()?;
        self.get(self.by_symbol[index].1)
    }

    /// All markets in order of their symbols.
    pub fn in_order_of_symbol(&self) -> impl Iterator<Item = &MarketRecord> {
        self.by_symbol.iter().filter_map(|(_, market)| self.get(*market))
    }

    /// How many markets there are.
    pub fn len(&self) -> usize {
        self.markets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.markets.is_empty()
    }

    /// How many markets have a book: those not delisted.
    pub fn book_count(&self) -> usize {
        self.markets.iter().filter(|market| market.status != MarketStatus::Delisted).count()
    }

    /// The asset of a name, spelled exactly.
    pub fn asset(&self, name: &str) -> Option<AssetId> {
        let index = self.assets.iter().position(|asset| text(asset) == name)?;
        AssetId::try_from(index).ok()
    }

    /// The name of an asset.
    pub fn asset_name(&self, asset: AssetId) -> Option<&str> {
        self.assets.get(usize::from(asset)).map(|name| text(name))
    }

    /// All assets with their names, in order of their names. Unbounded only by what an administrator listed.
    pub fn assets_by_name(&self) -> Vec<(AssetId, &str)> {
        let mut assets: Vec<_> = (0..).zip(self.assets.iter().map(|name| text(name))).collect();
        assets.sort_unstable_by_key(|(_, name)| *name);
        assets
    }

    /// Whether an asset is a token of the spot side (`spot.md` 5): DF and USDT are, what a market trades, and what
    /// can be deposited. Perpetual markets
    /// have ledgers for their bases, which nobody asked this side for.
    pub fn is_token(&self, asset: AssetId) -> bool {
        self.asset_name(asset).is_some_and(|name| TOKENS.contains(&name))
            || self.markets.iter().any(|market| [market.base, market.quote].contains(&asset))
            || self.on_chain.contains(&asset)
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.assets.len());
        self.assets.iter().for_each(|name| writer.fixed(name));
        writer.count(self.markets.len());
        for market in &self.markets {
            writer.fixed(&market.symbol);
            writer.u64(market.base.into());
            writer.u64(market.quote.into());
            writer.i64(market.tick);
            writer.i64(market.lot);
            writer.i128(market.min_notional);
            writer.u64(kept_rate(market.maker_fee).into());
            writer.u64(kept_rate(market.taker_fee).into());
            writer.u64(market.max_open_orders.into());
            writer.fixed(&[market.kind as u8, market.status as u8]);
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<MarketView, LoadError> {
        let mut view = MarketView::default();
        for _ in 0..reader.count()? {
            view.assets.push(reader.fixed()?);
        }
        for market in 0..reader.count()? {
            let symbol = reader.fixed()?;
            let base: AssetId = reader.uint("asset")?;
            let quote: AssetId = reader.uint("asset")?;
            let name = |asset: AssetId| view.assets.get(usize::from(asset)).copied();
            view.put(MarketRecord {
                market: MarketId::try_from(market).map_err(|_| reader.bad("market"))?,
                symbol,
                base,
                quote,
                base_name: name(base).ok_or_else(|| reader.bad("asset"))?,
                quote_name: name(quote).ok_or_else(|| reader.bad("asset"))?,
                tick: reader.i64()?,
                lot: reader.i64()?,
                min_notional: reader.i128()?,
                maker_fee: rate_of_kept(reader.uint("fee")?).ok_or_else(|| reader.bad("fee"))?,
                taker_fee: rate_of_kept(reader.uint("fee")?).ok_or_else(|| reader.bad("fee"))?,
                max_open_orders: reader.uint("open orders")?,
                kind: reader.code("market kind", MarketKind::from_code)?,
                status: reader.code("market status", MarketStatus::from_code)?,
            });
        }
        Ok(view)
    }
}
