//! The OpenAPI 3.1 document, made of the rows.

use crate::api::fapi::shape;
use crate::routes::sample::samples;
use crate::ws_request::methods;
use ringside_auth::access::{Auth, Permission};
use ringside_dialect::fapi::refusal;
use ringside_edge::http::order_rate::OrderCount;
use ringside_edge::route::docs::{Field, Param, Place, Shape};
use ringside_edge::route::{Error, Method, Route, Weight};
use ringside_wire::fault::{Denied, Fault, SignatureError};
use ringside_wire::refusal::Dialect;
use ringside_wire::schema::DECIMAL;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// One thing that a route may answer instead of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// HTTP status.
    pub status: u16,
    /// Number of the `/fapi` dialect, else 0.
    pub code: i32,
    /// The string; one that ends in a space goes on with a name that was sent.
    pub text: Cow<'static, str>,
}

/// The document of these rows.
pub fn document<'a>(routes: impl Iterator<Item = &'a Route>) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for error in [SPOT_ERROR, FAPI_ERROR, NAMED_ERROR] {
        schema(&error, &mut schemas);
    }
    for route in routes.filter(|route| route.is_api) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.name().to_ascii_lowercase()] = operation(route, &mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ringside",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An exchange. Amounts are decimal strings; times are UNIX seconds unless a field says otherwise. HEAD is answered wherever GET is, without the body.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                "signedKey": {
                    "type": "apiKey", "in": "header", "name": "X-EX-APIKEY",
                    "description": "With parameters timestamp and signature: HMAC-SHA256 of query and body under the secret",
                },
                "adminKey": {
                    "type": "apiKey", "in": "header", "name": "X-API-Key",
                    "description": "The administrator's key",
                },
            },
        },
    })
}

const SPOT_ERROR: Shape = Shape::Named(
    "Error",
    &[
        Field::new("error", Shape::Text, "What programs compare"),
        Field::optional("message", Shape::Text, "What people read"),
        Field::optional("order_id", Shape::Text, "The order stored as rejected"),
    ],
);
const FAPI_ERROR: Shape = Shape::Named(
    "CodedError",
    &[Field::new("code", Shape::Integer, "Below zero"), Field::new("msg", Shape::Text, "")],
);
const NAMED_ERROR: Shape = Shape::Named(
    "NamedError",
    &[
        Field::new("code", Shape::Text, "What programs compare"),
        Field::new("message", Shape::Text, "What people read"),
    ],
);

const WAITS: Shape = Shape::Object(&[
    Field::new("approval_id", Shape::Text, "For POST /admin/approvals/{id} by another operator"),
    Field::new("expires_at", Shape::Integer, "UNIX milliseconds"),
]);

