//! Login by wallet signature (`spot.md` 2.1): a nonce, then a token. The first login of an address makes its account. Logout takes
//! tokens back (`durability.md` 2.9).

use super::docs::{ADDRESS_SENT, Field, Param, Shape};
use super::{Call, Error, Method, Route, Weight, later, now};
use ringside_auth::access::Auth;
use ringside_auth::login::{Claim, LoginRefusal, nonce_text};
use ringside_auth::nonce::NONCE_LIFE_S;
use ringside_auth::secret;
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_edge::login::{LOGIN_WEIGHT, account_of, internal};
use ringside_wire::access::{LoginNonce, LoginToken, TokenType};
use ringside_wire::account::{DONE, Done};
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::fault::Denied;
use ringside_wire::name::Address as Shown;
use serde::Deserialize;
use serde_json::Value;

const INVALID_ADDRESS: Refusal = Refusal { status: 400, error: "invalid address" };
const INVALID_VERSION: Refusal = Refusal { status: 400, error: "invalid version" };
const INVALID_SIGNATURE: Refusal = Refusal { status: 400, error: "invalid signature" };
const NONCE_INVALID: Refusal = Refusal { status: 401, error: "NONCE_INVALID" };
const SIGNATURE_INVALID: Refusal = Refusal { status: 401, error: "SIGNATURE_INVALID" };

const NONCE: Shape = Shape::Pattern("^[0-9a-f]{32}$");
const SIGNATURE: Shape = Shape::Pattern("^0x[0-9a-fA-F]{130}$");

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "login",
        summary: "A nonce to sign, with the typed data (EIP-712) to hand to the wallet",
        params: &[Param::query("address", ADDRESS_SENT, "0x and 40 hex digits")],
        refusals: &[&[INVALID_ADDRESS]],
        ..Route::of(Method::Get, "/api/v1/auth/nonce", now!(nonce))
    },
    Route {
        weight: Weight::Fixed(LOGIN_WEIGHT),
        tag: "login",
        summary: "A login token for a signed nonce; makes the account at the first login",
        body: Shape::Object(&[
            Field::new("address", ADDRESS_SENT, "0x and 40 hex digits"),
            Field::new("nonce", NONCE, "As issued"),
            Field::new("signature", SIGNATURE, "0x and 130 hex digits: r, s, v"),
            Field::optional("version", Shape::Integer, "Of what was signed: 1, if not sent, or 2"),
        ]),
        refusals: &[
            &[INVALID_ADDRESS, INVALID_SIGNATURE, INVALID_VERSION, NONCE_INVALID, SIGNATURE_INVALID],
            super::spot::OF_ENGINE,
        ],
        ..Route::of(Method::Post, "/api/v1/auth/login", later!(login))
    },
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        tag: "login",
        summary: "Log out: every login token that the account has ends at once",
        refusals: &[&[refusal::DB_ERROR, refusal::INTERNAL]],
        ..Route::of(Method::Post, "/api/v1/auth/logout", later!(logout))
    },
];

const fn of_login(refusal: LoginRefusal) -> Refusal {
    match refusal {
        LoginRefusal::InvalidAddress => INVALID_ADDRESS,
        LoginRefusal::InvalidSignature => INVALID_SIGNATURE,
        LoginRefusal::InvalidVersion => INVALID_VERSION,
        LoginRefusal::NonceInvalid => NONCE_INVALID,
        LoginRefusal::SignatureInvalid => SIGNATURE_INVALID,
    }
}

fn nonce(call: &Call) -> Result<LoginNonce, Error> {
    let address = call.query().get("address").and_then(|text| parse_address(&text)).ok_or(INVALID_ADDRESS)?;
    let now_s = call.now_ms / 1_000;
    let (auth, config) = (&call.worker.shared.edge.auth, &*call.worker.config);
    let live = auth.nonces.issue(&address, now_s).map_err(internal)?;
    let nonce = nonce_text(&live.nonce);
    let typed_data = |is_bound| auth.login(&address, &nonce, &live, is_bound).typed_data();
    let takes_both = config.takes_login_version_1();
    Ok(LoginNonce {
        address: Shown(address),
        issued_at: live.expires_at_s - NONCE_LIFE_S,
        expires_at: live.expires_at_s,
        version: if takes_both { 1 } else { 2 },
        typed_data: typed_data(!takes_both),
        typed_data_2: takes_both.then(|| typed_data(true)),
        nonce,
    })
}

async fn login(call: Call) -> Result<LoginToken, Error> {
    /// Members of the wrong type are judged like wrong text.
    #[derive(Deserialize)]
    struct Body {
        #[serde(default)]
        address: Value,
        #[serde(default)]
        nonce: Value,
        #[serde(default)]
        signature: Value,
        #[serde(default)]
        version: Value,
    }
    let body: Body = call.json()?;
    let text = |value: Value| value.as_str().unwrap_or("").to_owned();
    let auth = &call.worker.shared.edge.auth;
    let now_s = call.now_ms / 1_000;
    let claim = Claim {
        version: if body.version.is_null() { 1 } else { body.version.as_u64().unwrap_or(0) },
        address: text(body.address),
        nonce: text(body.nonce),
        signature: text(body.signature),
    };
    let signed = auth.check_login(&claim, &*call.client, now_s).await.map_err(of_login)?;
    let account = account_of(&call.worker, signed.address).await?;
    auth.finish_login(&signed, now_s).map_err(of_login)?;
    let mut jti = [0; 16];
    secret::fill(&mut jti).map_err(internal)?;
    let issued_at_s = auth.logouts.issue_at_s(account, now_s);
    let minted = auth.tokens.mint(account, &signed.address, const_hex::encode(jti), issued_at_s);
    let (token, expires_at) = minted.map_err(internal)?;
    tracing::info!(account, address = address_text(&signed.address), "logged in");
    Ok(LoginToken { token, token_type: TokenType::Bearer, address: Shown(signed.address), expires_at })
}

async fn logout(call: Call) -> Result<Done, Error> {
    let (account, now_s) = (call.account(), call.now_ms / 1_000);
    let shared = call.worker.shared.clone();
    // Where waiting for the disk delays nobody else.
    let ended = tokio::task::spawn_blocking(move || shared.edge.auth.logouts.log_out(account, now_s)).await;
    match ended {
        Ok(Ok(())) => {
            tracing::info!(account, "logged out");
            Ok(DONE)
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "a logout could not be kept");
            Err(refusal::DB_ERROR.into())
        }
        Err(_) => Err(refusal::INTERNAL.into()),
    }
}
