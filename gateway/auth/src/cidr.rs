//! Networks that a credential or a header is good from.

use std::fmt;
use std::net::IpAddr;

/// An address or a network: `10.0.0.0/8`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    address: IpAddr,
    prefix_bits: u8,
}

impl Cidr {
    /// Reads `address` or `address/bits`. Bits below the prefix may be set; they do not count.
    pub fn parse(text: &str) -> Option<Cidr> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match bits {
            Some(bits) if bits.len() <= 3 && bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok()?
            }
            Some(_) => return None,
            None => longest,
        };
        (prefix_bits <= longest).then_some(Cidr { address, prefix_bits })
    }

    /// Whether `ip` lies in it. An IPv4 address written as IPv6 (`::ffff:1.2.3.4`) counts as the IPv4 address it is.
    pub fn contains(&self, ip: IpAddr) -> bool {
        match (self.address.to_canonical(), ip.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                // A network written in IPv6 form counts its prefix from the IPv6 start.
                let bits =
                    u32::from(self.prefix_bits).saturating_sub(if self.address.is_ipv6() { 96 } else { 0 });
                (u32::from(own) ^ u32::from(other)).checked_shr(32 - bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let bits = u32::from(self.prefix_bits);
                (u128::from(own) ^ u128::from(other)).checked_shr(128 - bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = if self.address.is_ipv4() { 32 } else { 128 };
        if self.prefix_bits == longest {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.prefix_bits)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_what_their_prefix_says() {
        let cases = [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("::/0", "2001:db8::1", true),
            ("192.168.1.77/24", "192.168.1.1", true),
            ("192.168.1.0/24", "::ffff:192.168.1.9", true),
            ("::ffff:192.168.1.0/120", "192.168.1.9", true),
            ("::ffff:192.168.1.0/120", "192.168.2.9", false),
        ];
        for (network, ip, contained) in cases {
            assert_eq!(
                Cidr::parse(network).unwrap().contains(ip.parse().unwrap()),
                contained,
                "{network} {ip}"
            );
        }
        for wrong in
            ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8", "10.0.0.0/+8", "host", "10.0.0.0/8/8"]
        {
            assert_eq!(Cidr::parse(wrong), None, "{wrong}");
        }
    }
}