fn operation(route: &Route, schemas: &mut Map<String, Value>) -> Value {
    // A route without a body of its own hands the connection over.
    let (done, description) = match route.response {
        Shape::Nothing => ("101", "The connection speaks another protocol from here on"),
        _ => ("200", "Done"),
    };
    let mut responses = refused(route, schemas);
    responses.insert(done.to_owned(), answer(description, &route.response, schemas));
    if route.is_for_two {
        responses.insert("202".to_owned(), answer("It waits for a second operator", &WAITS, schemas));
    }
    let mut operation = json!({
        "tags": [route.tag],
        "summary": route.summary,
        "responses": responses,
        "security": security(route.auth),
        "x-weight": match route.weight {
            Weight::Fixed(weight) => json!(weight),
            Weight::ByQuery(_) => json!("depends on the query"),
        },
    });
    let methods = methods::of(route.method, route.path);
    if !methods.is_empty() {
        operation["x-websocket-methods"] = json!(methods);
    }
    if let Some(needs) = permission(route.auth) {
        operation["x-api-key-permission"] = json!(needs);
    }
    // Parameters that the edge reads, beside the row's own.
    let signed = if matches!(route.auth, Auth::Signed(_) | Auth::Stream) { shape::SIGNED } else { &[] };
    if !route.params.is_empty() || !signed.is_empty() {
        let params = route.params.iter().chain(signed);
        operation["parameters"] = params.map(|param| parameter(param, schemas)).collect();
    }
    if !matches!(route.body, Shape::Nothing) {
        let mut body = schema(&route.body, schemas);
        let named = body["$ref"].as_str().and_then(|place| schemas.get(place.rsplit('/').next()?));
        if let Some(named) = named {
            body = named.clone();
        }
        or_null(&mut body);
        let content = json!({ "application/json": { "schema": body } });
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    operation["x-codeSamples"] = samples(route, &operation, schemas);
    operation
}

/// A member of a request that may be absent may as well be null.
fn or_null(body: &mut Value) {
    if let Some(shapes) = body.get_mut("anyOf").and_then(Value::as_array_mut) {
        return shapes.iter_mut().for_each(or_null);
    }
    let required = body.get("required").cloned().unwrap_or_default();
    if let Some(properties) = body.get_mut("properties").and_then(Value::as_object_mut) {
        let is_required =
            |name: &String| required.as_array().is_some_and(|names| names.iter().any(|other| other == name));
        for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
            *property = json!({ "anyOf": [property.take(), { "type": "null" }] });
        }
    }
}

/// Everything that a route refuses with: what its handler says, and what the edge does to every row of its kind.
pub fn refusals(route: &Route) -> BTreeSet<Refused> {
    let mut faults = vec![
        Fault::Banned { until_ms: 0, retry_after_s: 0 },
        Fault::TooManyRequests { limit: 0, retry_after_s: 0 },
        Fault::TooManyConnections { limit: 0 },
        Fault::BodyTooLarge,
        Fault::BodyTimeout,
        Fault::BodyBroken,
        Fault::Internal,
        if route.method == Method::Get { Fault::Timeout } else { Fault::Unanswered },
    ];
    let of_permission = |permission| match permission {
        Permission::Read => Fault::Forbidden(Denied::Read),
        Permission::Trade => Fault::Forbidden(Denied::Trade),
    };
    match route.auth {
        Auth::None => {}
        Auth::Admin => faults.push(Fault::Unauthorized),
        Auth::Optional(permission) | Auth::Account(permission) => {
            faults.extend([Fault::Unauthorized, Fault::TokenExpired, of_permission(permission)]);
        }
        Auth::JwtOnly(denied) => {
            faults.extend([Fault::Unauthorized, Fault::TokenExpired, Fault::Forbidden(denied)]);
        }
        Auth::Signed(permission) => faults.push(of_permission(permission)),
        Auth::Stream => faults.push(of_permission(Permission::Read)),
    }
    if matches!(route.auth, Auth::Signed(_) | Auth::Stream) {
        faults.extend([
            Fault::KeyFormat,
            Fault::Unauthorized,
            Fault::BodyType,
            Fault::SignatureError(SignatureError::Mandatory("timestamp")),
            Fault::SignatureError(SignatureError::Twice("timestamp")),
            Fault::SignatureError(SignatureError::NotValid("recvWindow")),
            Fault::SignatureError(SignatureError::Ahead),
            Fault::SignatureError(SignatureError::Late),
            Fault::SignatureError(SignatureError::Signature),
        ]);
    }
    if route.protection.is_some() {
        faults.push(Fault::Throttled);
    }
    if route.orders != OrderCount::NONE {
        faults.push(Fault::TooManyOrders { limit: 0, window_s: 10, retry_after_s: 0 });
    }
    if !matches!(route.body, Shape::Nothing) {
        faults.push(Fault::InvalidJson);
    }
    let of_edge = faults.into_iter().map(|fault| fault.error(route.dialect));
    let of_handler = route.refusals.iter().copied().flatten().map(|refusal| Error::from(*refusal));
    let of_names = route.named_refusals.iter().copied().flatten().map(|refusal| Error::from(*refusal));
    // The handlers of this dialect refuse with any of its codes; one stands for those of 400.
    let of_dialect = [
        refusal::SYMBOL,
        refusal::INTERNAL,
        refusal::UNKNOWN,
        refusal::UNAVAILABLE,
        refusal::NOT_HANDED_OVER,
    ];
    let of_dialect = of_dialect.into_iter().filter(|_| route.dialect == Dialect::Fapi).map(Error::from);
    of_edge
        .chain(of_handler)
        .chain(of_names)
        .chain(of_dialect)
        .map(|error| {
            let (code, text) = (error.wording.number(), error.wording.text().to_owned().into());
            Refused { status: error.status.as_u16(), code, text }
        })
        .collect()
}

