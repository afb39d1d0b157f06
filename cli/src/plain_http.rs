//! Plain HTTP beyond this machine, where everybody on the way reads and changes what is sent.

use std::net::IpAddr;

use reqwest::Url;

/// `true` if what is sent to `url` leaves this machine without being encrypted. To what is no URL nothing can be sent.
pub(crate) fn is_in_the_clear(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let is_here = url.host_str().is_some_and(|host| {
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
    });
    url.scheme() == "http" && !is_here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_this_machine_plain_http_is_in_the_clear() {
        for url in [
            "http://regatta.example:8080",
            "HTTP://regatta.example",
            "http://10.0.0.5/",
            "http://[fd00::5]:1",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://127.0.0.1@regatta.example",
        ] {
            assert!(is_in_the_clear(url), "{url}");
        }
        for url in [
            "https://regatta.example",
            "http://127.0.0.1:8080",
            "http://localhost",
            "http://[::1]:8080/",
            "http://[::ffff:127.0.0.1]",
            "http://2130706433",
        ] {
            assert!(!is_in_the_clear(url), "{url}");
        }
    }
}
