//! Binding a thread to a core. Asked for, checked, and never fatal: the caller decides how to tell the operator.

/// Why a thread is not bound to the core asked for; it runs unbound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPinned {
    /// The system did not say which cores there are.
    #[error("the cores of this machine are unknown")]
    Unknown,
    /// There is no such core for this process.
    #[error("core {0} is not available to this process")]
    NoSuchCore(usize),
    /// The system refused.
    #[error("the system did not bind the thread to core {0}")]
    Refused(usize),
}

/// Ids of the cores that this process may use, ascending; empty when unknown.
pub fn cores() -> Vec<usize> {
    let mut cores: Vec<usize> =
        core_affinity::get_core_ids().unwrap_or_default().iter().map(|core| core.id).collect();
    cores.sort_unstable();
    cores
}

/// Binds the calling thread to a core.
pub fn pin_current_thread(core: usize) -> Result<(), NotPinned> {
    let cores = core_affinity::get_core_ids().ok_or(NotPinned::Unknown)?;
    let id = cores.into_iter().find(|id| id.id == core).ok_or(NotPinned::NoSuchCore(core))?;
    if core_affinity::set_for_current(id) { Ok(()) } else { Err(NotPinned::Refused(core)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_is_bound_and_a_missing_one_named() {
        std::thread::spawn(|| {
            let Some(&core) = cores().last() else {
                eprintln!("skipped: the cores of this machine are unknown");
                return;
            };
            assert_eq!(pin_current_thread(core), Ok(()));
            assert_eq!(cores(), [core], "only the bound core is left to this thread");
            assert_eq!(pin_current_thread(100_000), Err(NotPinned::NoSuchCore(100_000)));
        })
        .join()
        .unwrap();
    }
}
