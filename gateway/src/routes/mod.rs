//! Every route of the process: the router is built of [`ROUTES`], and the OpenAPI document made of them.

pub mod openapi;
mod sample;

use crate::api;
use crate::ws_request;
use bytes::Bytes;
use ringside_edge::route::docs::Shape;
use ringside_edge::route::{Answer, Call, Handler, Method, Response, Route};
use ringside_edge::ws;
use std::sync::OnceLock;

/// Every route, file by file.
pub static ROUTES: &[&[Route]] = &[
    api::spot::place::ROUTES,
    api::spot::order::ROUTES,
    api::spot::trade::ROUTES,
    api::spot::transfer::ROUTES,
    api::spot::withdrawal::ROUTES,
    api::spot::deposit::ROUTES,
    api::spot::market_data::ROUTES,
    api::spot::health::ROUTES,
    api::spot::admin::ROUTES,
    api::fapi::market_data::ROUTES,
    api::fapi::series::ROUTES,
    api::fapi::order::ROUTES,
    api::fapi::query::ROUTES,
    api::fapi::algo::ROUTES,
    api::fapi::history::ROUTES,
    api::fapi::interest::ROUTES,
    api::fapi::account::ROUTES,
    api::fapi::adl::ROUTES,
    api::fapi::leverage::ROUTES,
    api::fapi::listen_key::ROUTES,
    api::account::fees::ROUTES,
    api::account::faucet::ROUTES,
    api::account::history::ROUTES,
    api::account::margin_mode::ROUTES,
    api::account::order::ROUTES,
    api::account::overview::ROUTES,
    api::account::referral::ROUTES,
    api::account::market::ROUTES,
    api::account::withdrawal::ROUTES,
    api::account::operator::ROUTES,
    api::account::listing::ROUTES,
    api::account::feed::ROUTES,
    api::account::limit::ROUTES,
    api::account::dispute::ROUTES,
    api::account::treasury::ROUTES,
    api::account::approval::ROUTES,
    api::account::chain::ROUTES,
    api::account::clock::ROUTES,
    api::account::cluster::ROUTES,
    api::account::proof::ROUTES,
    api::account::token::ROUTES,
    api::auth::ROUTES,
    api::api_keys::ROUTES,
    DOCUMENT,
    ws::server::ROUTES,
    ws_request::ROUTES,
    api::page::ROUTES,
    api::page::withdrawals::ROUTES,
    api::operations::ROUTES,
];

/// Every route, one after the other.
pub fn routes() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().copied().flatten()
}

/// The row of the document itself, which is made of all rows and so stands among them here.
static DOCUMENT: &[Route] = &[Route {
    tag: "reference",
    summary: "This document",
    response: Shape::Any,
    ..Route::new(Method::Get, "/openapi.json", Handler::Now(serve))
}];

fn serve(_: &Call) -> Answer {
    static WRITTEN: OnceLock<Bytes> = OnceLock::new();
    let document = WRITTEN.get_or_init(|| Response::of(&openapi::document(routes())).body);
    Ok(Response::json(document.clone()))
}
