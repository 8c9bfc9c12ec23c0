//! Login tokens: HS256, one secret, one algorithm (`spot.md` 2.1).
//!
//! The algorithm is pinned here and never taken from a token. `exp` is judged by the injected clock, not by the token
//! library's. The cryptography is our own provider over `hmac` and `sha2`: the library's bundled ones bring RSA or C code.

use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use ringside_core::ids::{AccountId, Address};
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::fault::Fault;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use signature::{Signer, Verifier};

/// Life of a token in seconds.
pub const TOKEN_LIFE_S: i64 = 86_400;

/// Mints and reads login tokens.
#[derive(Clone)]
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    header: Header,
    validation: Validation,
}

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    /// Wallet, lower case `0x` and 40 hex digits.
    sub: String,
    /// Account id.
    uid: AccountId,
    iat: i64,
    exp: i64,
    /// Unique to the token.
    jti: String,
}

/// A token that was good when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bearer {
    /// Claim `uid`.
    pub account: AccountId,
    /// Claim `sub`.
    pub address: Address,
    /// Claim `iat`, UNIX seconds.
    pub issued_at_s: i64,
    /// Claim `exp`, UNIX seconds: the first moment at which it is no longer good.
    pub expires_at_s: i64,
}

impl Tokens {
    /// Tokens under this secret.
    pub fn new(secret: &[u8]) -> Tokens {
        // Fails where it is installed already, by an earlier call: there is one provider.
        let _ = PROVIDER.install_default();
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        validation.validate_aud = false;
        Tokens {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            header: Header::new(Algorithm::HS256),
            validation,
        }
    }

    /// A new token issued at that second, and its `exp`. `jti` must not have been used before.
    pub fn mint(
        &self,
        account: AccountId,
        address: &Address,
        jti: String,
        issued_at_s: i64,
    ) -> Result<(String, i64), Error> {
        let exp = issued_at_s + TOKEN_LIFE_S;
        let sub = address_text(address);
        let claims = Claims { sub, uid: account, iat: issued_at_s, exp, jti };
        Ok((jsonwebtoken::encode(&self.header, &claims, &self.encoding)?, exp))
    }

    /// Reads a token: [`Fault::Unauthorized`] unless this secret signed it, then [`Fault::TokenExpired`].
    pub fn read(&self, token: &[u8], now_s: i64) -> Result<Bearer, Fault> {
        let data = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation)
            .map_err(|_| Fault::Unauthorized)?;
        let claims = data.claims;
        if now_s >= claims.exp {
            return Err(Fault::TokenExpired);
        }
        let address = parse_address(&claims.sub).ok_or(Fault::Unauthorized)?;
        let Claims { uid: account, iat: issued_at_s, exp: expires_at_s, .. } = claims;
        Ok(Bearer { account, address, issued_at_s, expires_at_s })
    }
}

/// HS256 and nothing else.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(Hs256::new(algorithm, key.as_bytes())?)),
    verifier_factory: |algorithm, key| Ok(Box::new(Hs256::new(algorithm, key.try_get_as_bytes()?)?)),
    // Only key sets as JSON need these; tokens are read with one secret.
    key_utils: KeyUtils::new_unimplemented(),
};

struct Hs256(Hmac<Sha256>);

impl Hs256 {
    fn new(algorithm: &Algorithm, key: &[u8]) -> Result<Hs256, Error> {
        if *algorithm != Algorithm::HS256 {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        Hmac::new_from_slice(key).map(Hs256).map_err(|_| ErrorKind::InvalidKeyFormat.into())
    }

    fn over(&self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(message);
        mac
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, signature::Error> {
        Ok(self.over(message).finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        // Compares in constant time, and only the whole tag.
        self.over(message).verify_slice(signature).map_err(|_| signature::Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_S: i64 = 1_700_000_000;
    const WALLET: Address = [0xab; 20];

    fn tokens() -> Tokens {
        Tokens::new(b"0123456789abcdef0123456789abcdef")
    }

    fn minted() -> String {
        tokens().mint(7, &WALLET, "one".to_owned(), NOW_S).unwrap().0
    }

    #[test]
    fn a_token_is_read_back_until_it_expires() {
        let token = minted();
        let bearer = Bearer { account: 7, address: WALLET, issued_at_s: NOW_S, expires_at_s: NOW_S + 86_400 };
        assert_eq!(tokens().read(token.as_bytes(), NOW_S), Ok(bearer));
        assert_eq!(tokens().read(token.as_bytes(), NOW_S + 86_399), Ok(bearer));
        assert_eq!(tokens().read(token.as_bytes(), NOW_S + 86_400), Err(Fault::TokenExpired));
    }

    #[test]
    fn a_token_has_the_claims_of_the_specification() {
        let token = minted();
        let data = jsonwebtoken::dangerous::insecure_decode::<serde_json::Value>(&token).unwrap();
        let expected = serde_json::json!({
            "sub": "0xabababababababababababababababababababab", "uid": 7,
            "iat": NOW_S, "exp": NOW_S + 86_400, "jti": "one",
        });
        assert_eq!(data.claims, expected);
        assert_eq!(data.header.alg, Algorithm::HS256);
    }

    #[test]
    fn rfc_7515_appendix_a1_verifies() {
        // The first published HS256 vector: header, payload and tag made by others.
        let message = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow==";
        let _ = PROVIDER.install_default();
        let key = DecodingKey::from_secret(EncodingKey::from_urlsafe_base64_secret(key).unwrap().as_bytes());
        let tag = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(jsonwebtoken::crypto::verify(tag, message.as_bytes(), &key, Algorithm::HS256).unwrap());
        let other = "eBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(!jsonwebtoken::crypto::verify(other, message.as_bytes(), &key, Algorithm::HS256).unwrap());
    }

    #[test]
    fn forgeries_are_refused() {
        let token = minted();
        let parts: Vec<&str> = token.split('.').collect();
        let other = Tokens::new(b"another secret, another secret, ").mint(7, &WALLET, "x".to_owned(), NOW_S);
        let none = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
        let hs384 = "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9";
        let mut bent = token.clone().into_bytes();
        let last = bent.len() - 2;
        bent[last] = if bent[last] == b'A' { b'B' } else { b'A' };
        let cases = [
            other.unwrap().0.into_bytes(),
            bent,
            format!("{none}.{}.", parts[1]).into_bytes(),
            format!("{hs384}.{}.{}", parts[1], parts[2]).into_bytes(),
            format!("{}.{}", parts[0], parts[1]).into_bytes(),
            format!("{}.{}.", parts[0], parts[1]).into_bytes(),
            format!("{}.{}.{}", parts[0], parts[0], parts[2]).into_bytes(),
            b"".to_vec(),
            b"..".to_vec(),
            b"\xff\xfe.a.b".to_vec(),
        ];
        for case in cases {
            let text = String::from_utf8_lossy(&case).into_owned();
            assert_eq!(tokens().read(&case, NOW_S), Err(Fault::Unauthorized), "{text}");
        }
    }
}
