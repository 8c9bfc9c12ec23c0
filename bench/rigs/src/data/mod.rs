//! Recorded order flow as sessions. The files stay where they are; nothing of them is kept in the project.
//!
//! - [`script`]: what a session is once read. [`sse`], [`aapl`], [`bitstamp`], [`flow_session`]: one data set each. [`journal`]:
//!   what this exchange itself has recorded.

pub mod aapl;
pub mod bitstamp;
pub mod flow_session;
pub mod journal;
pub mod script;
pub mod sse;
