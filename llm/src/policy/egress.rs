//! Rules about addresses that may be reached. They are checked after name resolution, so a name that resolves to another address the second
//! time cannot bypass them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use futures::future::BoxFuture;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use serde::Deserialize;

/// An address with the length of its network prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl FromStr for Network {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is no network; write one as 10.1.0.0/16, 127.0.0.1 or fd00::/8");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wanted())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), str::parse).map_err(|_| wanted())?;
        if bits > width { Err(wanted()) } else { Ok(Self { address, bits }) }
    }
}

impl TryFrom<String> for Network {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        let differing = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (u32::from(own) ^ u32::from(other)).leading_zeros(),
            (IpAddr::V6(own), IpAddr::V6(other)) => (u128::from(own) ^ u128::from(other)).leading_zeros(),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        differing >= u32::from(self.bits)
    }
}

/// Addresses that may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressRules {
    /// Private networks that may be reached.
    pub private: Vec<Network>,
    /// Allows all private addresses.
    pub allows_private: bool,
}

/// Addresses at which clouds serve a machine its credentials, besides link-local ones: Alibaba's, Azure's wire server, Oracle's at the edge, and
/// those of AWS, Oracle and Google over IPv6.
const METADATA: [&str; 6] =
    ["100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:c1::a9fe:a9fe", "fd20:ce::254"];

impl EgressRules {
    /// Allows all addresses except those that no endpoint has.
    #[must_use]
    pub const fn open() -> Self {
        Self { private: Vec::new(), allows_private: true }
    }

    /// The reason why `address` must not be reached; `None` if it may be.
    #[must_use]
    pub fn refusal(&self, address: IpAddr) -> Option<&'static str> {
        let mut leads_to = translated(address);
        let address = plain(address);
        leads_to.push(address);
        let is_metadata = |address: IpAddr| METADATA.iter().any(|known| known.parse() == Ok(address));
        if leads_to.iter().any(|address| is_link_local(*address) || is_metadata(*address)) {
            return Some("a link-local or metadata address, which is never reached");
        }
        if is_nowhere(address) {
            return Some("no address of a single machine");
        }
        let is_named = |address: IpAddr| self.private.iter().any(|network| network.contains(address));
        if !self.allows_private && leads_to.iter().any(|address| is_private(*address) && !is_named(*address)) {
            return Some(
                "a private address that the policy does not name; add it under egress.private of the policy file",
            );
        }
        None
    }

    /// Refuses a forbidden address in `url` itself; names are checked when they are resolved.
    ///
    /// # Errors
    /// The reason.
    pub fn check_url(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().ok_or("the address names no host")?.trim_matches(['[', ']']);
        let address = match host.parse::<IpAddr>() {
            Ok(address) => address,
            // Resolved to loopback everywhere, by some libraries without a resolver.
            Err(_) if host == "localhost" || host.ends_with(".localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Err(_) => return Ok(()),
        };
        self.refusal(address).map_or(Ok(()), |why| Err(format!("{host} is {why}")))
    }
}

