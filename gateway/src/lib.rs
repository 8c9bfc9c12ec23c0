//! The gateway of Ringside.
