//! A draft is applied: a market is listed or changed as a whole, or not at all. See [`ApplyDraft`].

use super::admin::{judge_source, judge_steps, needs_mark};
use super::{Acted, Answer};
use crate::command::{ApplyDraft, Command, PerpetualParameter as P, PerpetualState, SetPerpetualState};
use crate::engine::Engine;
use crate::ids::MarketId;
use crate::perpetual::Perpetual;
use crate::perpetual::draft::Draft;
use crate::perpetual::market::Symbol;
use crate::reject::Reject;
use crate::risk::perpetual::bounds;
use crate::risk::perpetual::bracket::BracketRow;

/// A state of [`ApplyDraft`] that is none.
const AS_IT_IS: u8 = u8::MAX;

impl Engine {
    /// See [`ApplyDraft`].
    pub(super) fn apply_draft(&mut self, perpetual: &mut Perpetual, command: &Command) -> Answer {
        let apply: &ApplyDraft = command.body();
        let draft = perpetual.state.draft.as_deref();
        let draft = draft.filter(|draft| (draft.source, draft.changes) == (command.source, apply.changes));
        let draft = draft.ok_or(Reject::DraftNotFound)?.clone();
        let wanted = match apply.state {
            AS_IT_IS => None,
            code => Some(PerpetualState::from_code(code).ok_or(Reject::Malformed)?),
        };
        if wanted == Some(PerpetualState::Closed) {
            return Err(Reject::Malformed);
        }
        let market = if draft.market == 0 {
            self.list_draft(perpetual, &draft, wanted)?
        } else {
            perpetual.change_by_draft(&draft, wanted, self.markets.len())?
        };
        perpetual.state.draft = None;
        if let Some(state) = wanted {
            // Judged before anything changed.
            perpetual.set_state(&SetPerpetualState { market, state: state as u8, reserved: [0; 3] })?;
        }
        Ok(Acted { market: Some(market), ..Acted::default() })
    }

    fn list_draft(
        &mut self,
        perpetual: &mut Perpetual,
        draft: &Draft,
        wanted: Option<PerpetualState>,
    ) -> Result<MarketId, Reject> {
        let names = (draft.symbol, draft.base, draft.quote);
        self.check_listing(perpetual, &names, true)?;
        let step = |parameter: P| draft.parameters[parameter as usize].unwrap_or(0);
        let (tick, lot) = (step(P::Tick), step(P::Lot));
        bounds::check_steps(tick, lot, P::Lot)?;
        // Of no asset yet: what is refused makes none.
        let mut symbol = Symbol::new(draft.symbol, 0, tick, lot, perpetual.state.now_ms);
        let rows = draft.rows(&symbol);
        let brackets = bounds::table(&rows)?;
        for &parameter in P::ALL.iter().filter(|parameter| bounds::is_of_market(**parameter)) {
            let default = bounds::default_of(parameter, &brackets, (tick, lot));
            let value = draft.parameters[parameter as usize].unwrap_or(default);
            symbol.parameters[parameter as usize] = value;
        }
        symbol.brackets = bounds::check_all(|parameter| symbol.get(parameter), &rows, self.markets.len())?;
        draft.judge_sources()?;
        if wanted.is_some_and(needs_mark) {
            return Err(Reject::NoMarkPrice);
        }

        // Nothing refuses it any more.
        symbol.next_funding_ms = symbol.funding_after(perpetual.state.now_ms);
        symbol.refresh_bounds();
        let (base, quote) = self.assets_of(perpetual, &names);
        symbol.base = base;
        let market = perpetual.open_market(symbol, quote);
        if let Some(index) = perpetual.state.index_of(market) {
            perpetual.state.put_sources(index, draft);
        }
        Ok(market)
    }
}

impl Perpetual {
    fn change_by_draft(
        &mut self,
        draft: &Draft,
        wanted: Option<PerpetualState>,
        spot_markets: usize,
    ) -> Result<MarketId, Reject> {
        let index = self.state.index_of(draft.market).ok_or(Reject::MarketNotFound)?;
        let symbol = &self.state.symbols[index];
        if symbol.set == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let named = |parameter: P| draft.parameters[parameter as usize];
        judge_steps(symbol.steps, named(P::Tick), named(P::Lot))?;
        let get = |parameter| named(parameter).unwrap_or_else(|| symbol.get(parameter));
        let brackets = bounds::check_all(get, &draft.rows(symbol), spot_markets)?;
        draft.judge_sources()?;
        if wanted.is_some_and(needs_mark) && symbol.prices.mark == 0 {
            return Err(Reject::NoMarkPrice);
        }

        // Nothing refuses it any more.
        for &parameter in P::ALL.iter().filter(|parameter| bounds::is_of_market(**parameter)) {
            if let Some(value) = named(parameter) {
                self.put_parameter(index, parameter, value);
            }
        }
        if draft.brackets.is_some() {
            self.state.put_brackets(index, brackets);
        }
        self.state.put_sources(index, draft);
        Ok(draft.market)
    }
}

impl Draft {
    /// The brackets that a market would have.
    fn rows(&self, symbol: &Symbol) -> Vec<BracketRow> {
        match &self.brackets {
            Some(rows) => rows.clone(),
            None => symbol.brackets.rows().iter().map(|row| row.as_set()).collect(),
        }
    }

    fn judge_sources(&self) -> Result<(), Reject> {
        let sources = self.sources.as_deref().unwrap_or_default();
        for (at, source) in sources.iter().enumerate() {
            judge_source(source.weight, source.stale_ms, at)?;
            if sources[..at].iter().any(|other| other.id == source.id) {
                return Err(Reject::ParameterOutOfRange);
            }
        }
        Ok(())
    }
}