/// One response for each status, with the strings or numbers that its body may name.
fn refused(route: &Route, schemas: &mut Map<String, Value>) -> Map<String, Value> {
    let shape = match route.dialect {
        Dialect::Spot => SPOT_ERROR,
        Dialect::Fapi => FAPI_ERROR,
        Dialect::Account => NAMED_ERROR,
    };
    let mut by_status: BTreeMap<u16, Vec<Refused>> = BTreeMap::new();
    for refused in refusals(route) {
        by_status.entry(refused.status).or_default().push(refused);
    }
    let mut responses = Map::new();
    for (status, refused) in by_status {
        let mut body = schema(&shape, schemas);
        body["properties"] = match route.dialect {
            Dialect::Spot => json!({ "error": one_of(&refused) }),
            Dialect::Account => json!({ "code": one_of(&refused) }),
            // What the handlers of this dialect refuse is 400 with any of its codes (`perpetual.md` 4).
            Dialect::Fapi if status == 400 => json!({ "code": { "exclusiveMaximum": 0 } }),
            Dialect::Fapi => {
                let codes: BTreeSet<i32> = refused.iter().map(|refused| refused.code).collect();
                json!({ "code": { "enum": codes } })
            }
        };
        let texts: BTreeSet<&str> = refused.iter().map(|refused| refused.text.trim_end()).collect();
        let mut response = json!({
            "description": texts.into_iter().collect::<Vec<_>>().join(" \u{b7} "),
            "content": { "application/json": { "schema": body } },
        });
        if matches!(status, 418 | 429) {
            let seconds =
                json!({ "description": "Seconds", "required": true, "schema": { "type": "integer" } });
            response["headers"] = json!({ "Retry-After": seconds });
        }
        responses.insert(status.to_string(), response);
    }
    responses
}

/// The schema of `error`. A string that ends in a space goes on with a name that was sent.
fn one_of(refused: &[Refused]) -> Value {
    let (open, whole): (Vec<&str>, Vec<&str>) =
        refused.iter().map(|refused| &*refused.text).partition(|text| text.ends_with(' '));
    let open = open.into_iter().map(|text| json!({ "pattern": format!("^{text}") }));
    let whole = (!whole.is_empty()).then(|| json!({ "enum": whole }));
    let mut any: Vec<Value> = open.chain(whole).collect();
    if any.len() == 1 { any.remove(0) } else { json!({ "anyOf": any }) }
}

fn answer(description: &str, shape: &Shape, schemas: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Nothing => json!({ "description": description }),
        shape => json!({ "description": description, "content": content(shape, schemas) }),
    }
}

fn content(shape: &Shape, schemas: &mut Map<String, Value>) -> Value {
    json!({ "application/json": { "schema": schema(shape, schemas) } })
}

fn parameter(param: &Param, schemas: &mut Map<String, Value>) -> Value {
    json!({
        "in": match param.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        },
        "name": param.field.name,
        "required": param.field.required,
        "description": param.field.doc,
        "schema": schema(&param.field.shape, schemas),
    })
}

