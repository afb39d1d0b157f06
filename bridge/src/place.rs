//! Address of a bridge: the one that it listens on, and the one that agents use.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};

use tokio_rustls::TlsAcceptor;

/// Address of a bridge, on both sides of the wire.
#[derive(Clone)]
pub struct BridgePlace {
    /// Address to listen on; port 0 picks a free one.
    pub listen: SocketAddr,
    /// `HOST` or `HOST:PORT` by which agents reach it, where that is not where it listens: agents on other machines, forwarded ports.
    pub advertised: Option<String>,
    /// Encrypts all connections; `None` leaves them plain.
    pub tls: Option<TlsAcceptor>,
}

impl From<SocketAddr> for BridgePlace {
    /// Plain, at the address where it listens.
    fn from(listen: SocketAddr) -> Self {
        Self { listen, advertised: None, tls: None }
    }
}

impl fmt::Debug for BridgePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { listen, advertised, tls } = self;
        let is_encrypted = tls.is_some();
        f.debug_struct("BridgePlace")
            .field("listen", listen)
            .field("advertised", advertised)
            .field("is_encrypted", &is_encrypted)
            .finish()
    }
}

impl BridgePlace {
    /// Scheme, host and port of all sessions of a bridge that listens at `address`.
    pub(crate) fn origin(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let authority = match &self.advertised {
            Some(known) => match known.parse::<Ipv6Addr>() {
                // Addresses of pods come without brackets.
                Ok(bare) => SocketAddr::new(bare.into(), address.port()).to_string(),
                Err(_) if has_port(known) => known.clone(),
                Err(_) => format!("{known}:{}", address.port()),
            },
            None => address.to_string(),
        };
        format!("{scheme}://{authority}")
    }
}

/// `true` where a port follows the name, or the brackets of an address.
fn has_port(authority: &str) -> bool {
    let after_address = authority.rsplit_once(']').map_or(authority, |(_, rest)| rest);
    after_address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_what_is_advertised_with_the_port_that_it_names_or_the_real_one() {
        let listen: SocketAddr = "0.0.0.0:7".parse().unwrap();
        let origin = |advertised: Option<&str>| {
            BridgePlace { advertised: advertised.map(str::to_owned), ..BridgePlace::from(listen) }.origin(listen)
        };
        assert_eq!(origin(None), "http://0.0.0.0:7");
        assert_eq!(origin(Some("workers.example")), "http://workers.example:7");
        assert_eq!(origin(Some("workers.example:80")), "http://workers.example:80");
        assert_eq!(origin(Some("[::1]")), "http://[::1]:7");
        assert_eq!(origin(Some("[::1]:80")), "http://[::1]:80");
        assert_eq!(origin(Some("fd00::1")), "http://[fd00::1]:7");
    }
}
