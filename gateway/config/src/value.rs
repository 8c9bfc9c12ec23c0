//! The kinds of values that settings have: how each is read from text and shown.

use super::origin::Origin;
use ringside_auth::cidr::Cidr;
use ringside_auth::secret::Secret;
use ringside_core::ids::Address;
use ringside_core::money::{AMOUNT_UNIT, Amount};
use ringside_mirror::keys::Fingerprint;
use ringside_mirror::members::Member;
use ringside_wire::address::parse_address;
use ringside_wire::{decimal, number};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What a setting's value must be, for the end of "must be ...".
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted(pub &'static str);

/// A kind of value. `parse(show(v))` gives `v` again, secrets excepted.
pub trait Value: Sized {
    /// Reads it.
    fn parse(text: &str) -> Result<Self, Wanted>;
    /// Shows it; empty where nothing is set.
    fn show(&self) -> String;
}

/// The text of a TOML value, lists joined by commas; `None` for tables and dates.
pub(super) fn text_of(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Array(items) => {
            let texts: Option<Vec<String>> = items.iter().map(text_of).collect();
            Some(texts?.join(","))
        }
        toml::Value::Table(_) | toml::Value::Datetime(_) => None,
    }
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn parse(text: &str) -> Result<$type, Wanted> {
                text.parse().map_err(|_| Wanted("a whole number, not negative"))
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

whole!(u8, u32, u64, usize);

impl Value for bool {
    fn parse(text: &str) -> Result<bool, Wanted> {
        text.parse().map_err(|_| Wanted("true or false"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    fn parse(text: &str) -> Result<String, Wanted> {
        Ok(text.to_owned())
    }
    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for PathBuf {
    fn parse(text: &str) -> Result<PathBuf, Wanted> {
        if text.is_empty() { Err(Wanted("a path")) } else { Ok(PathBuf::from(text)) }
    }
    fn show(&self) -> String {
        self.display().to_string()
    }
}

impl Value for SocketAddr {
    fn parse(text: &str) -> Result<SocketAddr, Wanted> {
        text.parse().map_err(|_| Wanted("an IP address and a port, such as 127.0.0.1:8080"))
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

/// An address on a chain, `0x` and 40 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wallet(pub Address);

impl Value for Wallet {
    fn parse(text: &str) -> Result<Wallet, Wanted> {
        parse_address(text).map(Wallet).ok_or(Wanted("an address, 0x and 40 hex digits"))
    }
    fn show(&self) -> String {
        format!("0x{}", const_hex::encode(self.0))
    }
}

impl<T: Value> Value for Option<T> {
    fn parse(text: &str) -> Result<Option<T>, Wanted> {
        T::parse(text).map(Some)
    }
    fn show(&self) -> String {
        self.as_ref().map_or_else(String::new, T::show)
    }
}

impl Value for Vec<Cidr> {
    fn parse(text: &str) -> Result<Vec<Cidr>, Wanted> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts
            .map(Cidr::parse)
            .collect::<Option<_>>()
            .ok_or(Wanted("IP addresses or networks, such as 10.0.0.0/8"))
    }
    fn show(&self) -> String {
        self.iter().map(Cidr::to_string).collect::<Vec<_>>().join(",")
    }
}

impl Value for Vec<Fingerprint> {
    fn parse(text: &str) -> Result<Vec<Fingerprint>, Wanted> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let keys: Result<_, _> = parts.map(str::parse).collect();
        keys.map_err(|_| Wanted("keys of 64 hex digits, as `ringside mirror-key` shows them"))
    }
    fn show(&self) -> String {
        self.iter().map(Fingerprint::to_string).collect::<Vec<_>>().join(",")
    }
}

/// Whether this is a host, a name or an address, and a port.
pub fn is_host_and_port(text: &str) -> bool {
    let split = text.rsplit_once(':');
    split.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
}

/// A member of a cluster.
pub fn member(text: &str) -> Result<Member, Wanted> {
    let parts = text.split_once('@').and_then(|(id, rest)| Some((id, rest.rsplit_once('=')?)));
    let (id, (address, key)) =
        parts.ok_or(Wanted("members as NUMBER@HOST:PORT=KEY, such as 1@10.0.0.1:7071=KEY"))?;
    let id = id.parse().ok().filter(|id| *id != 0);
    let id = id.ok_or(Wanted("members whose numbers, before the @, are whole and from 1 on"))?;
    if !is_host_and_port(address) {
        return Err(Wanted("members at a host and a port each, such as 10.0.0.1:7071"));
    }
    let key = key.parse().map_err(|_| {
        Wanted("members with a key each, behind the =, of 64 hex digits, as `ringside mirror-key` shows it there")
    })?;
    Ok(Member { id, address: address.to_owned(), key })
}

impl Value for Vec<Member> {
    fn parse(text: &str) -> Result<Vec<Member>, Wanted> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(member).collect()
    }
    fn show(&self) -> String {
        let members = self.iter().map(|member| format!("{}@{}={}", member.id, member.address, member.key));
        members.collect::<Vec<_>>().join(",")
    }
}

impl Value for Vec<Origin> {
    fn parse(text: &str) -> Result<Vec<Origin>, Wanted> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(Origin::parse).collect::<Option<_>>().ok_or(Wanted(
            "origins as browsers write them, such as https://app.example, without a path and not *",
        ))
    }
    fn show(&self) -> String {
        self.iter().map(Origin::to_string).collect::<Vec<_>>().join(",")
    }
}

const DURATION_UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000)];

impl Value for Duration {
    fn parse(text: &str) -> Result<Duration, Wanted> {
        with_unit(text, &DURATION_UNITS)
            .map(Duration::from_millis)
            .ok_or(Wanted("a duration with a unit (ms, s, min, h), such as 250ms or 5s"))
    }
    fn show(&self) -> String {
        shortest(u64::try_from(self.as_millis()).unwrap_or(u64::MAX), &DURATION_UNITS)
    }
}

/// An amount of a token, in its own units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAmount(pub Amount);

impl TokenAmount {
    /// So many whole units.
    pub const fn whole(units: i128) -> TokenAmount {
        TokenAmount(units * AMOUNT_UNIT)
    }
}

impl Value for TokenAmount {
    fn parse(text: &str) -> Result<TokenAmount, Wanted> {
        let wanted = Wanted("a decimal from 0 on, at most 18 digits behind the point, such as 1000 or 0.5");
        decimal::parse_amount(text.as_bytes()).map(TokenAmount).ok_or(wanted)
    }
    fn show(&self) -> String {
        number::Amount(self.0).to_string()
    }
}

/// A length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(u64);

const SIZE_UNITS: [(&str, u64); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Size {
    /// So many times 1,024 bytes.
    pub const fn kibibytes(count: u64) -> Size {
        Size(count << 10)
    }

    /// So many times 1,048,576 bytes.
    pub const fn mebibytes(count: u64) -> Size {
        Size(count << 20)
    }

    /// In bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// In bytes, as lengths in memory are counted.
    pub fn len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Whether it is nothing.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Value for Size {
    fn parse(text: &str) -> Result<Size, Wanted> {
        with_unit(text, &SIZE_UNITS)
            .map(Size)
            .ok_or(Wanted("a size with a unit (B, KiB, MiB, GiB), such as 64KiB"))
    }
    fn show(&self) -> String {
        shortest(self.0, &SIZE_UNITS)
    }
}

/// `digits unit`, in the smallest unit; `None` for anything else and for overflow.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// The number in the largest unit that divides it.
fn shortest(number: u64, units: &[(&str, u64)]) -> String {
    let fits = units.iter().rev().find(|(_, factor)| number != 0 && number.is_multiple_of(*factor));
    let (unit, factor) = fits.unwrap_or(&units[0]);
    format!("{}{unit}", number / factor)
}

impl Value for Secret {
    fn parse(text: &str) -> Result<Secret, Wanted> {
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Secret::new(text.to_owned())) } else { Err(Wanted("visible ASCII without spaces")) }
    }
    fn show(&self) -> String {
        "(set)".to_owned()
    }
}

/// Core numbers, in order of use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cores(pub Vec<usize>);

impl Value for Cores {
    fn parse(text: &str) -> Result<Cores, Wanted> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let cores: Result<Vec<usize>, _> = parts.map(str::parse).collect();
        cores.map(Cores).map_err(|_| Wanted("core numbers, such as 2,3"))
    }
    fn show(&self) -> String {
        self.0.iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    }
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident = $list:literal { $($(#[doc = $word_doc:literal])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $word_doc])* $variant,)* }

        impl Value for $name {
            fn parse(text: &str) -> Result<$name, Wanted> {
                match text {
                    $($word => Ok($name::$variant),)*
                    _ => Err(Wanted(concat!("one of ", $list))),
                }
            }
            fn show(&self) -> String {
                match self { $($name::$variant => $word,)* }.to_owned()
            }
        }
    )*};
}

words! {
    /// What a reply waits for.
    Acknowledge = "durable, written" {
        /// The command is synced to the disk: it survives a power cut.
        Durable = "durable",
        /// The command is in the journal's mapped page: it survives a crash of the process, not of the machine.
        Written = "written",
    }
    /// Who runs the stages.
    Threading = "shared, dedicated" {
        /// All stages on one thread.
        Shared = "shared",
        /// A thread for each stage.
        Dedicated = "dedicated",
    }
    /// How a stage waits for work.
    WaitKind = "park, yield, spin" {
        /// Sleeps until it is woken.
        Park = "park",
        /// Gives the core away between looks.
        Yield = "yield",
        /// Looks without pause.
        Spin = "spin",
    }
    /// How segments of the journal are stored.
    StorageKind = "auto, mapped, direct" {
        /// Direct where replies wait for the disk, mapped where they do not: what measured best for each.
        Auto = "auto",
        /// Mapped memory, synced once a batch.
        Mapped = "mapped",
        /// Past the page cache, synced with each write.
        Direct = "direct",
    }
    /// How logs are written.
    LogFormat = "text, json" {
        /// Lines for people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(Duration::parse("90 s"), Ok(Duration::from_secs(90)));
        assert_eq!(Duration::from_secs(90).show(), "90s");
        assert_eq!(Duration::from_secs(7_200).show(), "2h");
        assert_eq!(Duration::ZERO.show(), "0ms");
        assert_eq!(Size::parse("3MiB"), Ok(Size::mebibytes(3)));
        for wrong in ["", "5", "s", "-1s", "1.5s", "1 S", "99999999999999999999h", "18446744073709551615h"] {
            assert!(Duration::parse(wrong).is_err(), "{wrong}");
        }
    }
}
