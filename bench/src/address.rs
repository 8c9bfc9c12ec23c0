//! Where a program that is measured or tested listens.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};

/// Where nobody else listens, now or later, and no connection begins: at an address of this machine that is this process's own. A port
/// that was free a moment ago may be anybody's by the time it is listened on.
pub fn own_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let host = Ipv4Addr::from_bits(0x7f40_0000 | std::process::id());
    (host, NEXT.fetch_add(1, Ordering::Relaxed)).into()
}
