//! Names of headers that are not a spec's to set.

/// Headers of one connection (hop by hop) and those that name the host of the request.
const RESERVED: [&str; 10] = [
    "connection",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Beginnings of names that describe the body, or that proxies read.
const RESERVED_BEGINNINGS: [&str; 3] = ["content-", "proxy-", "x-forwarded"];

/// `true` for headers that say where a request goes or how it is framed. With them a key that a policy binds to an origin could be led to
/// another host behind the same address. An underscore counts as a dash, because gateways make no difference.
#[must_use]
pub fn is_reserved_header(name: &str) -> bool {
    let plain = name.to_ascii_lowercase().replace('_', "-");
    RESERVED.contains(&plain.as_str()) || RESERVED_BEGINNINGS.iter().any(|beginning| plain.starts_with(beginning))
}
