//! This machine's own addresses and names.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Address at which clients on this machine reach a listener at `address`: its own, or loopback where it listens at all addresses.
#[must_use]
pub fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    address
}

/// `true` if `host`, the header `Host` of a request, names this machine: `localhost` or a loopback address, with or without a port.
#[must_use]
pub fn is_loopback_host(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_at_all_addresses_is_reached_at_loopback_and_any_other_at_its_own() {
        let reached = |address: &str| reachable(address.parse().unwrap()).to_string();
        for (listens, expected) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "127.0.0.1:80"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(reached(listens), expected);
        }
    }

    #[test]
    fn only_localhost_and_loopback_addresses_name_this_machine() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8080", "[::1]:8080"] {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in ["evil.example", "evil.example:8080", "10.0.0.1:8080", "localhost.evil.example", ""] {
            assert!(!is_loopback_host(host), "{host}");
        }
    }
}
