//! Stand-ins for the third-party services that prompts name (docs/benchmarks/autoslurp.md §2.6): their shapes, with values that are drawn
//! from the normalised question and the day. Keys are not looked at. Errors have the status that the service gives them.

mod currency;
mod draw;
mod news;
mod parameters;
mod places;
mod search;
mod stocks;
mod weather;

use jiff::civil::Date;
use regatta_benchmarks::ToolAnswer;
use serde_json::Value;

use self::parameters::Parameters;
use super::escaping::escape;
use super::respond::page;

/// A service that has a stand-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// Search of serpstack.
    Search,
    /// News of mediastack.
    News,
    /// Geocoding of open-meteo.
    Places,
    /// Forecast of open-meteo.
    Forecast,
    /// End-of-day prices of marketstack.
    Stocks,
    /// Latest rates of freecurrencyapi.
    Rates,
    /// Conversion of amdoren.
    Conversion,
}

impl Service {
    /// All of them.
    pub(crate) const ALL: [Self; 7] =
        [Self::Search, Self::News, Self::Places, Self::Forecast, Self::Stocks, Self::Rates, Self::Conversion];

    /// The host that it stands in for.
    pub(crate) const fn host(self) -> &'static str {
        match self {
            Self::Search => "api.serpstack.com",
            Self::News => "api.mediastack.com",
            Self::Places => "geocoding-api.open-meteo.com",
            Self::Forecast => "api.open-meteo.com",
            Self::Stocks => "api.marketstack.com",
            Self::Rates => "api.freecurrencyapi.com",
            Self::Conversion => "www.amdoren.com",
        }
    }

    /// The path there, without its first slash.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::News => "v1/news",
            Self::Places => "v1/search",
            Self::Forecast => "v1/forecast",
            Self::Stocks => "v1/eod",
            Self::Rates => "v1/latest",
            Self::Conversion => "api/currency.php",
        }
    }

    /// The services of a host; nothing when it is nobody's.
    pub(super) fn of_host(host: &str) -> Option<impl Iterator<Item = Self>> {
        let mut of_host =
            Self::ALL.into_iter().filter(move |service| service.host().eq_ignore_ascii_case(host)).peekable();
        of_host.peek().is_some().then_some(of_host)
    }

    /// Answer of the service: GET and POST are alike, and parameters in the body of a POST count where the query does not have them.
    pub(super) fn respond(self, method: &str, query: &str, body: &[u8], today: Date) -> ToolAnswer {
        let given = match method {
            "GET" | "HEAD" => Parameters::of(&escape(query), b""),
            "POST" => Parameters::of(&escape(query), body),
            _ => return ToolAnswer { allow: Some("GET, HEAD, POST"), ..page(405, "this service has no such method") },
        };
        let Answer { status, value } = match self {
            Self::Search => search::answer(&given, today),
            Self::News => news::answer(&given, today),
            Self::Places => places::answer(&given),
            Self::Forecast => weather::answer(&given, today),
            Self::Stocks => stocks::answer(&given, today),
            Self::Rates => currency::rates(&given, today),
            Self::Conversion => currency::conversion(&given, today),
        };
        let body = if method == "HEAD" { Vec::new() } else { value.to_string().into_bytes() };
        ToolAnswer { status, content_type: "application/json", allow: None, body }
    }
}

/// Answer of a service: an HTTP status and a JSON body.
#[derive(Debug)]
struct Answer {
    status: u16,
    value: Value,
}

impl Answer {
    const fn found(value: Value) -> Self {
        Self { status: 200, value }
    }

    const fn refused(status: u16, value: Value) -> Self {
        Self { status, value }
    }
}
