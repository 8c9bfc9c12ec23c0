//! What can be other in a replay: `DFUSDT.taker_fee=5` (basis points), `BTCUSDT.band_up=1.02`, `BTCUSDT.liquidation_fee=0.01`,
//! `vip.0.taker_fee=0.0004`.

use crate::boot::ViewFold;
use ringside_core::Engine;
use ringside_core::command::{
    Command, Kind, PerpetualParameter as Parameter, SetPerpetualParameter, SetVipTier, UpdateMarket,
    update_mask,
};
use ringside_core::event::Event;
use ringside_core::money::FeeRate;
use ringside_persist::recover::machine::Fold;
use ringside_views::Views;
use ringside_wire::decimal::{parse_bps, parse_entry};
use std::str::FromStr;

/// Parameters of a perpetual market that are rates, by the name that is used here. All in 10^-8.
const RATES: [(&str, Parameter); 9] = [
    ("band_up", Parameter::BandUp),
    ("band_down", Parameter::BandDown),
    ("take_bound", Parameter::TakeBound),
    ("trigger_protect", Parameter::TriggerProtect),
    ("liquidation_fee", Parameter::LiquidationFee),
    ("mark_clamp", Parameter::MarkClamp),
    ("source_clamp", Parameter::SourceClamp),
    ("funding_cap", Parameter::FundingCap),
    ("dynamic_band", Parameter::DynamicBand),
];

/// One parameter that is other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// As it was written.
    pub(super) text: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A fee of a spot market.
    SpotFee { market: String, is_maker: bool, rate: FeeRate },
    /// A rate of a perpetual market.
    Rate { market: String, parameter: Parameter, value: i64 },
    /// A fee of a tier.
    TierFee { tier: u32, is_maker: bool, rate: i64 },
}

impl FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Change, String> {
        let wanted = || {
            let names: Vec<&str> = RATES.iter().map(|(name, _)| *name).collect();
            format!(
                "wanted: SPOT.maker_fee=BPS, SPOT.taker_fee=BPS, vip.TIER.maker_fee=RATE, vip.TIER.taker_fee=RATE or \
                 PERPETUAL.NAME=RATE with NAME one of {}",
                names.join(", ")
            )
        };
        let (place, value) = text.split_once('=').ok_or_else(wanted)?;
        let (market, name) = place.rsplit_once('.').ok_or_else(wanted)?;
        let rate = || parse_entry(value.as_bytes()).ok_or_else(wanted);
        let is_maker = name == "maker_fee";
        let what = match (market.strip_prefix("vip."), name) {
            (Some(tier), "maker_fee" | "taker_fee") => {
                What::TierFee { tier: tier.parse().map_err(|_| wanted())?, is_maker, rate: rate()? }
            }
            (None, "maker_fee" | "taker_fee") => {
                let rate = parse_bps(value.as_bytes()).ok_or_else(wanted)?;
                What::SpotFee { market: market.to_ascii_uppercase(), is_maker, rate }
            }
            (None, name) => {
                let (_, parameter) = RATES.iter().find(|(known, _)| *known == name).ok_or_else(wanted)?;
                What::Rate { market: market.to_ascii_uppercase(), parameter: *parameter, value: rate()? }
            }
            (Some(_), _) => return Err(wanted()),
        };
        Ok(Change { text: text.to_owned(), what })
    }
}

impl Change {
    /// The command that makes it so, where the venue has what it is about.
    fn command(&self, views: &Views) -> Option<Command> {
        match &self.what {
            What::SpotFee { market, is_maker, rate } => {
                let market = views.markets().by_symbol(market)?;
                let mask = if *is_maker { update_mask::MAKER_FEE } else { update_mask::TAKER_FEE };
                Some(Command::new(UpdateMarket {
                    market: market.market,
                    mask,
                    tick: market.tick,
                    lot: market.lot,
                    min_notional: market.min_notional.into(),
                    maker_fee: *rate,
                    taker_fee: *rate,
                }))
            }
            What::Rate { market, parameter, value } => {
                let market = views.perpetuals().markets().by_symbol(market)?.market;
                Some(Command::new(SetPerpetualParameter {
                    market,
                    parameter: *parameter as u32,
                    value: *value,
                }))
            }
            What::TierFee { tier, is_maker, rate } => {
                let tiers = views.perpetuals().accounts().tiers();
                let told = tiers.get(*tier as usize)?;
                let maker_rate = if *is_maker { *rate } else { told.maker_rate };
                let taker_rate = if *is_maker { told.taker_rate } else { *rate };
                let (count, volume) = (tiers.len() as u32, told.volume);
                Some(Command::new(SetVipTier { tier: *tier, count, volume, maker_rate, taker_rate }))
            }
        }
    }
}

/// Makes the changes. What is not listed yet is changed once it is.
pub(super) fn apply(changes: &[Change], engine: &mut Engine, fold: &mut ViewFold) {
    for change in changes {
        let Some(command) = change.command(fold.views()) else { continue };
        let mut events: Vec<Event> = Vec::new();
        engine.suppose(&command, &mut events);
        events.iter().for_each(|event| fold.event(event));
    }
}

/// Whether a command may have set what the changes are about.
pub(super) fn sets_parameters(command: &Command) -> bool {
    matches!(
        Kind::from_code(command.kind),
        Some(
            Kind::ListMarket
                | Kind::UpdateMarket
                | Kind::ListPerpetual
                | Kind::SetPerpetualParameter
                | Kind::SetVipTier
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_other() {
        let what = |text: &str| Change::from_str(text).map(|change| change.what);
        let fee = What::SpotFee { market: "DFUSDT".to_owned(), is_maker: false, rate: 55_000 };
        assert_eq!(what("dfusdt.taker_fee=5.5"), Ok(fee));
        let rate = What::Rate {
            market: "BTCUSDT".to_owned(),
            parameter: Parameter::LiquidationFee,
            value: 1_000_000,
        };
        assert_eq!(what("BTCUSDT.liquidation_fee=0.01"), Ok(rate));
        assert_eq!(
            what("vip.2.maker_fee=0.0001"),
            Ok(What::TierFee { tier: 2, is_maker: true, rate: 10_000 })
        );
        for wrong in ["", "a=b", "BTCUSDT.tick=1", "vip.x.maker_fee=1", "vip.1.band_up=1", "D.taker_fee=-1"] {
            assert!(what(wrong).is_err(), "{wrong}");
        }
    }
}
