//! The persist of Ringside.
