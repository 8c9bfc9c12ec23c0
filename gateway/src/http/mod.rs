//! Sockets, limits and the router. Knows rows, never what a resource means.

pub mod fault;
pub mod response;
