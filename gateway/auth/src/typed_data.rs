//! EIP-712 login: the typed data a wallet signs, and who signed it (`spot.md` 2.1). Version 2 is bound to one deployment.
//!
//! Hash, recovery and wallet are `wallet.rs`'s. Nonces and tokens are not its business.

use crate::wallet::{SignatureBytes, Wallet, keccak256, recover, typed_digest, word};
use ringside_core::ids::Address;
use ringside_wire::address::address_text;
use serde_json::{Value, json};

const DOMAIN_NAME: &str = "Exchange Login";
const DOMAIN_TYPE: &str = "EIP712Domain(string name,string version,uint256 chainId)";

/// What a wallet signs to log in: version 1 where `venue` is `None`, else version 2.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// Chain named in the domain.
    pub chain_id: u64,
    /// Who logs in.
    pub account: &'a Address,
    /// The nonce's text.
    pub nonce: &'a str,
    /// UNIX seconds.
    pub expires_at_s: i64,
    /// What version 2 binds it to.
    pub venue: Option<Venue<'a>>,
}

/// The one deployment that a login of version 2 is for.
#[derive(Clone, Copy, Debug)]
pub struct Venue<'a> {
    /// Its public address.
    pub uri: &'a str,
    /// Its own 32 hex digits.
    pub deployment: &'a str,
    /// When the nonce was issued, UNIX seconds.
    pub issued_at_s: i64,
}

/// A member of the message: name, type, the word that is hashed, the value that wallets are given.
type Member = (&'static str, &'static str, [u8; 32], Value);

impl Login<'_> {
    fn version(&self) -> &'static str {
        if self.venue.is_some() { "2" } else { "1" }
    }

    /// In the order in which they are hashed.
    fn members(&self) -> Vec<Member> {
        let text = |name, text: &str| (name, "string", keccak256(text), text.into());
        let number = |name, number: i64| (name, "uint256", word(&number.to_be_bytes()), number.into());
        let account = ("account", "address", word(self.account), address_text(self.account).into());
        let mut members = vec![account];
        if let Some(venue) = self.venue {
            members.extend([text("uri", venue.uri), text("deployment", venue.deployment)]);
        }
        members.push(text("nonce", self.nonce));
        members.extend(self.venue.map(|venue| number("issuedAt", venue.issued_at_s)));
        members.push(number("expiresAt", self.expires_at_s));
        members
    }

    /// The message's type as it is hashed.
    fn message_type(&self) -> String {
        let members: Vec<String> =
            self.members().iter().map(|(name, kind, ..)| format!("{kind} {name}")).collect();
        format!("Login({})", members.join(","))
    }

    /// Hash of the domain.
    pub fn domain_separator(&self) -> [u8; 32] {
        keccak256(words(&[
            keccak256(DOMAIN_TYPE),
            keccak256(DOMAIN_NAME),
            keccak256(self.version()),
            word(&self.chain_id.to_be_bytes()),
        ]))
    }

    /// Hash of the message.
    pub fn struct_hash(&self) -> [u8; 32] {
        let mut hashed = vec![keccak256(self.message_type())];
        hashed.extend(self.members().iter().map(|(_, _, word, _)| *word));
        keccak256(words(&hashed))
    }

    /// What is signed.
    pub fn digest(&self) -> [u8; 32] {
        typed_digest(&self.domain_separator(), &self.struct_hash())
    }

    /// The typed data in the form that wallets take (`eth_signTypedData_v4`).
    pub fn typed_data(&self) -> Value {
        let members = self.members();
        let types: Vec<Value> =
            members.iter().map(|(name, kind, ..)| json!({ "name": name, "type": kind })).collect();
        let message: serde_json::Map<String, Value> =
            members.into_iter().map(|(name, _, _, value)| (name.to_owned(), value)).collect();
        json!({
            "types": {
                "EIP712Domain": [
                    { "name": "name", "type": "string" },
                    { "name": "version", "type": "string" },
                    { "name": "chainId", "type": "uint256" },
                ],
                "Login": types,
            },
            "primaryType": "Login",
            "domain": { "name": DOMAIN_NAME, "version": self.version(), "chainId": self.chain_id },
            "message": message,
        })
    }

    /// Whether `signature` is this login signed by its own account: v 27, 28, 0 or 1, s in the lower half.
    pub fn is_signed_by_account(&self, signature: &SignatureBytes) -> bool {
        recover(&self.digest(), signature).is_some_and(|signer| signer == *self.account)
    }

    /// The client's half, for load clients and tests: signs with a raw secp256k1 key. `None` for a key that is no scalar.
    pub fn sign(&self, key: &[u8; 32]) -> Option<SignatureBytes> {
        Wallet::new(key)?.sign(&self.digest())
    }
}

/// The address of a raw secp256k1 key, for load clients and tests. `None` for a key that is no scalar.
pub fn address_of_key(key: &[u8; 32]) -> Option<Address> {
    Some(Wallet::new(key)?.address())
}

