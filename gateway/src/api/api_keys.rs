//! API keys of an account (`spot.md` 2.2). Changes wait for the disk on a thread of their own, never on the worker's.

use super::docs::{Field, Param, Shape};
use super::{Answer, Call, Error, Handler, Method, Response, Route, answer, later};
use ringside_auth::Authenticator;
use ringside_auth::access::{Auth, Permission};
use ringside_auth::cidr::Cidr;
use ringside_auth::key::{
    ApiKey, Credentials, KeyChange, KeyError, LABEL_LEN_MAX, NewKey, WHITELIST_LEN_MAX,
};
use ringside_core::ids::AccountId;
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_wire::access::{ApiKey as ApiKeyShown, KeyPermission};
use ringside_wire::account::{DONE, Done};
use ringside_wire::fault::{Denied, Fault};
use ringside_wire::refusal::Dialect;
use serde::Deserialize;
use serde_json::Value;

const INVALID_LABEL: Refusal = Refusal { status: 400, error: "invalid label" };
const INVALID_PERMISSION: Refusal = Refusal { status: 400, error: "invalid permission" };
const INVALID_IP_WHITELIST: Refusal = Refusal { status: 400, error: "invalid ip_whitelist" };
const INVALID_EXPIRES_AT: Refusal = Refusal { status: 400, error: "invalid expires_at" };
const INVALID_ENABLED: Refusal = Refusal { status: 400, error: "invalid enabled" };
const TOO_MANY: Refusal = Refusal { status: 400, error: "too many api keys" };
const NOT_FOUND: Refusal = Refusal { status: 404, error: "not found" };

/// Faults of what a key may be made with and changed to.
const OF_BODY: &[Refusal] = &[INVALID_LABEL, INVALID_PERMISSION, INVALID_IP_WHITELIST];

const LABEL: Shape = Shape::Pattern("^[^\\x00-\\x1f\\x7f-\\x9f]{1,64}$");
const PERMISSIONS: Shape = Shape::List(&Shape::OneOf(&["read", "trade"]));
const WHITELIST: Shape = Shape::List(&Shape::Text);
const ID: Param = Param::path("id", Shape::Integer, "Number of the key");

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        tag: "api keys",
        summary: "Make an API key",
        body: Shape::Object(&[
            Field::new("label", LABEL, "1 to 64 characters"),
            Field::optional("permissions", PERMISSIONS, "Default both"),
            Field::optional("ip_whitelist", WHITELIST, "IP addresses and networks; default empty: any"),
            Field::optional("expires_at", Shape::Integer, "UNIX seconds"),
        ]),
        response: answer::<ApiKeyShown<'_>>(),
        refusals: &[OF_BODY, &[INVALID_EXPIRES_AT, TOO_MANY, refusal::DB_ERROR]],
        ..Route::new(Method::Post, "/api/v1/account/api-keys", Handler::Later(|call| Box::pin(create(call))))
    },
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        tag: "api keys",
        summary: "All own API keys, oldest first",
        response: answer::<Vec<ApiKeyShown<'_>>>(),
        refusals: &[&[refusal::DB_ERROR]],
        ..Route::new(Method::Get, "/api/v1/account/api-keys", Handler::Now(list))
    },
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        tag: "api keys",
        summary: "Change an API key",
        params: &[ID],
        body: Shape::Object(&[
            Field::optional("label", LABEL, "1 to 64 characters"),
            Field::optional("permissions", PERMISSIONS, ""),
            Field::optional("ip_whitelist", WHITELIST, ""),
            Field::optional("enabled", Shape::Boolean, ""),
        ]),
        response: answer::<ApiKeyShown<'_>>(),
        refusals: &[OF_BODY, &[INVALID_ENABLED, NOT_FOUND, refusal::DB_ERROR]],
        ..Route::new(
            Method::Patch,
            "/api/v1/account/api-keys/{id}",
            Handler::Later(|call| Box::pin(change(call))),
        )
    },
    Route {
        auth: Auth::JwtOnly(Denied::LoginOnly),
        tag: "api keys",
        summary: "Delete an API key; its use ends at once",
        params: &[ID],
        refusals: &[&[NOT_FOUND, refusal::DB_ERROR]],
        ..Route::of(Method::Delete, "/api/v1/account/api-keys/{id}", later!(delete))
    },
];

/// Members that are sent; `null` counts as not sent.
#[derive(Deserialize)]
struct Body {
    label: Option<Value>,
    permissions: Option<Value>,
    ip_whitelist: Option<Value>,
    expires_at: Option<Value>,
    enabled: Option<Value>,
}

async fn create(call: Call) -> Answer {
    let body: Body = call.json()?;
    let now_s = call.now_ms / 1_000;
    let new = NewKey {
        label: label(&body.label.unwrap_or_default())?,
        permissions: body.permissions.as_ref().map_or(Ok((true, true)), permissions)?,
        ip_whitelist: body.ip_whitelist.as_ref().map_or(Ok(Vec::new()), whitelist)?,
        expires_at_s: body.expires_at.as_ref().map(|value| expires_at(value, now_s)).transpose()?,
    };
    let identity = call.identity.ok_or_else(|| Fault::Unauthorized.error(Dialect::Spot))?;
    let created = on_disk(&call, move |auth| {
        auth.keys.create(identity.account, identity.address, new, now_s).map_err(refused)
    });
    let (key, credentials) = created.await?;
    tracing::info!(account = identity.account, key = key.id(), "API key made");
    Ok(Response::of(&shown(&key, &credentials, true)))
}

