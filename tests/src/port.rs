//! Ports that nobody else takes while a service starts, or is stopped to be started again.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::ops::Range;

use crate::HarnessError;
use crate::names::random_number;

/// Above the ports that well-known services listen on.
const LOWEST: u16 = 10_000;

/// Tries until it is not chance that no port is free.
const TRIES: u32 = 1000;

/// A free port on 127.0.0.1, reserved among all harnesses of this machine.
///
/// It is not one that the system hands out to outgoing connections: a client that connects again and again to a stopped
/// broker on such a port is in the end given that very port, is connected to itself, and the broker cannot return.
#[derive(Debug)]
pub(crate) struct Port {
    number: u16,
    /// The port of the same number of another protocol, which does not hinder the service itself. Whoever else looks for
    /// a port passes over this one, and the system gives it back when our process ends, however it ends.
    _reservation: UdpSocket,
}

impl Port {
    /// Reserves a port.
    ///
    /// # Errors
    /// When none is free.
    pub(crate) fn reserve() -> Result<Self, HarnessError> {
        let range = never_given_to_clients();
        let width = u64::from(range.end - range.start);
        for _ in 0..TRIES {
            // The remainder is smaller than a `u16`, which `width` is.
            let number = u16::try_from(random_number() % width).map_or(range.start, |offset| range.start + offset);
            let Ok(reservation) = UdpSocket::bind(("127.0.0.1", number)) else { continue };
            if TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Ok(Self { number, _reservation: reservation });
            }
        }
        let full = io::Error::new(io::ErrorKind::AddrInUse, format!("{TRIES} ports of {range:?} are taken"));
        Err(HarnessError::io("find a free port on 127.0.0.1")(full))
    }

    /// The port's number.
    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

fn never_given_to_clients() -> Range<u16> {
    let setting = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let first_of_clients = setting.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(32_768);
    // Where clients may have nearly all of them, there is no better choice than any.
    if first_of_clients < LOWEST + 2_000 { LOWEST..u16::MAX } else { LOWEST..first_of_clients }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn reserved_ports_differ_and_can_be_listened_on() {
        let ports: Vec<Port> = (0..50).map(|_| Port::reserve().unwrap()).collect();
        let numbers: std::collections::HashSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
        let patience = Instant::now() + Duration::from_secs(10);
        for number in numbers {
            // A program that another test starts in this moment holds the listeners of this process until it runs.
            while let Err(error) = TcpListener::bind(("127.0.0.1", number)) {
                assert!(Instant::now() < patience, "{number}: {error}");
                std::thread::yield_now();
            }
        }
    }
}
