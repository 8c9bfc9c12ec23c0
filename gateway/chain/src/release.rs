//! The typed message of a release and its digest (`spot.md` 10).

use super::{Release, SignedRelease};
use ringside_auth::wallet::{keccak256, recover, typed_digest, word};
use ringside_core::ids::Address;

const DOMAIN_VERSION: &str = "1";
const DOMAIN_TYPE: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const RELEASE_TYPE: &str =
    "SpotReleaseFunds(address account,address token,uint256 value,uint256 nonce,uint256 deadline)";

/// Hash of the domain of what is signed for a vault.
pub fn domain_separator(chain_id: u64, vault: &Address, vault_name: &str) -> [u8; 32] {
    let fields = [
        keccak256(DOMAIN_TYPE),
        keccak256(vault_name),
        keccak256(DOMAIN_VERSION),
        word(&chain_id.to_be_bytes()),
        word(vault),
    ];
    keccak256(fields.concat())
}

impl Release {
    /// Hash of the domain.
    pub fn domain_separator(&self) -> [u8; 32] {
        domain_separator(self.key.chain_id, &self.key.vault, &self.vault_name)
    }

    /// Hash of the message.
    pub fn struct_hash(&self) -> [u8; 32] {
        let fields = [
            keccak256(RELEASE_TYPE),
            word(&self.key.account),
            word(&self.token),
            word(&self.value.to_be_bytes()),
            word(&self.key.nonce.to_be_bytes()),
            word(&self.deadline_s.to_be_bytes()),
        ];
        keccak256(fields.concat())
    }

    /// What is signed.
    pub fn digest(&self) -> [u8; 32] {
        typed_digest(&self.domain_separator(), &self.struct_hash())
    }
}

impl SignedRelease {
    /// Whether it is this release, signed by `signer`.
    pub fn is_of(&self, release: &Release, signer: &Address) -> bool {
        self.digest == release.digest()
            && matches!(self.signature[64], 27 | 28)
            && recover(&self.digest, &self.signature) == Some(*signer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReleaseKey;
    use ringside_auth::wallet::Wallet;
    use ringside_wire::address::parse_address;

    fn release() -> Release {
        Release {
            key: ReleaseKey {
                chain_id: 31_337,
                vault: [0x11; 20],
                account: parse_address("0x2B5AD5c4795c026514f8317c7a215E218DcCD6cF").unwrap(),
                nonce: 0,
            },
            vault_name: "SpotVault".to_owned(),
            token: [0x22; 20],
            value: 1_500_000_000_000_000_000,
            deadline_s: 1_767_225_600,
            requested_at_s: 1_767_225_600 - 86_400,
            withdrawal: 1,
        }
    }

    #[test]
    fn the_vector_of_the_specification() {
        let hex = |bytes: &[u8]| const_hex::encode_prefixed(bytes);
        let release = release();
        let expected = [
            (keccak256(RELEASE_TYPE), "0xf985feced2f82d864d3edaabfa97b817b7a99d415e5a3a0779abe0f3427a9107"),
            (
                release.domain_separator(),
                "0x6d17a1710259911fe7001cf278a52d26deb2b267b41c850b34f48f13b935fe3d",
            ),
            (release.struct_hash(), "0x7330a23854fad75126e9215dce6acc1df1ecd011e8307ad87348c1104a220021"),
            (release.digest(), "0xc9f77a0b32bf5550dfe7f1ee2ab03609fcdda4facc4768488c3af7bb800a209f"),
        ];
        for (hash, text) in expected {
            assert_eq!(hex(&hash), text);
        }
        let wallet = Wallet::new(&word(&[1])).unwrap();
        assert_eq!(Some(wallet.address()), parse_address("0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf"));
        let signature = wallet.sign(&release.digest()).unwrap();
        assert_eq!(
            hex(&signature),
            "0x6e6f3ee5e8ac256b3c789b724f934abb0b20ad01bd836464041f09c69ea938fe6d7236113e09904284365ed36a8e7be025333d52ed7296dbc8af9eb9a371ef691b"
        );
        let signed = SignedRelease { digest: release.digest(), signature };
        assert!(signed.is_of(&release, &wallet.address()));
        assert!(!signed.is_of(&Release { value: release.value + 1, ..release.clone() }, &wallet.address()));
        assert!(!signed.is_of(&release, &[0x11; 20]));
    }

    #[test]
    fn every_field_changes_the_digest_except_what_the_message_does_not_say() {
        let good = release();
        let key = good.key;
        let changed = [
            Release { key: ReleaseKey { chain_id: 1, ..key }, ..good.clone() },
            Release { key: ReleaseKey { vault: [0x12; 20], ..key }, ..good.clone() },
            Release { key: ReleaseKey { account: [0x12; 20], ..key }, ..good.clone() },
            Release { key: ReleaseKey { nonce: 1, ..key }, ..good.clone() },
            Release { vault_name: "Vault".to_owned(), ..good.clone() },
            Release { token: [0x23; 20], ..good.clone() },
            Release { value: u128::MAX, ..good.clone() },
            Release { deadline_s: good.deadline_s + 1, ..good.clone() },
        ];
        let mut digests: Vec<_> = changed.iter().map(Release::digest).chain([good.digest()]).collect();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), changed.len() + 1);
        assert_eq!(Release { requested_at_s: 0, withdrawal: 9, ..good.clone() }.digest(), good.digest());
    }
}
