//! Limits of this system that are lower than the calls that a run may have in flight: open files of a process, and ports of connections.

use std::collections::BTreeMap;

use regatta_proto::{EndpointKind, EndpointName, EndpointSpec};

/// Files that a run has open beside its calls: stores, logs, listeners, pipes of programs.
const FILES_BESIDE: u64 = 256;
/// The ports that connections may begin at, where the system is Linux.
const PORTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The limits that are too low for `sessions` at `endpoints`, each with how to raise it. `files` may be open at once; `None` is without a limit.
pub(crate) fn too_low(
    endpoints: &BTreeMap<EndpointName, EndpointSpec>,
    sessions: u64,
    files: Option<u64>,
) -> Vec<String> {
    let ports = std::fs::read_to_string(PORTS).ok().and_then(|range| ports_of(&range));
    compare(endpoints, sessions, files, ports)
}

fn compare(
    endpoints: &BTreeMap<EndpointName, EndpointSpec>,
    sessions: u64,
    files: Option<u64>,
    ports: Option<u64>,
) -> Vec<String> {
    let mut notes = Vec::new();
    let needed = FILES_BESIDE + endpoints.values().map(|endpoint| files_of(endpoint, sessions)).sum::<u64>();
    if let Some(files) = files.filter(|files| *files < needed) {
        notes.push(format!(
            "this run may have {needed} files open at once, one for each call in flight, and the system allows {files}: calls beyond that fail \
             to connect. Raise the limit (`ulimit -n {needed}`, LimitNOFILE= of a service, --ulimit nofile={needed} of a container), or lower \
             `limits.concurrency`"
        ));
    }
    for (name, endpoint) in endpoints {
        let calls = calls_of(endpoint, sessions);
        if let Some(ports) = ports.filter(|ports| *ports < calls) {
            notes.push(format!(
                "endpoint {name} may have {calls} calls in flight, and the system has {ports} ports for connections to one address: calls \
                 beyond that fail to connect. Raise it (`sysctl -w net.ipv4.ip_local_port_range='1024 65535'`), or lower its \
                 `limits.concurrency`"
            ));
        }
    }
    notes
}

/// Calls that `endpoint` may have in flight, each over a connection of its own: of a session one at a time.
fn calls_of(endpoint: &EndpointSpec, sessions: u64) -> u64 {
    if endpoint.kind.chats() && endpoint.lane.is_live() {
        u64::from(endpoint.limits.concurrency).min(sessions)
    } else {
        0
    }
}

/// Files that they take. Both ends of a connection to a simulated endpoint are in this process.
fn files_of(endpoint: &EndpointSpec, sessions: u64) -> u64 {
    let ends = if endpoint.kind == EndpointKind::Simulated { 2 } else { 1 };
    ends * calls_of(endpoint, sessions)
}

/// Number of ports in `range`: the first and the last, as Linux writes them.
fn ports_of(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (last + 1).checked_sub(first)
}

#[cfg(test)]
mod tests {
    use regatta_proto::Lane;

    use super::*;

    fn endpoint(kind: EndpointKind, concurrency: u32) -> EndpointSpec {
        let mut endpoint = EndpointSpec::of_kind(kind);
        endpoint.limits.concurrency = concurrency;
        endpoint
    }

    /// Beginnings of what is said of one endpoint, for a process with 4,096 files and a system with 28,232 ports.
    fn said(endpoint: EndpointSpec, sessions: u64) -> Vec<String> {
        let endpoints = BTreeMap::from([("sim".parse().unwrap(), endpoint)]);
        let said = compare(&endpoints, sessions, Some(4_096), Some(28_232));
        said.iter().map(|note| note.split(':').next().unwrap_or(note).to_owned()).collect()
    }

    #[test]
    fn a_run_says_which_limit_stops_its_calls_and_how_it_is_raised() {
        let endpoints = BTreeMap::from([("sim".parse().unwrap(), endpoint(EndpointKind::Openai, 40_000))]);
        let said = compare(&endpoints, 100_000, Some(4_096), Some(28_232));
        assert_eq!(said.len(), 2);
        assert!(said[0].contains("may have 40256 files open") && said[0].contains("`ulimit -n 40256`"), "{}", said[0]);
        assert!(said[1].contains("has 28232 ports") && said[1].contains("ip_local_port_range"), "{}", said[1]);
    }

    #[test]
    fn both_ends_of_a_connection_to_a_simulated_endpoint_are_open_here() {
        assert!(said(endpoint(EndpointKind::Openai, 3_000), 9_000).is_empty());
        let both = said(endpoint(EndpointKind::Simulated, 3_000), 9_000);
        assert!(both[0].starts_with("this run may have 6256 files open"), "{both:?}");
    }

    #[test]
    fn few_sessions_and_batches_have_few_calls_in_flight_whatever_the_limit() {
        assert!(said(endpoint(EndpointKind::Openai, 40_000), 100).is_empty());
        assert!(said(EndpointSpec { lane: Lane::Batch, ..endpoint(EndpointKind::Openai, 40_000) }, 100_000).is_empty());
    }

    #[test]
    fn a_range_of_ports_has_both_its_ends() {
        assert_eq!(ports_of("32768\t60999\n"), Some(28_232));
        assert_eq!([ports_of(""), ports_of("1 x"), ports_of("9 7")], [None; 3]);
    }
}
