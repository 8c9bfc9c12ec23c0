//! Binding a thread to a core. Asked for, checked, and never fatal: the caller decides how to tell the operator.

use core_affinity::CoreId;

/// Why a thread is not bound to the core asked for; it runs unbound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPinned {
    /// No system numbers its cores so high.
    #[error("there is no core {0}")]
    NoSuchCore(usize),
    /// The system refused: the core does not exist or is closed to this process.
    #[error("the system did not bind the thread to core {0}")]
    Refused(usize),
}

/// Size of the system's sets of cores.
const CORES_MAX: usize = 1024;

/// Ids of the cores that the calling thread may use, ascending; empty when unknown. A bound thread, and those it
/// starts, know one core only: ask before binding.
pub fn cores() -> Vec<usize> {
    let mut cores: Vec<usize> =
        core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
    cores.sort_unstable();
    cores
}

/// Binds the calling thread to a core, whatever it was bound to before.
pub fn pin_current_thread(core: usize) -> Result<(), NotPinned> {
    if core >= CORES_MAX {
        return Err(NotPinned::NoSuchCore(core));
    }
    if core_affinity::set_for_current(CoreId { id: core }) { Ok(()) } else { Err(NotPinned::Refused(core)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_bound_and_a_missing_one_named() {
        std::thread::spawn(|| {
            let cores_before = cores();
            let (Some(&first), Some(&last)) = (cores_before.first(), cores_before.last()) else {
                eprintln!("skipped: the cores of this machine are unknown");
                return;
            };
            assert_eq!(pin_current_thread(first), Ok(()));
            assert_eq!(cores(), [first], "only the bound core is left to this thread");
            assert_eq!(pin_current_thread(last), Ok(()), "a bound thread can be bound anew");
            assert_eq!(cores(), [last]);
            assert_eq!(pin_current_thread(1023), Err(NotPinned::Refused(1023)));
            assert_eq!(pin_current_thread(100_000), Err(NotPinned::NoSuchCore(100_000)));
        })
        .join()
        .unwrap();
    }
}
