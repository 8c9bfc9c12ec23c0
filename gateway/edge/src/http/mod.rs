//! What every answer is made of, what the edge itself refuses, and the limits by which it does. Knows no route and no socket.

pub mod limits;
pub mod order_rate;
pub mod response;
