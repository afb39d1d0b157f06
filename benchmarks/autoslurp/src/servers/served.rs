//! The simulated tools for a server of their own.

use jiff::civil::Date;
use regatta_benchmarks::{ToolAnswer, ToolRequest};

use super::exchange::reached;
use super::{BODY_BYTES_MAX, SERVERS, answer};

/// Auto-SLURP's simulated servers and stand-ins, on one day (docs/benchmarks/autoslurp.md §2.4 and §2.6). They keep no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedTools {
    today: Date,
}

impl ServedTools {
    /// Longest body that is read, in bytes.
    pub const BODY_BYTES_MAX: usize = BODY_BYTES_MAX;

    /// The tools as they are on this day.
    #[must_use]
    pub const fn on(today: Date) -> Self {
        Self { today }
    }

    /// Answer of the date tool.
    #[must_use]
    pub const fn today(&self) -> Date {
        self.today
    }

    /// Name and official port of each server, by ascending port.
    pub fn servers() -> impl ExactSizeIterator<Item = (&'static str, u16)> {
        SERVERS.iter().map(|server| (server.name, server.port))
    }

    /// The answer to a request. The host of a third-party service is its stand-in, also as the first segment of the path; an official port
    /// is its server; on any other port the path says which server is meant.
    #[must_use]
    pub fn answer(&self, request: &ToolRequest) -> ToolAnswer {
        answer(request, self.today)
    }

    /// URL that a policy's request tool would really ask for `url`, as a model wrote it, when everything is served at `port` of this
    /// machine and each server at its official port; `None` where nobody would answer.
    #[must_use]
    pub fn reached(url: &str, port: u16) -> Option<String> {
        reached(url, Some(port))
    }
}