/// Unwraps an IPv4 address that an IPv6 address holds or leads to.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address.to_canonical() else { return address.to_canonical() };
    let segments = six.segments();
    // Of NAT64 (64:ff9b::/96, and 64:ff9b:1::/48 with the usual suffix), 6to4 (2002::/16), Teredo (2001::/32, inverted), the translated form
    // (::ffff:0:0:0/96) and the retired "compatible" one. The unspecified address and loopback are no IPv4 addresses.
    let inside = match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some((high, low)),
        [0x64, 0xff9b, 1, _, _, _, high, low] => Some((high, low)),
        [0x2002, high, low, ..] => Some((high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some((!high, !low)),
        [0, 0, 0, 0, 0xffff, 0, high, low] => Some((high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high > 0 => Some((high, low)),
        _ => None,
    };
    inside.map_or(IpAddr::V6(six), |(high, low)| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into())
}

/// IPv4 addresses that an address of 64:ff9b:1::/48 may stand for besides the one at its end: networks choose the length of their own prefix,
/// and the octet after the first 64 bits stays empty.
fn translated(address: IpAddr) -> Vec<IpAddr> {
    match address {
        IpAddr::V6(six) => match six.octets() {
            [0, 0x64, 0xff, 0x9b, 0, 1, a, b, _, c, d, e, f, ..] => {
                [[a, b, c, d], [b, c, d, e], [c, d, e, f]].map(|four| IpAddr::V4(Ipv4Addr::from(four))).to_vec()
            }
            _ => Vec::new(),
        },
        IpAddr::V4(_) => Vec::new(),
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    }
}

fn is_nowhere(address: IpAddr) -> bool {
    match address {
        // 240.0.0.0/4 was never given to anybody, and holds the broadcast address.
        IpAddr::V4(four) => four.octets()[0] == 0 || four.octets()[0] >= 240 || four.is_multicast(),
        IpAddr::V6(six) => six.is_unspecified() || six.is_multicast(),
    }
}

fn is_private(address: IpAddr) -> bool {
    match address {
        // 100.64.0.0/10 is shared between carriers and their customers.
        IpAddr::V4(four) => {
            let [a, b, ..] = four.octets();
            four.is_private() || four.is_loopback() || (a == 100 && b & 0xc0 == 64) || (a == 198 && b & 0xfe == 18)
        }
        // fec0::/10, the retired site-local range, too.
        IpAddr::V6(six) => six.is_loopback() || six.is_unique_local() || six.segments()[0] & 0xffc0 == 0xfec0,
    }
}

/// A source of the addresses of names. The machine's is the one in use.
pub(crate) trait Names: fmt::Debug + Send + Sync {
    /// Addresses that `host` has at this moment.
    fn look_up<'n>(&'n self, host: &'n str) -> BoxFuture<'n, io::Result<Vec<SocketAddr>>>;
}

#[derive(Debug)]
struct NamesOfMachine;

impl Names for NamesOfMachine {
    fn look_up<'n>(&'n self, host: &'n str) -> BoxFuture<'n, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// Resolves names like the machine, and keeps the addresses that may be reached. A client connects to the very addresses that were checked:
/// it asks once for each connection.
#[derive(Debug, Clone)]
pub(crate) struct AllowedAddresses {
    pub(crate) rules: Arc<EgressRules>,
    names: Arc<dyn Names>,
}

impl AllowedAddresses {
    pub(crate) fn new(rules: Arc<EgressRules>) -> Self {
        Self::by(rules, Arc::new(NamesOfMachine))
    }

    pub(crate) fn by(rules: Arc<EgressRules>, names: Arc<dyn Names>) -> Self {
        Self { rules, names }
    }

    /// Addresses of `host`.
    ///
    /// # Errors
    /// When it has none, or one that must not be reached.
    pub(crate) async fn of(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let found = self.names.look_up(host).await?;
        allowed(&self.rules, host, found).map_err(|problem| io::Error::new(io::ErrorKind::PermissionDenied, problem))
    }
}

impl Resolve for AllowedAddresses {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.clone();
        Box::pin(async move { Ok(Box::new(names.of(name.as_str()).await?.into_iter()) as Addrs) })
    }
}

/// The addresses of `found`, if all of them may be reached. A single forbidden one refuses the name, because no honest name has such.
fn allowed(rules: &EgressRules, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    match found.iter().find_map(|address| Some((address.ip(), rules.refusal(address.ip())?))) {
        Some((address, why)) => Err(format!("{host} resolves to {address}, {why}")),
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(rules: &EgressRules, address: &str) -> bool {
        rules.refusal(address.parse().unwrap()).is_some()
    }

    #[test]
    fn link_local_and_metadata_addresses_are_never_reached_however_they_are_written() {
        let named = EgressRules { private: vec!["0.0.0.0/0".parse().unwrap()], allows_private: true };
        for rules in [EgressRules::open(), EgressRules::default(), named] {
            for address in [
                "169.254.169.254",
                "169.254.170.2",
                "fe80::1",
                "::ffff:169.254.169.254",
                "64:ff9b::a9fe:a9fe",
                "2002:a9fe:a9fe::1",
                "100.100.100.200",
                "168.63.129.16",
                "192.0.0.192",
                "fd00:ec2::254",
                "fd20:ce::254",
                "::a9fe:a9fe",
                "64:ff9b:1::a9fe:a9fe",
                "2001:0:1:2:3:4:5601:5601",
                "::ffff:0:a9fe:a9fe",
                "64:ff9b:1:a9fe:a9:fe00:1:1",
                "64:ff9b:1:a9:fe:a9fe:1:1",
                "64:ff9b:1::a9:fea9:fe01:101",
                "0.0.0.0",
                "224.0.0.1",
                "240.0.0.1",
                "255.255.255.255",
                "::",
            ] {
                assert!(refused(&rules, address), "{address}");
            }
            assert!(!refused(&rules, "93.184.216.34"));
            assert!(!refused(&rules, "2606:2800:220:1::1"));
        }
    }

    #[test]
    fn private_addresses_are_reached_only_if_they_are_named() {
        let none = EgressRules::default();
        let private = [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "::1",
            "fd12::1",
            "::ffff:10.1.2.3",
            "64:ff9b::0a01:0203",
            "::0a01:0203",
            "::ffff:0:0a01:0203",
            "64:ff9b:1:0a01:2:300:101:101",
            "64:ff9b:1:a:1:203:101:101",
            "64:ff9b:1::a:102:301:101",
            "fec0::1",
        ];
        for address in private {
            assert!(refused(&none, address), "{address}");
            assert!(!refused(&EgressRules::open(), address), "{address}");
        }
        let some = EgressRules { private: vec!["10.1.0.0/16".parse().unwrap()], ..none };
        assert!(!refused(&some, "10.1.2.3"));
        assert!(!refused(&some, "::ffff:10.1.2.3"));
        assert!(refused(&some, "10.2.0.1"));
    }

    #[test]
    fn a_name_with_one_forbidden_address_is_refused_whole() {
        let found =
            |addresses: &[&str]| addresses.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
        let rules = EgressRules::default();
        assert!(allowed(&rules, "a", found(&["93.184.216.34"])).is_ok());
        let error = allowed(&rules, "rebound.example", found(&["93.184.216.34", "169.254.169.254"])).unwrap_err();
        assert_eq!(
            error,
            "rebound.example resolves to 169.254.169.254, a link-local or metadata address, which is never reached"
        );
    }

    #[tokio::test]
    async fn a_name_is_refused_for_what_the_machine_resolves_it_to() {
        let resolved = async |rules: EgressRules| {
            AllowedAddresses::new(Arc::new(rules))
                .resolve("localhost".parse().unwrap())
                .await
                .map(|found| found.count())
        };
        assert!(resolved(EgressRules::open()).await.unwrap() > 0);
        let refused = resolved(EgressRules::default()).await.unwrap_err().to_string();
        assert!(refused.starts_with("localhost resolves to ") && refused.contains("a private address"), "{refused}");
    }

    #[test]
    fn an_address_in_a_url_is_checked_too() {
        let rules = EgressRules::default();
        for bad in
            ["http://127.0.0.1:1/v1", "http://[::1]/", "http://localhost/", "http://2130706433/", "http://0x7f.1/"]
        {
            assert!(rules.check_url(&bad.parse().unwrap()).is_err(), "{bad}");
        }
        assert!(rules.check_url(&"https://api.openai.com/v1".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_network_is_an_address_with_bits() {
        for bad in ["10.0.0.0/33", "ten", "10.0.0.0/x", "fd00::/129", ""] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains("255.1.1.1".parse().unwrap()) && !all.contains("::1".parse().unwrap()));
    }
}
