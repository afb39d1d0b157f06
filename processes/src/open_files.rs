//! Files that this process may have open. Connections count among them, so that they bound its calls in flight.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are enough for every number of calls that one process can have in flight.
const ENOUGH: u64 = 65_536;

/// Files that this process may have open at once; `None` without a limit.
#[must_use]
pub fn open_files_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Raises the limit of this process as far as the system allows, to as many as are ever needed. Shells start programs with a lower one for the
/// sake of old programs that cannot count beyond 1,024.
pub fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Some(raised) = raised(limit.current, limit.maximum) {
        // Who may not raise it goes on with what there is; a run that needs more says so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    }
}

/// The limit in place of `current`, where `maximum` is the highest that is allowed; `None` if it is high enough, or cannot be raised.
fn raised(current: Option<u64>, maximum: Option<u64>) -> Option<u64> {
    let reachable = maximum.map_or(ENOUGH, |maximum| maximum.min(ENOUGH));
    current.filter(|current| *current < reachable).map(|_| reachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_is_raised_to_what_is_allowed_and_no_further_than_is_of_use() {
        assert_eq!(raised(Some(1_024), Some(20_000)), Some(20_000));
        assert_eq!(raised(Some(1_024), Some(1 << 30)), Some(ENOUGH));
        assert_eq!(raised(Some(1_024), None), Some(ENOUGH));
        for (current, maximum) in [(Some(20_000), Some(20_000)), (Some(1 << 20), Some(1 << 20)), (None, None)] {
            assert_eq!(raised(current, maximum), None, "{current:?} of {maximum:?}");
        }
    }

    #[test]
    fn a_process_has_no_fewer_files_after_its_limit_was_raised() {
        let before = open_files_limit();
        raise_open_files_limit();
        assert!(before.is_none_or(|before| open_files_limit().is_none_or(|after| after >= before)));
    }
}
