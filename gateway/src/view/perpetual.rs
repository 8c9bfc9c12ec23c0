//! Perpetual markets: which there are, by id and by name. What they are set to, their prices and books are not here yet.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::event;
use ringside_core::ids::{AssetId, FIRST_PERPETUAL, MarketId, Symbol, text};

/// One market as it was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerpetualRecord {
    /// Which.
    pub market: MarketId,
    /// Name, padded.
    pub symbol: Symbol,
    /// What is traded.
    pub base: AssetId,
    /// The margin asset.
    pub quote: AssetId,
}

impl PerpetualRecord {
    /// Its name as text.
    pub fn symbol(&self) -> &str {
        text(&self.symbol)
    }
}

/// All perpetual markets in order of their listing, closed ones included.
#[derive(Clone, Debug, Default)]
pub struct PerpetualView {
    markets: Vec<PerpetualRecord>,
}

impl PerpetualView {
    pub(super) fn listed(&mut self, listed: &event::PerpetualListed) {
        let next = FIRST_PERPETUAL as usize + self.markets.len();
        assert_eq!(listed.market as usize, next, "ids of perpetual markets are dense");
        self.markets.push(PerpetualRecord {
            market: listed.market,
            symbol: listed.symbol,
            base: listed.base,
            quote: listed.quote,
        });
    }

    /// The market of an id.
    pub fn get(&self, market: MarketId) -> Option<&PerpetualRecord> {
        self.markets.get(market.checked_sub(FIRST_PERPETUAL)? as usize)
    }

    /// The market of a symbol, whatever its case.
    pub fn by_symbol(&self, symbol: &str) -> Option<&PerpetualRecord> {
        self.markets.iter().find(|market| market.symbol().eq_ignore_ascii_case(symbol))
    }

    /// How many markets there are.
    pub fn len(&self) -> usize {
        self.markets.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.markets.is_empty()
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.markets.len());
        for market in &self.markets {
            writer.fixed(&market.symbol);
            writer.u64(market.base.into());
            writer.u64(market.quote.into());
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<PerpetualView, LoadError> {
        let mut view = PerpetualView::default();
        for market in 0..reader.count()? {
            let market =
                MarketId::try_from(market).ok().and_then(|market| FIRST_PERPETUAL.checked_add(market));
            view.markets.push(PerpetualRecord {
                market: market.ok_or_else(|| reader.bad("market"))?,
                symbol: reader.fixed()?,
                base: reader.uint("asset")?,
                quote: reader.uint("asset")?,
            });
        }
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Views;
    use ringside_core::event::{Event, Payload};
    use ringside_core::ids::padded;

    fn fold<P: Payload>(views: &mut Views, payload: P) {
        views.fold(&Event::new(views.sequence() + 1, 0, 0, payload));
    }

    fn listed(number: u32, symbol: &str) -> event::PerpetualListed {
        let symbol = padded(symbol).expect("it fits");
        event::PerpetualListed { market: FIRST_PERPETUAL + number, base: 2, quote: 1, symbol, reserved: 0 }
    }

    #[test]
    fn markets_are_found_and_come_back_from_a_snapshot() {
        let mut views = Views::default();
        fold(&mut views, listed(0, "BTCUSDT"));
        fold(&mut views, listed(1, "ETHUSDT"));
        // A level of a perpetual book is no level of spot market 2^30.
        let depth = event::Depth { market: FIRST_PERPETUAL, ..zerocopy::FromZeros::new_zeroed() };
        fold(&mut views, depth);
        let mut bytes = Vec::new();
        views.save(&mut bytes);
        let mut loaded = Views::default();
        loaded.load(&bytes).unwrap();
        for views in [&views, &loaded] {
            let markets = views.perpetual();
            assert_eq!(markets.len(), 2);
            assert_eq!(markets.by_symbol("ethusdt").unwrap().market, FIRST_PERPETUAL + 1);
            assert_eq!(markets.get(FIRST_PERPETUAL).unwrap().symbol(), "BTCUSDT");
            assert!(markets.by_symbol("ETHUSD").is_none() && markets.get(0).is_none());
            assert!(views.depth().book(FIRST_PERPETUAL).is_none());
        }
    }

    #[test]
    fn a_snapshot_from_before_there_were_any_is_read() {
        let views = Views::default();
        let (mut bytes, mut history) = (Vec::new(), Vec::new());
        views.save(&mut bytes);
        views.history().save(&mut Writer(&mut history));
        // Version 3 had no count of perpetual markets before the history.
        let at = bytes.len() - history.len() - 1;
        assert_eq!((bytes[0], bytes.remove(at)), (4, 0));
        bytes[0] = 3;
        let mut loaded = Views::default();
        fold(&mut loaded, listed(0, "BTCUSDT"));
        loaded.load(&bytes).unwrap();
        assert!(loaded.perpetual().is_empty());
    }
}
