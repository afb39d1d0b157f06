//! Requests as a policy's request tool makes them.

use jiff::civil::Date;
use regatta_benchmarks::ToolRequest;
use regatta_proto::Exchange;

use super::address::Address;
use super::answer;
use super::escaping::escape;
use super::services::Service;
use super::table::SERVERS;

/// Most bytes of a body that an exchange keeps.
const BODY_BYTES_KEPT: usize = 64 << 10;

/// Exchange of a policy's request tool with the simulated world: the model's text goes the way that it would go through the HTTP library of
/// the official tools. The status is 0 and the answer empty where that library would raise: the text is no URL of HTTP, or nobody is there
/// who would answer, or not in TLS.
pub(crate) fn exchange(method: &str, url: &str, body: Option<&str>, today: Date) -> Exchange {
    let (status, response) = match reached(url, None) {
        Some(url) => {
            let body = body.map(|body| body.as_bytes().to_vec());
            let answer = answer(&ToolRequest { method: method.to_owned(), url, body }, today);
            (answer.status, String::from_utf8_lossy(&answer.body).into())
        }
        None => (0, "".into()),
    };
    let body = body.map(|body| body.get(..body.floor_char_boundary(BODY_BYTES_KEPT)).unwrap_or_default().into());
    Exchange { method: method.into(), url: url.into(), body, status, response }
}

/// The URL that is really asked, if somebody answers there: a stand-in, a server at its official port, or all of them at one further port.
pub(super) fn reached(url: &str, all_at: Option<u16>) -> Option<String> {
    let address = Address::parse(url)?;
    let Address { is_secure, host, port, path, query } = address;
    let is_all = all_at == Some(port);
    let is_server = || address.is_local() && (is_all || SERVERS.iter().any(|server| server.port == port));
    if Service::of_host(host).is_none() && (is_secure || !is_server()) {
        return None;
    }
    let question = if query.is_empty() { "" } else { "?" };
    let scheme = if is_secure { "https" } else { "http" };
    // Where all of them are, the path decides, even if it is the official port of one.
    let port = if is_all { 80 } else { port };
    Some(format!("{scheme}://{host}:{port}{}{question}{}", escape(&without_dots(path)), escape(query)))
}

/// A path without its segments `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    if path.starts_with('/') && segments.first().is_none_or(|first| !first.is_empty()) {
        segments.insert(0, "");
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        segments.push("");
    }
    segments.join("/")
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn get(url: &str) -> (u16, String) {
        let exchange = exchange("GET", url, None, date(2025, 5, 28));
        assert_eq!((&*exchange.method, &*exchange.url), ("GET", url));
        (exchange.status, exchange.response.to_string())
    }

    #[test]
    fn what_a_model_writes_may_need_escapes() {
        let (status, answer) =
            get(" http://localhost:3003/cooking?intent=cooking_recipe&food_type=crème brûlée 100%\n");
        assert_eq!(status, 200);
        assert!(answer.contains(r#""food_type":"cr\u00e8me br\u00fbl\u00e9e 100%\n""#), "{answer}");
    }

    #[test]
    fn percent_signs_are_escapes_when_all_of_them_can_be() {
        let slot = |value: &str| get(&format!("http://127.0.0.1:3006/game?intent=play_game&game_name={value}")).1;
        assert!(slot("a%20b").contains(r#""game_name":"a b""#));
        assert!(slot("a%20b 5%").contains(r#""game_name":"a%20b 5%""#));
    }

    #[test]
    fn where_the_library_would_raise_there_is_no_answer() {
        for url in [
            "",
            "the url",
            "localhost:3000/alarm",
            "ftp://127.0.0.1:3000/alarm",
            "`http://127.0.0.1:3000/alarm`",
            "http://127.0.0.1:3012/alarm",
            "http://127.0.0.1/alarm",
            "https://127.0.0.1:3000/alarm",
            "http://www.example.com/",
            "http://10.0.0.1:3000/alarm",
        ] {
            assert_eq!(get(url), (0, String::new()), "{url}");
        }
        assert_eq!(get("http://127.0.0.1:3000/calendar").0, 404);
    }

    #[test]
    fn one_further_port_can_have_all_of_them() {
        let url = "http://127.0.0.1:3000/news?news_topic=a b";
        assert_eq!(reached(url, Some(3000)).unwrap(), "http://127.0.0.1:80/news?news_topic=a%20b");
        assert_eq!(reached(url, Some(3001)).unwrap(), "http://127.0.0.1:3000/news?news_topic=a%20b");
        assert_eq!(reached("http://127.0.0.1:4000/news", Some(4001)), None);
    }

    #[test]
    fn dots_in_a_path_are_resolved_before_it_is_asked() {
        for (path, resolved) in [
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/../a", "/a"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("", ""),
            ("/", "/"),
        ] {
            assert_eq!(without_dots(path), resolved, "{path}");
        }
        assert_eq!(get("http://127.0.0.1:3000/x/../alarm").0, 200);
    }

    #[test]
    fn long_bodies_are_cut_in_what_is_kept() {
        let body = "é".repeat(BODY_BYTES_KEPT);
        let kept = exchange("POST", "http://127.0.0.1:3000/alarm", Some(&body), date(2025, 5, 28)).body.unwrap();
        assert_eq!(kept.len(), BODY_BYTES_KEPT);
    }
}
