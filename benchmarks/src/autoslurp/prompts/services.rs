//! The list of servers as agents are told it (SPEC, 3.2, last paragraph, and section 4).

use crate::autoslurp::policies::Policy;

/// The list: a line a server of the house with address, intents and slots, then the services of others with their URLs.
///
/// It holds less than what the servers take, as the official one does, and for some policies one intent that no server knows. Keys of services
/// are written as `KEY`.
pub(crate) fn list(policy: Policy) -> String {
    format!(
        "Services of others, which take exactly these URLs with the parts in braces filled in (KEY stays as it is):\n{}",
        others(policy)
    )
}

/// The services of others.
fn others(policy: Policy) -> String {
    let forecast = match policy {
        Policy::CamelAi | Policy::AutoGen => "hourly=temperature_2m&models=gfs_seamless",
        Policy::LangGraph | Policy::AgentLite => {
            "daily=temperature_2m_max,temperature_2m_min,sunrise,sunset,uv_index_max,rain_sum,showers_sum,snowfall_sum,wind_speed_10m_max"
        }
    };
    let rate = match policy {
        Policy::LangGraph | Policy::AutoGen => {
            "https://api.freecurrencyapi.com/v1/latest?apikey=KEY&base_currency={code}&currencies={code}"
        }
        Policy::CamelAi | Policy::AgentLite => {
            "https://www.amdoren.com/api/currency.php?api_key=KEY&from={code}&to={code}&amount={amount}"
        }
    };
    let lines = [
        "questions of any kind, jokes and small talk: http://api.serpstack.com/search?access_key=KEY&query={what to search for}".to_owned(),
        "news (news_query): http://api.mediastack.com/v1/news?access_key=KEY&keywords={topic}&date={date}&sort=published_desc".to_owned(),
        "weather (weather_query), two requests, first where the place is, then the forecast for its latitude and longitude: \
         https://geocoding-api.open-meteo.com/v1/search?name={place}&count=10&language=en&format=json"
            .to_owned(),
        format!("    and then: https://api.open-meteo.com/v1/forecast?latitude={{latitude}}&longitude={{longitude}}&{forecast}"),
        "stock prices (qa_stock), two requests, first a search for \"<name> stock symbol\" as for questions, then: \
         http://api.marketstack.com/v1/eod?access_key=KEY&symbols={symbol}&limit=5"
            .to_owned(),
        format!("exchange rates (qa_currency), with three-letter codes of currencies: {rate}"),
    ];
    lines.join("\n")
}
