//! Wallets whose keys everybody knows: the ten that local chains of developers begin with (anvil, hardhat). A test deployment
//! funds them and gives each an API key; a production deployment lets nobody in as one of them.

use ringside_core::ids::Address;

/// One of them. `spot.md` 2.2 has 64 characters in a key and in its secret: the API key is the address behind zeros, its secret the
/// digits of the wallet's key, so that two texts are all that somebody needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestWallet {
    /// 40 hex digits.
    address: &'static str,
    /// 64 hex digits.
    key: &'static str,
}

/// All of them.
pub static TEST_WALLETS: [TestWallet; 10] = [
    TestWallet {
        address: "f39fd6e51aad88f6f4ce6ab8827279cfffb92266",
        key: "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    },
    TestWallet {
        address: "70997970c51812dc3a010c7d01b50e0d17dc79c8",
        key: "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    },
    TestWallet {
        address: "3c44cdddb6a900fa2b585dd299e03d12fa4293bc",
        key: "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    },
    TestWallet {
        address: "90f79bf6eb2c4f870365e785982e1f101e93b906",
        key: "7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    },
    TestWallet {
        address: "15d34aaf54267db7d7c367839aaf71a00a2c6a65",
        key: "47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    },
    TestWallet {
        address: "9965507d1a55bcc2695c58ba16fb37d819b0a4dc",
        key: "8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
    },
    TestWallet {
        address: "976ea74026e726554db657fa54763abd0c3a0aa9",
        key: "92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
    },
    TestWallet {
        address: "14dc79964da2c08b23698b3d3cc7ca32193d9955",
        key: "4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
    },
    TestWallet {
        address: "23618e81e3f5cdf7f54c3d65f7fbc0abf5b21e8f",
        key: "dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
    },
    TestWallet {
        address: "a0ee7a142d267c1f36714e4a8f75612f20a79720",
        key: "2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
    },
];

impl TestWallet {
    /// Its address.
    pub fn address(&self) -> Address {
        let mut address = Address::default();
        // The tests read every one.
        let _ = const_hex::decode_to_slice(self.address, &mut address);
        address
    }

    /// Its API key: 64 characters.
    pub fn api_key(&self) -> String {
        format!("{:0>64}", self.address)
    }

    /// Its key, 64 hex digits, which is the secret of its API key too.
    pub fn key(&self) -> &'static str {
        self.key
    }
}

/// Whether everybody has the key of this wallet.
pub fn is_known(address: &Address) -> bool {
    TEST_WALLETS.iter().any(|wallet| wallet.address() == *address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KEY_LEN;
    use crate::typed_data::address_of_key;

    #[test]
    fn each_address_is_that_of_its_key() {
        for wallet in &TEST_WALLETS {
            let mut key = [0; 32];
            const_hex::decode_to_slice(wallet.key(), &mut key).unwrap();
            assert_eq!(address_of_key(&key), Some(wallet.address()), "{}", wallet.address);
            for text in [&*wallet.api_key(), wallet.key()] {
                assert!(text.len() == KEY_LEN && text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            }
            assert!(is_known(&wallet.address()));
        }
        assert!(!is_known(&[0; 20]));
    }
}
