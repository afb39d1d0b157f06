//! Addresses: the parts of a URL as a request is sent to them.

use regatta_pycompat::is_space;

/// A URL of HTTP, in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address<'u> {
    /// True for `https`.
    pub(super) is_secure: bool,
    /// Host as written; an IPv6 address has its brackets.
    pub(super) host: &'u str,
    /// Port, also when it is not written.
    pub(super) port: u16,
    /// Path as written; empty, or from its slash on.
    pub(super) path: &'u str,
    /// Text between `?` and `#`, as written.
    pub(super) query: &'u str,
}

impl<'u> Address<'u> {
    /// The parts of `url`, if it is one of HTTP that names a host. White space before it does not count.
    pub(super) fn parse(url: &'u str) -> Option<Self> {
        let url = url.trim_start_matches(is_space);
        let (scheme, rest) = url.split_once("://")?;
        let is_secure = scheme.eq_ignore_ascii_case("https");
        if !is_secure && !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let (authority, target) = rest.split_at(rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len()));
        let authority = authority.rsplit_once('@').map_or(authority, |(_, after)| after);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, port),
            _ => (authority, ""),
        };
        let port = match port {
            "" if is_secure => 443,
            "" => 80,
            port if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse().ok()?,
            _ => return None,
        };
        let target = target.split_once('#').map_or(target, |(before, _)| before);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        (!host.is_empty()).then_some(Self { is_secure, host, port, path, query })
    }

    /// True if the host means the machine that the servers run on.
    pub(super) fn is_local(&self) -> bool {
        let is_loopback = || self.host.parse::<std::net::Ipv4Addr>().is_ok_and(|host| host.is_loopback());
        self.host.eq_ignore_ascii_case("localhost") || self.host == "0.0.0.0" || is_loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(url: &str) -> Option<(bool, &str, u16, &str, &str)> {
        Address::parse(url).map(|it| (it.is_secure, it.host, it.port, it.path, it.query))
    }

    #[test]
    fn a_url_has_parts() {
        let url = "http://127.0.0.1:3000/alarm?intent=alarm_set&time=10:00 am#top";
        assert_eq!(parts(url), Some((false, "127.0.0.1", 3000, "/alarm", "intent=alarm_set&time=10:00 am")));
        assert_eq!(parts(" \nHTTPS://me:secret@Host?a@b"), Some((true, "Host", 443, "", "a@b")));
        assert_eq!(parts("http://[::1]:80"), Some((false, "[::1]", 80, "", "")));
        assert_eq!(parts("http://[::1]/x?y?z"), Some((false, "[::1]", 80, "/x", "y?z")));
    }

    #[test]
    fn what_names_no_host_of_http_is_none() {
        for text in
            ["", "localhost:3000/alarm", "/alarm", "ftp://x/", "http:/x", "http://", "http://x:y/", "http://x:99999/"]
        {
            assert_eq!(parts(text), None, "{text}");
        }
    }

    #[test]
    fn the_machine_itself_has_several_names() {
        let is_local = |url| Address::parse(url).unwrap().is_local();
        assert!(
            ["http://LocalHost/", "http://127.0.0.1:1/", "http://127.9.9.9", "http://0.0.0.0"]
                .into_iter()
                .all(is_local)
        );
        assert!(!["http://[::1]/", "http://128.0.0.1", "http://localhost.example"].into_iter().any(is_local));
    }
}
