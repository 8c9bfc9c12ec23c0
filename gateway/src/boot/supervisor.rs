//! What the service manager is told over its socket (`sd_notify(3)`, spoken by hand: one datagram of text): ready once commands
//! are taken, alive while they get through, stopping at the end.
//!
//! Alive means that since it was last said the views show a later command, which passes matcher, journal and egress at least
//! once a second, and that every gateway thread's loop went round. A stage that hangs, or a disk that does, is therefore not
//! reported as alive, and the manager restarts the process. One that is full is waited for: there no command gets through, and a
//! process begun anew would find no room to begin in. Where another host makes the commands the gateway threads alone are looked at.
//! Without a socket in the environment nothing is said.

use ringside_core::ids::Sequence;
use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// Signs of life come this many times as often as the manager wants them: one may be late.
const OFTEN: u32 = 3;

/// The way to the service manager.
pub(super) struct Supervisor {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often signs of life are wanted, by us.
    every: Option<Duration>,
    told_at: Instant,
    told: Progress,
}

/// How far the process has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The last command that is shown.
    pub(super) sequence: Sequence,
    /// Rounds of each gateway thread.
    pub(super) heartbeats: Vec<u64>,
    /// No command may get through, and a process begun anew would find the same: the disk has no room for another one, or it is another
    /// host that makes them.
    pub(super) idles: bool,
}

impl Progress {
    /// Whether everything has moved since.
    fn is_past(&self, earlier: &Progress) -> bool {
        let before = earlier.heartbeats.iter().copied().chain(std::iter::repeat(0));
        let has_come_on = self.idles || self.sequence > earlier.sequence;
        has_come_on && self.heartbeats.iter().zip(before).all(|(now, before)| *now > before)
    }
}

impl Supervisor {
    /// What the environment names; `variable` gives a variable's value.
    pub(super) fn new(variable: impl Fn(&str) -> Option<OsString>) -> Supervisor {
        let socket = variable("NOTIFY_SOCKET").and_then(|name| connect(&name));
        let number = |name: &str| variable(name)?.to_str()?.parse::<u64>().ok();
        // The limit may be meant for another process of the service.
        let is_ours = number("WATCHDOG_PID").is_none_or(|id| id == u64::from(std::process::id()));
        let wanted = number("WATCHDOG_USEC").filter(|wanted| is_ours && *wanted > 0);
        let every = wanted.map(|wanted| Duration::from_micros(wanted) / OFTEN);
        Supervisor { socket, every, told_at: Instant::now(), told: Progress::default() }
    }

    /// Commands are taken.
    pub(super) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// The end has begun.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=stopping");
    }

    /// Says that the process is alive, where that is wanted and due and `progress` shows it.
    pub(super) fn pulse(&mut self, progress: impl FnOnce() -> Progress) {
        if self.every.is_none_or(|every| self.told_at.elapsed() < every) {
            return;
        }
        let progress = progress();
        if progress.is_past(&self.told) {
            self.tell("WATCHDOG=1");
            (self.told, self.told_at) = (progress, Instant::now());
        }
    }

    fn tell(&self, text: &str) {
        if let Some((socket, address)) = &self.socket
            && let Err(error) = socket.send_to_addr(text.as_bytes(), address)
        {
            tracing::warn!(%error, "the service manager cannot be told");
        }
    }
}

/// A socket, and the manager's address: a path, or an abstract name after an `@`.
fn connect(name: &OsString) -> Option<(UnixDatagram, SocketAddr)> {
    let bytes = name.as_bytes();
    let address = match bytes.split_first()? {
        (b'@', rest) => SocketAddr::from_abstract_name(rest),
        (b'/', _) => SocketAddr::from_pathname(name),
        _ => return None,
    };
    let made = address.and_then(|address| Ok((UnixDatagram::unbound()?, address)));
    made.inspect_err(|error| tracing::warn!(%error, "NOTIFY_SOCKET cannot be used")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_of_life_wants_every_part_to_have_moved() {
        let progress = |sequence, heartbeats: &[u64]| Progress {
            sequence,
            heartbeats: heartbeats.to_vec(),
            idles: false,
        };
        let before = progress(5, &[1, 2]);
        assert!(progress(6, &[2, 3]).is_past(&before));
        assert!(!progress(5, &[2, 3]).is_past(&before), "no command got through");
        assert!(!progress(6, &[2, 2]).is_past(&before), "a gateway thread stands");
        assert!(progress(1, &[1, 1]).is_past(&Progress::default()));
        // On a full disk no command gets through, and no restart would help.
        let full = |heartbeats| Progress { idles: true, ..progress(5, heartbeats) };
        assert!(full(&[2, 3]).is_past(&before));
        assert!(!full(&[2, 2]).is_past(&before), "a gateway thread stands");
    }

    #[test]
    fn another_process_of_the_service_is_not_us() {
        let other = |name: &str| {
            let value = match name {
                "WATCHDOG_USEC" => "3000000",
                "WATCHDOG_PID" => "1",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        assert_eq!(Supervisor::new(other).every, None);
        let ours = |name: &str| (name == "WATCHDOG_USEC").then(|| OsString::from("3000000"));
        assert_eq!(Supervisor::new(ours).every, Some(Duration::from_secs(1)));
    }
}
