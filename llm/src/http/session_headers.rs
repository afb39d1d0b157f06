//! Headers that identify the session, for gateways with tracing and for simulated endpoints.

use std::fmt::Write as _;

use regatta_proto::{MemberName, Role, SessionSeed};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::call::Told;

/// The headers for `told`: five for a session, a sixth if the role is not the agent or if a `member` of its team speaks, and two for a
/// judgement.
pub(super) fn session_headers(told: &Told<'_>, member: Option<&MemberName>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(7);
    let SessionSeed(seed) = told.seed();
    headers.insert(HeaderName::from_static("x-regatta-seed"), HeaderValue::from(seed));
    let role = match told {
        Told::Session(tag) => tag.role,
        Told::Judgement(_) => Role::Judge,
    };
    if role != Role::Agent {
        headers.insert(HeaderName::from_static("x-regatta-role"), HeaderValue::from_static(role.as_str()));
    }
    // Names of members are visible ASCII.
    if let Some(Ok(value)) = member.map(|member| HeaderValue::from_str(member.as_str())) {
        headers.insert(HeaderName::from_static("x-regatta-member"), value);
    }
    let Told::Session(tag) = told else { return headers };
    headers.insert(HeaderName::from_static("x-regatta-trial"), HeaderValue::from(tag.trial.0));
    for (name, text) in [
        ("x-regatta-benchmark", tag.benchmark.as_str()),
        ("x-regatta-setting", tag.setting.as_str()),
        ("x-regatta-item", tag.item.as_str()),
    ] {
        // Encoded text is visible ASCII and always accepted.
        if let Ok(value) = HeaderValue::from_str(&percent_encoded(text)) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

/// Percent-encodes a text: visible ASCII except `%` stays, every other byte becomes `%XX`.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_header_cannot_hold_is_encoded() {
        assert_eq!(percent_encoded("os_92/a:b"), "os_92/a:b");
        assert_eq!(percent_encoded("100% né 中"), "100%25%20n%C3%A9%20%E4%B8%AD");
    }
}