/// Alternatives, any of which will do; none for public routes.
fn security(auth: Auth) -> Value {
    match auth {
        Auth::None => json!([]),
        Auth::Optional(_) => json!([{}, { "token": [] }, { "apiKey": [] }]),
        Auth::Account(_) => json!([{ "token": [] }, { "apiKey": [] }]),
        Auth::JwtOnly(Denied::Read | Denied::Trade | Denied::Withdraw | Denied::LoginOnly) => {
            json!([{ "token": [] }])
        }
        Auth::Signed(_) | Auth::Stream => json!([{ "signedKey": [] }]),
        Auth::Admin => json!([{ "adminKey": [] }]),
    }
}

fn permission(auth: Auth) -> Option<&'static str> {
    match auth {
        Auth::Stream => Some("read"),
        Auth::Account(permission) | Auth::Optional(permission) | Auth::Signed(permission) => {
            Some(match permission {
                Permission::Read => "read",
                Permission::Trade => "trade",
            })
        }
        Auth::None | Auth::JwtOnly(_) | Auth::Admin => None,
    }
}

/// The schema of a shape; named ones are put into the components and referred to.
fn schema(shape: &Shape, schemas: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::Nothing | Shape::Any => json!({}),
        Shape::Typed(described) => described.schema(schemas),
        Shape::Text => json!({ "type": "string" }),
        Shape::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
        Shape::Decimal => json!({ "type": "string", "pattern": DECIMAL }),
        Shape::DecimalInput => {
            json!({ "anyOf": [{ "type": "string", "pattern": DECIMAL }, { "type": "number" }] })
        }
        Shape::Integer => json!({ "type": "integer" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::OneOf(words) => json!({ "type": "string", "enum": words }),
        Shape::Nullable(shape) => json!({ "anyOf": [schema(shape, schemas), { "type": "null" }] }),
        Shape::List(shape) => json!({ "type": "array", "items": schema(shape, schemas) }),
        Shape::Tuple(shapes) => {
            let items: Vec<Value> = shapes.iter().map(|shape| schema(shape, schemas)).collect();
            json!({ "type": "array", "prefixItems": items, "minItems": items.len(), "maxItems": items.len() })
        }
        Shape::Either(shapes) => {
            json!({ "anyOf": shapes.iter().map(|shape| schema(shape, schemas)).collect::<Vec<_>>() })
        }
        Shape::Object(fields) => object(fields, schemas),
        Shape::Named(name, fields) => {
            if !schemas.contains_key(*name) {
                // Entered before its members, so that a shape that holds itself comes to an end.
                schemas.insert((*name).to_owned(), json!({}));
                let object = object(fields, schemas);
                schemas.insert((*name).to_owned(), object);
            }
            json!({ "$ref": format!("#/components/schemas/{name}") })
        }
    }
}

fn object(fields: &[Field], schemas: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut value = schema(&field.shape, schemas);
        if !field.doc.is_empty() {
            value["description"] = json!(field.doc);
        }
        properties.insert(field.name.to_owned(), value);
    }
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::routes;

    #[test]
    fn every_row_is_in_the_document_and_nothing_else() {
        let document = document(routes());
        let rows: BTreeSet<(String, String)> = routes()
            .filter(|route| route.is_api)
            .map(|route| (route.path.to_owned(), route.method.name().to_ascii_lowercase()))
            .collect();
        let mut documented = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                documented.insert((path.clone(), method.clone()));
            }
        }
        assert_eq!(documented, rows);
        assert_eq!(rows.len(), routes().filter(|route| route.is_api).count(), "no row stands twice");
    }

    #[test]
    fn every_row_says_what_it_is() {
        for route in routes().filter(|route| route.is_api) {
            let name = format!("{} {}", route.method.name(), route.path);
            assert!(!route.tag.is_empty() && !route.summary.is_empty(), "{name}");
            assert_eq!(matches!(route.response, Shape::Nothing), route.tag == "websocket", "{name}");
            let in_path: Vec<&str> =
                route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
            let documented: Vec<&str> = route
                .params
                .iter()
                .filter(|param| param.place == Place::Path)
                .map(|param| param.field.name)
                .collect();
            assert_eq!(in_path, documented, "{name}");
            let has_body = !matches!(route.body, Shape::Nothing);
            assert!(!has_body || route.method != Method::Get, "{name}");
        }
    }

    #[test]
    fn one_name_is_one_shape_and_every_reference_leads_somewhere() {
        let mut seen: Map<String, Value> = Map::new();
        for route in routes() {
            for shape in [&route.body, &route.response] {
                let mut named = Map::new();
                schema(shape, &mut named);
                for (name, schema) in named {
                    assert_eq!(seen.entry(name.clone()).or_insert_with(|| schema.clone()), &schema, "{name}");
                }
            }
        }
        let document = document(routes());
        let text = document.to_string();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name}");
        }
        assert!(seen.keys().all(|name| schemas.contains_key(name)));
    }

    /// What a sample of a shell sends stands in the document, and what a client of the Binance API asks for is shown as ccxt sends it.
    #[test]
    fn every_row_has_a_sample() {
        let document = document(routes());
        for route in routes().filter(|route| route.is_api) {
            let operation = &document["paths"][route.path][route.method.name().to_ascii_lowercase()];
            let samples = operation["x-codeSamples"].as_array().unwrap();
            let curl = samples[0]["source"].as_str().unwrap();
            let is_open = matches!(route.response, Shape::Nothing);
            assert!(curl.contains(if is_open { "websocat" } else { "curl -s" }), "{curl}");
            assert!(!curl.contains(['{', '}']) || curl.contains(" -d '"), "{curl}");
            let is_of_binance = ["/fapi/", "/futures/data/"].iter().any(|root| route.path.starts_with(root));
            assert_eq!(samples.len() == 2, is_of_binance, "{}", route.path);
        }
        let sample = |path: &str, method: &str, index: usize| {
            let samples = &document["paths"][path][method]["x-codeSamples"];
            samples[index]["source"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            sample("/api/v1/spot/orders", "post", 0),
            "curl -s -H \"Authorization: Bearer $TOKEN\" -H 'content-type: application/json' \
             -d '{\"price\":\"0.2\",\"quantity\":\"50\",\"side\":\"buy\",\"symbol\":\"DFUSDT\",\"type\":\"limit\"}' \
             'http://127.0.0.1:8080/api/v1/spot/orders'"
        );
        assert!(sample("/fapi/v1/order", "post", 0).starts_with(
            "QUERY=\"symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000&timestamp="
        ));
        assert_eq!(
            sample("/fapi/v1/positionSide/dual", "post", 1),
            "exchange.request('positionSide/dual', ['fapiPrivate'], 'POST', {'dualSidePosition': 'false'})"
        );
    }

    #[test]
    fn a_row_shows_credential_weight_and_parameters() {
        let document = document(routes());
        let place = &document["paths"]["/api/v1/spot/orders"]["post"];
        assert_eq!(place["security"], json!([{ "token": [] }, { "apiKey": [] }]));
        assert_eq!(place["x-api-key-permission"], "trade");
        assert_eq!(place["x-weight"], 1);
        assert_eq!(document["paths"]["/api/v1/spot/depth"]["get"]["x-weight"], "depends on the query");
        let nonce = &document["paths"]["/api/v1/auth/nonce"]["get"];
        assert_eq!(nonce["security"], json!([]));
        assert_eq!(nonce["parameters"][0]["name"], "address");
        let keys = &document["paths"]["/api/v1/account/api-keys/{id}"]["patch"];
        assert_eq!(keys["security"], json!([{ "token": [] }]));
        assert_eq!(document["openapi"], "3.1.0");
    }
}
