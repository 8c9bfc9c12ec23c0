//! Addresses of wallets and contracts in text.

use ringside_core::ids::Address;

/// Reads `0x` and 40 hex digits of either case.
pub fn parse_address(text: &str) -> Option<Address> {
    let digits = text.strip_prefix("0x")?;
    // The decoder would take a second prefix.
    if digits.len() != 40 {
        return None;
    }
    let mut address = Address::default();
    const_hex::decode_to_slice(digits, &mut address).ok()?;
    Some(address)
}

/// `0x` and 40 lower-case hex digits.
pub fn address_text(address: &Address) -> String {
    const_hex::encode_prefixed(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_text() {
        let address = parse_address("0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF").unwrap();
        assert_eq!(address_text(&address), "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf");
        for wrong in [
            "",
            "0x",
            "2B5AD5c4795c026514f8317c7a215E218DcCD6cF",
            "0x2B5AD5c4795c026514f8317c7a215E218DcCD6c",
            "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF0",
            "0x0x5AD5c4795c026514f8317c7a215E218DcCD6cF",
            "0X2B5AD5c4795c026514f8317c7a215E218DcCD6cF",
            "0x2B5AD5c4795c026514f8317c7a215E218DcCD6cg",
        ] {
            assert_eq!(parse_address(wrong), None, "{wrong}");
        }
    }
}