fn list(call: &Call) -> Answer {
    let store = &call.worker.shared.edge.auth.keys;
    let keys = store.list(call.account());
    let credentials: Vec<Credentials> =
        keys.iter().map(|key| store.credentials(key)).collect::<Result<_, _>>().map_err(refused)?;
    let rows = keys.iter().zip(&credentials).map(|(key, credentials)| shown(key, credentials, false));
    Ok(Response::of(&rows.collect::<Vec<_>>()))
}

async fn change(call: Call) -> Answer {
    let body: Body = call.json()?;
    let change = KeyChange {
        label: body.label.as_ref().map(label).transpose()?,
        permissions: body.permissions.as_ref().map(permissions).transpose()?,
        ip_whitelist: body.ip_whitelist.as_ref().map(whitelist).transpose()?,
        enabled: body.enabled.map(|value| value.as_bool().ok_or(INVALID_ENABLED)).transpose()?,
    };
    let (account, id, now_ms) = (call.account(), id(&call)?, call.now_ms);
    let is_of_access =
        change.permissions.is_some() || change.ip_whitelist.is_some() || change.enabled.is_some();
    let key = on_disk(&call, move |auth| {
        let key = auth.keys.change(account, id, change).map_err(refused)?;
        if is_of_access {
            end_streams(auth, account, now_ms)?;
        }
        Ok(key)
    });
    let key = key.await?;
    tracing::info!(account, key = id, "API key changed");
    let credentials = call.worker.shared.edge.auth.keys.credentials(&key).map_err(refused)?;
    Ok(Response::of(&shown(&key, &credentials, false)))
}

async fn delete(call: Call) -> Result<Done, Error> {
    let (account, id, now_ms) = (call.account(), id(&call)?, call.now_ms);
    let deleted = on_disk(&call, move |auth| {
        auth.keys.delete(account, id).map_err(refused)?;
        end_streams(auth, account, now_ms)
    });
    deleted.await?;
    tracing::info!(account, key = id, "API key deleted");
    Ok(DONE)
}

/// Ends the listen key of an account, which somebody may have got by an API key that is not good for it any more; others get a new one.
fn end_streams(auth: &Authenticator, account: AccountId, now_ms: i64) -> Result<(), Error> {
    auth.listen_keys.end(account, now_ms).map_err(|error| {
        tracing::error!(%error, account, "a listen key outlives the API key it may have been got by");
        refusal::DB_ERROR.into()
    })
}

/// Runs a change where waiting for the disk delays nobody else. Once begun it ends, whether or not the client waits.
async fn on_disk<T: Send + 'static>(
    call: &Call,
    change: impl FnOnce(&Authenticator) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let shared = call.worker.shared.clone();
    let changed = tokio::task::spawn_blocking(move || change(&shared.edge.auth)).await;
    changed.unwrap_or_else(|_| Err(Fault::Internal.error(Dialect::Spot)))
}

fn refused(error: KeyError) -> Error {
    match error {
        KeyError::TooMany => TOO_MANY.into(),
        KeyError::NotFound => NOT_FOUND.into(),
        KeyError::Log(_) | KeyError::Seal(_) | KeyError::Random(_) => {
            tracing::error!(%error, "an API key could not be read or kept");
            refusal::DB_ERROR.into()
        }
    }
}

/// A key as its owner sees it.
fn shown<'a>(key: &'a ApiKey, credentials: &'a Credentials, with_secret: bool) -> ApiKeyShown<'a> {
    let permissions =
        [(Permission::Read, KeyPermission::Read), (Permission::Trade, KeyPermission::Trade)].into_iter();
    let permitted = permissions.filter_map(|(permission, word)| key.permits(permission).then_some(word));
    ApiKeyShown {
        id: key.id(),
        api_key: &credentials.key,
        api_secret: with_secret.then_some(credentials.secret.as_str()),
        label: key.label(),
        permissions: permitted.collect(),
        ip_whitelist: key.ip_whitelist(),
        expires_at: key.expires_at_s(),
        enabled: key.is_enabled(),
        created_at: key.created_at_s(),
        last_used_at: key.last_used_at_s(),
    }
}

fn id(call: &Call) -> Result<u64, Refusal> {
    call.path_param(0).parse().map_err(|_| NOT_FOUND)
}

fn label(value: &Value) -> Result<String, Refusal> {
    let text = value.as_str().ok_or(INVALID_LABEL)?;
    let fits = (1..=LABEL_LEN_MAX).contains(&text.chars().count()) && !text.contains(char::is_control);
    if fits { Ok(text.to_owned()) } else { Err(INVALID_LABEL) }
}

/// Read and trade. A key without any permission is refused like one that asks for more than there is.
fn permissions(value: &Value) -> Result<(bool, bool), Refusal> {
    let (mut read, mut trade) = (false, false);
    for word in value.as_array().ok_or(INVALID_PERMISSION)? {
        match word.as_str() {
            Some("read") => read = true,
            Some("trade") => trade = true,
            _ => return Err(INVALID_PERMISSION),
        }
    }
    if read || trade { Ok((read, trade)) } else { Err(INVALID_PERMISSION) }
}

fn whitelist(value: &Value) -> Result<Vec<Cidr>, Refusal> {
    let items =
        value.as_array().filter(|items| items.len() <= WHITELIST_LEN_MAX).ok_or(INVALID_IP_WHITELIST)?;
    let networks = items.iter().map(|item| item.as_str().and_then(Cidr::parse));
    networks.collect::<Option<_>>().ok_or(INVALID_IP_WHITELIST)
}

fn expires_at(value: &Value, now_s: i64) -> Result<i64, Refusal> {
    value.as_i64().filter(|at| *at > now_s).ok_or(INVALID_EXPIRES_AT)
}
