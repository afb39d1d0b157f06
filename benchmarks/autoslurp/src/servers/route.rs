//! Routing of requests to simulated servers and services.

use super::address::Address;
use super::query::unescape;
use super::server::Server;
use super::services::Service;
use super::table::SERVERS;

/// Target of a request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Server(&'static Server),
    Service(Service),
}

/// The simulated server that a request to `url` reaches: by port and path, and on a port that is no server's by path alone. The host does
/// not matter unless it is that of a stand-in.
pub(crate) fn server_of(url: &str) -> Option<&'static Server> {
    match route(url)? {
        (Place::Server(server), _) => Some(server),
        (Place::Service(_), _) => None,
    }
}

/// Target of a request to `url`, with its query; `None` where nobody would answer.
pub(super) fn route(url: &str) -> Option<(Place, &str)> {
    let address = Address::parse(url)?;
    Some((place(&address)?, address.query))
}

fn place(address: &Address<'_>) -> Option<Place> {
    // HTTP servers of Python take several slashes at the beginning for one, escaped ones, too.
    let path = unescape(address.path.strip_prefix('/')?);
    let path = path.trim_start_matches('/');
    if let Some(mut of_host) = Service::of_host(address.host) {
        return of_host.find(|service| service.path() == path).map(Place::Service);
    }
    if let Some((host, path)) = path.split_once('/')
        && let Some(mut of_host) = Service::of_host(host)
    {
        return of_host.find(|service| service.path() == path).map(Place::Service);
    }
    let of_port = SERVERS.iter().find(|server| server.port == address.port);
    let is_meant = |server: &&Server| server.path.strip_prefix('/') == Some(path);
    let server = match of_port {
        Some(server) => Some(server).filter(is_meant),
        None => SERVERS.iter().find(is_meant),
    };
    server.map(Place::Server)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(url: &str) -> Option<&str> {
        server_of(url).map(|server| server.name)
    }

    fn service_of(url: &str) -> Option<Service> {
        match route(url)?.0 {
            Place::Service(service) => Some(service),
            Place::Server(_) => None,
        }
    }

    #[test]
    fn a_port_of_a_server_has_its_path_only() {
        assert_eq!(name("http://127.0.0.1:3000/alarm?intent=x"), Some("alarm"));
        assert_eq!(name("https://anywhere:3000/%61larm"), Some("alarm"));
        for url in [
            "http://x:3000/calendar",
            "http://x:3000/alarm/",
            "http://x:3000/Alarm",
            "http://x:3000",
            "http://x:3000/a/alarm",
        ] {
            assert_eq!(name(url), None, "{url}");
        }
    }

    #[test]
    fn on_any_other_port_the_path_decides() {
        assert_eq!(name("http://127.0.0.1:3012/calendar"), Some("calendar"));
        assert_eq!(name("http://127.0.0.1:40001//news"), Some("news"));
        assert_eq!(name("http://127.0.0.1/other"), None);
    }

    #[test]
    fn a_service_is_found_by_its_host_wherever_that_stands() {
        for url in [
            "http://api.serpstack.com/search?query=x",
            "https://API.serpstack.com:8080/search",
            "http://127.0.0.1:3000/api.serpstack.com/search?query=x",
        ] {
            assert_eq!((service_of(url), name(url)), (Some(Service::Search), None), "{url}");
        }
        assert_eq!(service_of("http://api.serpstack.com/alarm"), None);
        assert_eq!(service_of("http://search/search"), None);
        assert_eq!(service_of("https://geocoding-api.open-meteo.com/v1/search"), Some(Service::Places));
    }
}
