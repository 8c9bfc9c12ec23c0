//! What a market is to become: collected command by command, seen by nobody, and made so by one (`DraftPerpetual`).

use super::State;
use super::market::PARAMETERS;
use crate::command::{DraftPerpetual, PerpetualParameter as P, SetSource};
use crate::ids::{AssetName, MarketId, Symbol as Name};
use crate::reject::Reject;
use crate::risk::perpetual::bracket::BracketRow;
use crate::risk::perpetual::index::SOURCES_MAX;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Draft {
    /// Who collects it: a source of commands.
    pub(crate) source: u32,
    /// The market that it changes; 0: it lists one.
    pub(crate) market: MarketId,
    pub(crate) symbol: Name,
    pub(crate) base: AssetName,
    pub(crate) quote: AssetName,
    /// How many commands it consists of.
    pub(crate) changes: u32,
    /// By number of the parameter.
    pub(crate) parameters: [Option<i64>; PARAMETERS],
    /// As set, sound or not.
    pub(crate) brackets: Option<Vec<BracketRow>>,
    /// All that there are to be, in the order in which they were named.
    pub(crate) sources: Option<Vec<SourceTerms>>,
}

/// A source of the index as it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceTerms {
    pub(crate) id: u32,
    pub(crate) weight: u32,
    pub(crate) stale_ms: u32,
}

impl State {
    /// See [`DraftPerpetual`].
    pub(crate) fn begin_draft(&mut self, draft: &DraftPerpetual, source: u32) -> Result<(), Reject> {
        if draft.market != 0 {
            self.index_of(draft.market).ok_or(Reject::MarketNotFound)?;
        }
        let of_market = |name: [u8; 10]| if draft.market == 0 { name } else { [0; 10] };
        self.draft = Some(Box::new(Draft {
            source,
            market: draft.market,
            symbol: if draft.market == 0 { draft.symbol } else { [0; 20] },
            base: of_market(draft.base),
            quote: of_market(draft.quote),
            changes: 0,
            parameters: [None; PARAMETERS],
            brackets: None,
            sources: None,
        }));
        Ok(())
    }

    /// No source of an earlier epoch goes on with what it began.
    pub(crate) fn forget_unfinished(&mut self) {
        self.draft = None;
        self.tier_rows = (Vec::new(), 0);
    }

    /// The draft of a source, which one more command is for.
    fn drafted(&mut self, source: u32) -> Result<&mut Draft, Reject> {
        let draft = self.draft.as_deref_mut().filter(|draft| draft.source == source);
        draft.ok_or(Reject::DraftNotFound)
    }

    pub(crate) fn draft_parameter(&mut self, parameter: P, value: i64, source: u32) -> Result<(), Reject> {
        let draft = self.drafted(source)?;
        draft.parameters[parameter as usize] = Some(value);
        draft.changes += 1;
        Ok(())
    }

    /// `follows`: they are the rest of a table whose first eight came before.
    pub(crate) fn draft_brackets(
        &mut self,
        rows: &[BracketRow],
        follows: bool,
        source: u32,
    ) -> Result<(), Reject> {
        let draft = self.drafted(source)?;
        match &mut draft.brackets {
            Some(first) if follows && first.len() == 8 => first.extend(rows),
            _ if follows => return Err(Reject::Malformed),
            brackets => *brackets = Some(rows.to_vec()),
        }
        draft.changes += 1;
        Ok(())
    }

    pub(crate) fn draft_source(&mut self, set: &SetSource, source: u32) -> Result<(), Reject> {
        let draft = self.drafted(source)?;
        let sources = draft.sources.get_or_insert_default();
        if set.weight > 0 {
            // One more than may be is enough to be refused for.
            if sources.len() > SOURCES_MAX {
                return Err(Reject::ParameterOutOfRange);
            }
            sources.push(SourceTerms { id: set.source, weight: set.weight, stale_ms: set.stale_ms });
        }
        draft.changes += 1;
        Ok(())
    }
}
