//! Rules about the origins that may see a key.

use std::fmt;
use std::str::FromStr;

use regatta_proto::implied_access;
use reqwest::Url;
use serde::Deserialize;

use super::OutboundPolicy;
use crate::open::own_keys;

/// Scheme, host and port of an address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

impl Origin {
    /// The origin of `url`; `None` if it has no host, or a scheme other than http and https.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let is_web = matches!(url.scheme(), "http" | "https");
        let (host, port) = (url.host_str().filter(|_| is_web)?, url.port_or_known_default()?);
        Some(Self { scheme: url.scheme().to_owned(), host: host.to_owned(), port })
    }

    fn is_in_the_clear(&self) -> bool {
        self.scheme == "http" && !is_loopback_host(&self.host)
    }
}

/// `true` for the loopback interface of this machine.
pub(crate) fn is_loopback_host(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

impl FromStr for Origin {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("{text:?} is no origin; write one as https://api.example.com or http://10.0.0.5:8000");
        let url = Url::parse(text).map_err(|_| wanted())?;
        let is_bare =
            url.path() == "/" && url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
        Self::of(&url).filter(|_| is_bare).ok_or_else(wanted)
    }
}

impl TryFrom<String> for Origin {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match (self.scheme.as_str(), self.port) {
            ("http", 80) | ("https", 443) => Ok(()),
            (_, port) => write!(f, ":{port}"),
        }
    }
}

/// The origins that the key of one variable may go to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeyRule {
    /// Origins that may see the key, besides its provider's own.
    pub origins: Vec<Origin>,
    /// The key may also be sent without TLS, beyond loopback.
    pub plain_http: bool,
}

/// Reason why a key is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// No rule allows the key at this origin.
    Unbound,
    /// The connection is not encrypted.
    InTheClear,
}

impl OutboundPolicy {
    /// Checks that the key of `variable` may go to `origin`. `of_environment` is `true` if the address comes from the variable that the
    /// environment of the key names for its provider, because the same person set both.
    pub(crate) fn check_key(&self, variable: &str, origin: &Origin, of_environment: bool) -> Result<(), Withheld> {
        if of_environment {
            return Ok(());
        }
        let rule = self.keys.get(variable);
        let is_named = rule.is_some_and(|rule| rule.origins.contains(origin));
        let is_trusted = rule.is_none() && self.trusts_specs;
        if !is_named && !is_trusted && !is_providers_own(variable, origin) {
            return Err(Withheld::Unbound);
        }
        if origin.is_in_the_clear() && !rule.is_some_and(|rule| rule.plain_http) {
            return Err(Withheld::InTheClear);
        }
        Ok(())
    }
}

fn is_providers_own(variable: &str, origin: &Origin) -> bool {
    let known = own_keys().chain(implied_access().map(|(url, key)| (key, url)));
    known
        .filter(|(key, _)| *key == variable)
        .filter_map(|(_, url)| Origin::of(&Url::parse(url).ok()?))
        .any(|own| own == *origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        text.parse().unwrap()
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        assert_eq!(origin("https://API.example.com"), origin("https://api.example.com:443/"));
        assert_ne!(origin("https://api.example.com"), origin("http://api.example.com"));
        assert_ne!(origin("https://api.example.com"), origin("https://api.example.com.evil.org"));
        for bad in ["api.example.com", "https://a/v1", "https://u@a", "ftp://a", "https://"] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_deployed_worker_sends_a_key_to_its_provider_and_to_the_origins_that_its_policy_names_alone() {
        let rule = KeyRule { origins: vec![origin("https://gateway.example.com")], plain_http: false };
        let policy = OutboundPolicy { keys: [("GATEWAY_KEY".to_owned(), rule)].into(), ..OutboundPolicy::closed() };
        let check = |variable: &str, to: &str| policy.check_key(variable, &origin(to), false);
        assert_eq!(check("GATEWAY_KEY", "https://gateway.example.com"), Ok(()));
        assert_eq!(check("GATEWAY_KEY", "https://gateway.example.com:8443"), Err(Withheld::Unbound));
        assert_eq!(check("AWS_SECRET_ACCESS_KEY", "https://gateway.example.com"), Err(Withheld::Unbound));
        assert_eq!(check("OPENAI_API_KEY", "https://api.openai.com"), Ok(()));
        assert_eq!(check("OPENAI_API_KEY", "https://evil.example.com"), Err(Withheld::Unbound));
        assert_eq!(check("OPENROUTER_API_KEY", "https://openrouter.ai"), Ok(()));
        assert_eq!(policy.check_key("OPENAI_API_KEY", &origin("http://gateway:4000"), true), Ok(()));
    }

    #[test]
    fn no_key_goes_over_plain_http_beyond_loopback_unless_the_policy_says_so() {
        let mut policy = OutboundPolicy::trusting();
        assert_eq!(policy.check_key("K", &origin("http://10.0.0.5:8000"), false), Err(Withheld::InTheClear));
        for here in ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
            assert_eq!(policy.check_key("K", &origin(here), false), Ok(()), "{here}");
        }
        let rule = KeyRule { origins: vec![origin("http://10.0.0.5:8000")], plain_http: true };
        policy.keys.insert("K".to_owned(), rule);
        assert_eq!(policy.check_key("K", &origin("http://10.0.0.5:8000"), false), Ok(()));
        assert_eq!(policy.check_key("K", &origin("http://10.0.0.6:8000"), false), Err(Withheld::Unbound));
    }
}
