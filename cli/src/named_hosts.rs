//! Names of hosts in transfers: where nobody has named a host, as that of a redirection, its name leads to public addresses alone.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use regatta_llm::EgressRules;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Variables by which a person names a proxy. It resolves the names of others itself.
const PROXIES: [&str; 6] = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Resolver of a transfer. It checks the very addresses that are then connected to.
pub(crate) struct NamedHosts {
    rules: EgressRules,
    /// Hosts that may be in a network of the person's own.
    named: BTreeSet<String>,
    names: Arc<dyn Resolve>,
}

/// Resolver of the machine.
struct NamesOfMachine;

impl Resolve for NamesOfMachine {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl NamedHosts {
    /// Names as the machine resolves them, within `rules`. Excepted are `hosts` and the proxies of the environment.
    pub(crate) fn new(rules: EgressRules, hosts: &[&str]) -> Self {
        Self::by(rules, hosts, &|variable| std::env::var(variable).ok(), Arc::new(NamesOfMachine))
    }

    /// The same, with the variables `env` and the resolver `names`.
    pub(crate) fn by(
        rules: EgressRules,
        hosts: &[&str],
        env: &dyn Fn(&str) -> Option<String>,
        names: Arc<dyn Resolve>,
    ) -> Self {
        let proxies = PROXIES.into_iter().filter_map(|variable| proxy_host(&env(variable)?));
        let named = hosts.iter().map(|host| host.to_ascii_lowercase()).chain(proxies).collect();
        Self { rules, named, names }
    }
}

impl Resolve for NamedHosts {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_ascii_lowercase();
        let (is_named, rules, found) = (self.named.contains(&host), self.rules.clone(), self.names.resolve(name));
        Box::pin(async move {
            let found: Vec<SocketAddr> = found.await?.collect();
            // A single one refuses the name, because no honest name has such.
            let refused = found.iter().find(|address| !is_named && rules.refusal(address.ip()).is_some());
            if let Some(refused) = refused {
                let problem = format!("{host} resolves to {}, which is no public address", refused.ip());
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem).into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Host of the proxy at `address`, which may lack its scheme.
fn proxy_host(address: &str) -> Option<String> {
    let url = match address.contains("://") {
        true => Url::parse(address),
        false => Url::parse(&format!("http://{address}")),
    };
    url.ok()?.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Each name has the address.
    pub(crate) struct AllAt(pub(crate) &'static str);

    impl Resolve for AllAt {
        fn resolve(&self, _: Name) -> Resolving {
            let address = SocketAddr::new(self.0.parse().unwrap(), 0);
            Box::pin(async move { Ok(Box::new(std::iter::once(address)) as Addrs) })
        }
    }

    async fn resolved(host: &str, address: &'static str) -> Result<usize, String> {
        let env =
            |variable: &str| (variable == "HTTPS_PROXY").then(|| "http://user:hunter2@Proxy.corp:3128/".to_owned());
        let hosts = NamedHosts::by(EgressRules::default(), &["mirror.corp"], &env, Arc::new(AllAt(address)));
        hosts.resolve(host.parse().unwrap()).await.map(|found| found.count()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_name_that_nobody_has_named_leads_to_public_addresses_alone() {
        for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254"] {
            let refused = resolved("files.example", address).await.unwrap_err();
            assert_eq!(refused, format!("files.example resolves to {address}, which is no public address"));
        }
        assert_eq!(resolved("files.example", "93.184.216.34").await, Ok(1));
    }

    #[tokio::test]
    async fn what_a_person_has_named_and_their_proxy_may_be_in_a_network_of_their_own() {
        for host in ["mirror.corp", "Mirror.Corp", "proxy.corp"] {
            assert_eq!(resolved(host, "10.0.0.1").await, Ok(1), "{host}");
        }
    }

    #[test]
    fn a_proxy_may_be_written_without_a_scheme() {
        for (address, host) in [
            ("proxy.corp:3128", Some("proxy.corp")),
            ("http://proxy.corp", Some("proxy.corp")),
            ("socks5h://Proxy.corp:1080", Some("proxy.corp")),
            ("", None),
        ] {
            assert_eq!(proxy_host(address).as_deref(), host, "{address}");
        }
    }
}
