//! The simulated servers (docs/benchmarks/autoslurp.md §2.4) and the stand-ins for other services (§2.6): pure functions of one request.
//!
//! Requests are bounded: a URL to [`URL_BYTES_MAX`], a body to [`BODY_BYTES_MAX`]; what is longer is answered with 414 or 413.

mod address;
mod dumps;
mod escaping;
mod exchange;
mod query;
mod respond;
mod route;
mod served;
mod server;
mod services;
mod table;
#[cfg(test)]
mod tests;
mod words;

use jiff::civil::Date;

pub(crate) use self::exchange::exchange;
pub(crate) use self::route::server_of;
pub use self::served::ServedTools;
pub(crate) use self::server::{DATE_FORMAT, Server, TIME_FORMAT};
pub(crate) use self::table::SERVERS;
use regatta_benchmarks::{ToolAnswer, ToolRequest};

/// Longest body that is read, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Longest URL that is read, in bytes.
const URL_BYTES_MAX: usize = 64 << 10;

/// Answer of the simulated world to a request.
///
/// A host of somebody else (docs/benchmarks/autoslurp.md §2.6) is its stand-in, also when the host stands as the first segment of the path
/// (so that one port can serve everything); a port of the table (§2.5) is its server; on any other port the path says which server is
/// meant.
pub(crate) fn answer(request: &ToolRequest, today: Date) -> ToolAnswer {
    let body = request.body.as_deref().unwrap_or_default();
    if request.url.len() > URL_BYTES_MAX {
        return respond::page(414, "the URL is too long");
    }
    if body.len() > BODY_BYTES_MAX {
        return respond::page(413, "the body is too long");
    }
    match route::route(&request.url) {
        Some((route::Place::Server(server), query)) => respond::respond(server, &request.method, query, body),
        Some((route::Place::Service(service), query)) => service.respond(&request.method, query, body, today),
        None => respond::page(404, "nothing is simulated at this address"),
    }
}
