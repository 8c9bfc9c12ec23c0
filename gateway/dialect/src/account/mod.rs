//! The dialect of the routes outside `/fapi` that are about accounts, and of operators (`account.md`): names in snake_case, times in
//! UNIX milliseconds, decimals as strings, errors as `{"code","message"}`. Perpetual objects inside are those of `fapi`.

pub mod audit;
pub mod cursor;
pub mod fees;
pub mod impact;
pub mod limits;
pub mod listing;
pub mod market;
pub mod mode;
pub mod overview;
pub mod params;
pub mod preview;
pub mod refusal;
pub mod treasury;
