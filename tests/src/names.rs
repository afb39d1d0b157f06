//! Names and ports that nobody else uses.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::TcpListener;

use crate::HarnessError;

/// A name of lower-case letters, digits and underscores that no other call, process or machine returns: `{prefix}_{16 hex digits}`.
///
/// Use it to prefix queues and keys where tests share a service.
#[must_use]
pub fn unique_name(prefix: &str) -> String {
    // The standard library seeds each state from the operating system, and these names need no reproducibility.
    let number = RandomState::new().build_hasher().finish();
    format!("{prefix}_{number:016x}")
}

/// As many different ports as asked for that are free on 127.0.0.1 at this moment.
///
/// Another process may still be quicker to take one, so who uses them tries again when its service does not come up.
pub(crate) fn free_ports<const N: usize>() -> Result<[u16; N], HarnessError> {
    let find = || -> std::io::Result<Vec<u16>> {
        // All are held until the last is known: a port that is given back at once would be handed out again.
        let held: Vec<TcpListener> = (0..N).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>()?;
        held.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
    };
    let ports = find().map_err(HarnessError::io("find free ports on 127.0.0.1"))?;
    let mut found = [0; N];
    found.copy_from_slice(&ports);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_are_valid_in_every_service() {
        let names: std::collections::HashSet<String> = (0..1000).map(|_| unique_name("jobs")).collect();
        assert_eq!(names.len(), 1000);
        assert!(
            names.iter().all(|name| name.len() <= 63 && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()))
        );
    }

    #[test]
    fn ports_of_one_call_differ() {
        let mut ports = free_ports::<20>().unwrap();
        ports.sort_unstable();
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
    }
}
