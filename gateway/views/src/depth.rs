//! Levels of each book with their totals. Orders and their owners are not here.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::ids::MarketId;
use ringside_core::money::Price;
use std::collections::BTreeMap;

/// The levels of one market.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    /// Price to the sum of open quantities, in steps of 10^-8; a sum of many quantities can exceed 64 bits.
    bids: BTreeMap<Price, i128>,
    asks: BTreeMap<Price, i128>,
    update: u64,
}

impl Book {
    /// The id of the last mutation; grows by one with each, never restarts.
    pub fn update_id(&self) -> u64 {
        self.update
    }

    /// Buy levels with their totals, best (highest) first.
    pub fn bids(&self) -> impl Iterator<Item = (Price, i128)> {
        self.bids.iter().rev().map(|(price, total)| (*price, *total))
    }

    /// Sell levels with their totals, best (lowest) first.
    pub fn asks(&self) -> impl Iterator<Item = (Price, i128)> {
        self.asks.iter().map(|(price, total)| (*price, *total))
    }
}

/// The books of all markets.
#[derive(Clone, Debug, Default)]
pub struct DepthView {
    /// Indexed by market; grows at the first level of a market.
    books: Vec<Book>,
}

impl DepthView {
    pub(super) fn changed(&mut self, changed: &event::Depth) {
        let index = changed.market as usize;
        if index >= self.books.len() {
            self.books.resize_with(index + 1, Book::default);
        }
        let book = &mut self.books[index];
        book.update = book.update.max(changed.update);
        let levels = if changed.side == Side::Buy as u8 { &mut book.bids } else { &mut book.asks };
        match changed.total.get() {
            0 => levels.remove(&changed.price),
            total => levels.insert(changed.price, total),
        };
    }

    /// The book of a market; `None` when it never had an order.
    pub fn book(&self, market: MarketId) -> Option<&Book> {
        self.books.get(market as usize)
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.books.len());
        for book in &self.books {
            writer.u64(book.update);
            for levels in [&book.bids, &book.asks] {
                writer.count(levels.len());
                // Prices ascend, so their differences are short.
                let mut last = 0;
                for (price, total) in levels {
                    writer.i64(price - last);
                    writer.i128(*total);
                    last = *price;
                }
            }
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<DepthView, LoadError> {
        let mut view = DepthView::default();
        for _ in 0..reader.count()? {
            let mut book = Book { update: reader.u64()?, ..Book::default() };
            for levels in [&mut book.bids, &mut book.asks] {
                let mut price: Price = 0;
                for _ in 0..reader.count()? {
                    price = price.checked_add(reader.i64()?).ok_or_else(|| reader.bad("price"))?;
                    levels.insert(price, reader.i128()?);
                }
            }
            view.books.push(book);
        }
        Ok(view)
    }
}
