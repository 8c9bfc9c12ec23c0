//! The ends of a move of the venue's own money, as words (`account.md` 13).

use super::refusal::{INVALID_PARAMETER, Refused};
use ringside_core::command::TreasuryPlace;
use ringside_core::ids::Address;
use ringside_wire::address::{address_text, parse_address};
use std::fmt;

/// The insurance pool that there is.
const POOL: &str = "MAIN";

/// Where money leaves or comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The insurance fund or fees.
    Own(TreasuryPlace),
    /// A wallet's available spot balance.
    Account(Address),
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Own(TreasuryPlace::Fund) => write!(out, "fund:{POOL}"),
            End::Own(TreasuryPlace::SpotFees) => out.write_str("fees:spot"),
            End::Own(TreasuryPlace::PerpetualFees) => out.write_str("fees:perpetual"),
            End::Own(TreasuryPlace::Account) => out.write_str("account"),
            End::Account(address) => write!(out, "account:{}", address_text(address)),
        }
    }
}

impl End {
    /// Whether its money is the perpetual ledger's.
    pub fn is_perpetual(&self) -> bool {
        matches!(self, End::Own(place) if place.is_perpetual())
    }

    /// Reads the member `name` of a body.
    pub fn parse(name: &str, sent: Option<&str>) -> Result<End, Refused> {
        let wrong = || {
            INVALID_PARAMETER
                .saying(format!("{name}: fund:{POOL}, fees:spot, fees:perpetual or account:<address>"))
        };
        match sent.ok_or_else(wrong)?.split_once(':') {
            Some(("fund", POOL)) => Ok(End::Own(TreasuryPlace::Fund)),
            Some(("fund", _)) => {
                Err(INVALID_PARAMETER.saying(format!("{name}: {POOL} is the only insurance pool")))
            }
            Some(("fees", "spot")) => Ok(End::Own(TreasuryPlace::SpotFees)),
            Some(("fees", "perpetual")) => Ok(End::Own(TreasuryPlace::PerpetualFees)),
            Some(("account", address)) => parse_address(address).map(End::Account).ok_or_else(|| {
                INVALID_PARAMETER.saying(format!("{name}: behind account: an address, 0x and 40 hex digits"))
            }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_shown_as_it_is_sent() {
        let account = format!("account:0x{}", "a1".repeat(20));
        for text in ["fund:MAIN", "fees:spot", "fees:perpetual", &account] {
            assert_eq!(End::parse("from", Some(text)).unwrap().to_string(), text);
        }
        for (wrong, names) in
            [("fund:OTHER", "MAIN"), ("fees:all", "fees:spot"), ("account:0x1", "40 hex"), ("", "fund:MAIN")]
        {
            let message = End::parse("to", Some(wrong)).unwrap_err().message;
            assert!(message.starts_with("to: ") && message.contains(names), "{message}");
        }
        assert!(End::parse("to", None).is_err());
    }
}