fn words(words: &[[u8; 32]]) -> Vec<u8> {
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_wire::address::parse_address;

    /// The vector of `spot.md` 2.1.
    const NONCE: &str = "9f86d081884c7d659a2feaa0c55ad015";

    fn key(last: u8) -> [u8; 32] {
        word(&[last])
    }

    fn account() -> Address {
        parse_address("0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF").unwrap()
    }

    fn login(account: &Address) -> Login<'_> {
        Login { chain_id: 31_337, account, nonce: NONCE, expires_at_s: 1_767_225_600, venue: None }
    }

    const VENUE: Venue<'_> = Venue {
        uri: "https://exchange.example",
        deployment: "0123456789abcdef0123456789abcdef",
        issued_at_s: 1_767_225_300,
    };

    fn hex(bytes: &[u8]) -> String {
        const_hex::encode_prefixed(bytes)
    }

    #[test]
    fn the_vector_of_the_specification() {
        let account = account();
        let login = login(&account);
        assert_eq!(address_of_key(&key(2)), Some(account));
        let expected = [
            (
                keccak256(login.message_type()),
                "0x18f74da20b3be512504b89a007151d6763a6538b492727ce264957c284a52fbc",
            ),
            (login.domain_separator(), "0xba950942bb4c1acc581fbaf069ff273a5c5e8c54c52af4d83d8db36824660d5e"),
            (login.struct_hash(), "0x1f165622e195812dd41ac7892215d4081a99176c891762b143bcf0e75cc17d19"),
            (login.digest(), "0xa546ed3caa888f0c1137a5a49c1bf0e45743014508c154b77f3f5b2568ab5bba"),
        ];
        for (hash, text) in expected {
            assert_eq!(hex(&hash), text);
        }
        let signature = login.sign(&key(2)).unwrap();
        assert_eq!(
            hex(&signature),
            "0x137b807a58702ef8bcdf02a36fbadad71fc1aa7cdf6f7bfadcdabcaf3ee86a362aa64c9bec8a4d5b49de711e874ebd187a2a165379bd747bf0cd7e48340aa1701b"
        );
        assert!(login.is_signed_by_account(&signature));
    }

    #[test]
    fn the_typed_data_hashes_to_the_same_digest() {
        use ethers_core::types::transaction::eip712::{Eip712, TypedData};
        let account = account();
        for venue in [None, Some(VENUE)] {
            let login = Login { venue, ..login(&account) };
            let typed: TypedData = serde_json::from_value(login.typed_data()).unwrap();
            assert_eq!(typed.encode_eip712().unwrap(), login.digest());
        }
    }

    #[test]
    fn version_2_is_what_the_specification_says_and_holds_for_its_own_deployment_only() {
        let account = account();
        let bound = Login { venue: Some(VENUE), ..login(&account) };
        let message_type = "Login(address account,string uri,string deployment,string nonce,uint256 issuedAt,uint256 expiresAt)";
        assert_eq!(bound.message_type(), message_type);
        assert_eq!(bound.typed_data()["domain"]["version"], "2");
        let signature = bound.sign(&key(2)).unwrap();
        assert!(bound.is_signed_by_account(&signature));
        for venue in [
            None,
            Some(Venue { uri: "https://exchange.example/", ..VENUE }),
            Some(Venue { deployment: "1123456789abcdef0123456789abcdef", ..VENUE }),
            Some(Venue { issued_at_s: VENUE.issued_at_s + 1, ..VENUE }),
        ] {
            assert!(!Login { venue, ..bound }.is_signed_by_account(&signature), "{venue:?}");
        }
        // Nor does one of version 1 count as one of version 2.
        let signature = login(&account).sign(&key(2)).unwrap();
        assert!(!bound.is_signed_by_account(&signature));
    }

    #[test]
    fn recovery_ids_are_27_28_0_and_1_and_s_must_be_low() {
        let account = account();
        let login = login(&account);
        let good = login.sign(&key(2)).unwrap();
        let with = |change: &dyn Fn(&mut SignatureBytes)| {
            let mut signature = good;
            change(&mut signature);
            login.is_signed_by_account(&signature)
        };
        assert!(with(&|signature| signature[64] = 0), "v 27 is v 0");
        for v in [1, 2, 26, 28, 29, 35, 255] {
            assert!(!with(&|signature| signature[64] = v), "{v}");
        }
        // The high twin: n - s and the other v recover the same address.
        let order = ethers_core::types::U256::from_dec_str(
            "115792089237316195423570985008687907852837564279074904382605163141518161494337",
        );
        let high = order.unwrap() - ethers_core::types::U256::from_big_endian(&good[32..64]);
        assert!(!with(&|signature| {
            high.to_big_endian(&mut signature[32..64]);
            signature[64] = 28;
        }));
        for at in [0, 31, 32, 63] {
            assert!(!with(&|signature| signature[at] ^= 1), "{at}");
        }
        assert!(!with(&|signature| signature[..64].fill(0)));
        assert!(!with(&|signature| signature[..64].fill(0xff)));
    }

    #[test]
    fn a_signature_holds_for_its_own_account_nonce_time_and_chain_only() {
        let account = account();
        let signature = login(&account).sign(&key(2)).unwrap();
        let other = address_of_key(&key(3)).unwrap();
        assert!(!login(&other).is_signed_by_account(&signature));
        assert!(
            !Login { nonce: "9f86d081884c7d659a2feaa0c55ad016", ..login(&account) }
                .is_signed_by_account(&signature)
        );
        assert!(!Login { expires_at_s: 1_767_225_601, ..login(&account) }.is_signed_by_account(&signature));
        assert!(!Login { chain_id: 1, ..login(&account) }.is_signed_by_account(&signature));
    }
}
