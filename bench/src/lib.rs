//! The bench of Ringside.
