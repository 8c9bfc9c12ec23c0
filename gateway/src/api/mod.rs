//! Rows of routes and their handlers, file by file. What a row says is the crate `edge`'s ([`ringside_edge::route`]); all rows stand
//! together in [`crate::routes::ROUTES`].
//!
//! To add an endpoint: write its handler and its row in one of the files below; nothing else changes. Handlers must not block.

pub mod account;
pub mod api_keys;
pub mod auth;
pub mod fapi;
pub mod operate;
pub mod operations;
pub mod page;
pub mod spot;
pub mod withdrawal;

// What a file of rows is written with.
pub(crate) use ringside_edge::route::{
    Answer, Answers, Call, Error, Handler, Later, Means, Method, Query, Response, Route, StatusCode, Weighed,
    Weight, Written, answer, docs,
};
pub(crate) use ringside_edge::{later, now};
