//! The list of servers as agents are told it (docs/benchmarks/autoslurp.md §2.5, §2.6).

use crate::policy::Policy;
use crate::servers::{SERVERS, Server};

/// Address of the simulated servers in prompts.
const HOST: &str = "http://127.0.0.1";

/// An intent that the lists of some policies name, though no server knows it.
const UNKNOWN_TO_ALL: &str = "iot_hue_lightother";

/// The list: a line a server of the house with address, intents and slots, then the services of others with their URLs.
///
/// It holds less than what the servers take, as the official one does, and for some policies one intent that no server knows. Keys of services
/// are written as `KEY`.
pub(crate) fn list(policy: Policy) -> String {
    let local: Vec<String> = SERVERS.iter().map(|server| line(policy, server)).collect();
    format!(
        "Servers of the house:\n{}\n\n\
         Services of others, which take exactly these URLs with the parts in braces filled in (KEY stays as it is):\n{}",
        local.join("\n"),
        others(policy)
    )
}

/// The line of a server of the house.
fn line(policy: Policy, server: &Server) -> String {
    let own = match policy {
        Policy::LangGraph | Policy::AgentLite if server.name == "iot" => Some(UNKNOWN_TO_ALL),
        _ => None,
    };
    let intents = server.intents.iter().filter(|intent| intent.in_prompts).map(|intent| intent.name);
    let intents: Vec<&str> = intents.chain(own).collect();
    let slots: Vec<&str> = server.slots.iter().filter(|slot| slot.in_prompts).map(|slot| slot.name).collect();
    let Server { name, port, path, .. } = server;
    format!("{name}: {HOST}:{port}{path} intents: {} slots: {}", intents.join(", "), slots.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(policy: Policy, server: &str) -> String {
        let list = list(policy);
        let found = list.lines().find(|line| line.starts_with(&format!("{server}: ")));
        found.unwrap_or_default().to_owned()
    }

    #[test]
    fn every_server_is_listed_with_less_than_it_takes() {
        for policy in Policy::ALL {
            assert_eq!(list(policy).matches(HOST).count(), 18, "{policy}");
        }
        let news = line_of(Policy::AutoGen, "news");
        assert_eq!(news, "news: http://127.0.0.1:3020/news intents: news_subscription slots: news_topic");
        let alarm = line_of(Policy::AutoGen, "alarm");
        assert!(alarm.contains("alarm_set, alarm_query slots:"), "{alarm}");
        assert!(!alarm.contains("time2"), "{alarm}");
    }

    #[test]
    fn some_are_told_of_an_intent_that_no_server_knows() {
        for policy in Policy::ALL {
            let told = matches!(policy, Policy::LangGraph | Policy::AgentLite);
            assert_eq!(line_of(policy, "iot").contains(UNKNOWN_TO_ALL), told, "{policy}");
            assert!(!list(policy).contains("lightcolor"), "{policy}");
        }
    }

    #[test]
    fn forecasts_and_exchange_rates_are_those_of_the_policys_example() {
        for policy in Policy::ALL {
            let list = list(policy);
            let daily = matches!(policy, Policy::LangGraph | Policy::AgentLite);
            assert_eq!(list.contains("daily=temperature_2m_max"), daily, "{policy}");
            assert_eq!(list.contains("models=gfs_seamless"), !daily, "{policy}");
            let newer = matches!(policy, Policy::LangGraph | Policy::AutoGen);
            assert_eq!(list.contains("freecurrencyapi"), newer, "{policy}");
            assert_eq!(list.contains("amdoren"), !newer, "{policy}");
        }
    }
}
