//! What a push will say: copies of records, taken while the views are held and written as text when they are free again.

pub mod perpetual;
pub mod spot;
