//! Listeners, in clusters of either family of addresses.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted, where the system's own limit is no lower: thousands of calls begin within a moment, and those that
/// find no place knock again a second later.
const BACKLOG: u32 = 4096;

/// Listens at `address`. At `[::]`, that is at every address of the machine, IPv4's included, whatever the system does by default: so one
/// setting is right for machines that have IPv4, IPv6, or both. Must be called on a runtime.
///
/// # Errors
/// When the address is taken, or not this machine's.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    match open(address) {
        // A kernel without IPv6 has IPv4 alone, and everywhere is everywhere there.
        Err(error) if is_everywhere(address) && is_unknown_family(&error) => {
            open((Ipv4Addr::UNSPECIFIED, address.port()).into())
        }
        opened => opened,
    }
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if is_everywhere(address) {
        SockRef::from(&socket).set_only_v6(false)?;
    }
    // A port is free again as soon as its process has ended, connections that linger or not.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// `true` for the address that stands for all of both families.
fn is_everywhere(address: SocketAddr) -> bool {
    address.is_ipv6() && address.ip().is_unspecified()
}

fn is_unknown_family(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::AFNOSUPPORT.raw_os_error())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[tokio::test]
    async fn who_listens_everywhere_is_reached_by_either_family() {
        let listener = listen(at("[::]:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        // Machines without IPv6 have no such loopback address, and nothing to be reached by.
        if listen(at("[::1]:0")).is_ok() {
            TcpStream::connect(at(&format!("[::1]:{port}"))).await.unwrap();
        }
    }

    #[tokio::test]
    async fn other_addresses_are_of_their_own_family_and_a_taken_one_is_an_error() {
        for address in ["127.0.0.1:0", "0.0.0.0:0"] {
            assert_eq!(listen(at(address)).unwrap().local_addr().unwrap().ip(), at(address).ip());
        }
        let first = listen(at("127.0.0.1:0")).unwrap();
        let second = listen(first.local_addr().unwrap());
        assert_eq!(second.unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn a_kernel_without_ipv6_is_known_by_its_error() {
        assert!(is_unknown_family(&rustix::io::Errno::AFNOSUPPORT.into()));
        assert!(!is_unknown_family(&rustix::io::Errno::ADDRINUSE.into()));
        assert!(is_everywhere(at("[::]:80")) && !is_everywhere(at("0.0.0.0:80")) && !is_everywhere(at("[::1]:80")));
    }
}
