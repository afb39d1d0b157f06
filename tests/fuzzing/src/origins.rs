//! Addresses of endpoints, and the rules about who may be reached and who may see a key.

use std::net::IpAddr;

use regatta_llm::{EgressRules, Origin, OutboundPolicy, PrivateNetwork, check_access};
use regatta_proto::{EndpointKind, EndpointSpec};
use reqwest::Url;

use crate::input::Input;

/// Of strangers' specs, no private address is reached and no key goes to another's origin.
pub(crate) fn run(input: Input<'_>) {
    let text = input.text();
    if let Ok(origin) = text.parse::<Origin>() {
        assert_eq!(origin.to_string().parse(), Ok(origin));
    }
    let _ = text.parse::<PrivateNetwork>();
    let rules = EgressRules::default();
    if let Ok(address) = text.parse::<IpAddr>() {
        assert!(rules.refusal(address).is_some() || !is_inside(address), "{address}");
    }
    let url = Url::parse(&text);
    if let Ok(url) = &url
        && let Some(address) = url.host_str().and_then(|host| host.trim_matches(['[', ']']).parse().ok())
    {
        assert!(rules.check_url(url).is_err() || !is_inside(address), "{url}");
    }
    for (kind, variable, host) in [
        (EndpointKind::Openai, "OPENAI_API_KEY", "api.openai.com"),
        (EndpointKind::Anthropic, "ANTHROPIC_API_KEY", "api.anthropic.com"),
        (EndpointKind::Gemini, "GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ] {
        let spec = EndpointSpec {
            base_url: Some(text.clone().into_owned()),
            api_key_env: Some(variable.to_owned()),
            ..EndpointSpec::of_kind(kind)
        };
        let env = |name: &str| (name == variable).then(|| "sk-Zq7Wm9Xr2LpVt4Bn".to_owned());
        if check_access(&"main".parse().unwrap(), &spec, &env, &OutboundPolicy::closed()).is_ok() {
            let url = url.as_ref().unwrap_or_else(|error| panic!("{text:?} is accepted: {error}"));
            let origin = (url.scheme(), url.host_str(), url.port_or_known_default());
            assert_eq!(origin, ("https", Some(host), Some(443)), "{text:?} may see the key");
        }
    }
}

/// By the standard library's own words.
fn is_inside(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => {
            four.is_private()
                || four.is_loopback()
                || four.is_link_local()
                || four.is_unspecified()
                || four.is_broadcast()
                || four.is_multicast()
        }
        IpAddr::V6(six) => {
            six.is_loopback()
                || six.is_unique_local()
                || six.is_unicast_link_local()
                || six.is_unspecified()
                || six.is_multicast()
        }
    }
}
