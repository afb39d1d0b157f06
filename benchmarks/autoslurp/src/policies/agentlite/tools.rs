//! Execution of actions with their parameters, as Python calls and its HTTP library do it.

use jiff::civil::Date;
use regatta_proto::Exchange;
use regatta_pycompat::display;
use regatta_pycompat::yaml::{Dict, Value};

use super::team::Deed;
use crate::servers;

/// URLs that hold one of these are fetched; to all others the query is posted.
const FETCHED: [&str; 3] = ["mediastack", "meteo", "marketstack"];

/// The parameters of `deed` in their order; `None` where the call raises, because one is missing, too many, or no name. A thought may have any.
pub(super) fn arguments(deed: Deed, params: &Value) -> Option<Vec<&Value>> {
    let params = params.as_dict()?;
    if params.keys().any(|key| key.as_str().is_none()) {
        return None;
    }
    if deed == Deed::Think {
        return Some(Vec::new());
    }
    let arguments: Vec<&Value> = deed.parameters().iter().map(|(name, _)| params.get(name)).collect::<Option<_>>()?;
    (arguments.len() == params.len()).then_some(arguments)
}

/// Sends a request: a GET of what is fetched, else a POST of `query`; `None` where the library cannot make one of these.
pub(super) fn request(url: &Value, query: &Value, today: Date) -> Option<Exchange> {
    let url = url.as_str()?;
    if FETCHED.iter().any(|word| url.contains(word)) {
        return Some(servers::exchange("GET", url, None, today));
    }
    let body = match query {
        query if !query.is_truthy() => None,
        Value::Str(text) => Some(text.clone()),
        Value::Dict(form) => Some(encoded(form)),
        _ => return None,
    };
    Some(servers::exchange("POST", url, body.as_deref(), today))
}

/// A dict as the fields of a form, which no simulated server can read: a list is a field for each value, `None` is none.
fn encoded(form: &Dict) -> String {
    let mut fields = Vec::new();
    for (key, value) in form.iter() {
        let values: Vec<&Value> = match value {
            Value::List(values) => values.iter().collect(),
            Value::Dict(dict) => dict.keys().collect(),
            value => vec![value],
        };
        let values = values.into_iter().filter(|value| !matches!(value, Value::None));
        fields.extend(values.map(|value| format!("{}={}", quoted(&display(key)), quoted(&display(value)))));
    }
    fields.join("&")
}

/// `quote_plus`.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use regatta_pycompat::literal;

    use super::*;

    const TODAY: Date = jiff::civil::date(2025, 5, 28);
    const CALENDAR: &str = "http://127.0.0.1:3002/calendar";

    fn sent(url: &str, query: &str) -> Option<(String, Option<String>)> {
        let exchange = request(&Value::Str(url.to_owned()), &literal(query).unwrap(), TODAY)?;
        Some((exchange.method.to_string(), exchange.body.map(|body| body.to_string())))
    }

    #[test]
    fn some_services_are_fetched_and_the_query_is_posted_to_all_others() {
        for url in [
            "http://api.mediastack.com/v1/news",
            "https://api.open-meteo.com/v1/forecast",
            "http://api.marketstack.com/v1/eod",
        ] {
            assert_eq!(sent(url, "'x'"), Some(("GET".to_owned(), None)), "{url}");
        }
        for url in [CALENDAR, "http://api.serpstack.com/search", "https://www.amdoren.com/api/currency.php"] {
            assert_eq!(sent(url, "'x'"), Some(("POST".to_owned(), Some("x".to_owned()))), "{url}");
        }
        // A word anywhere in the URL counts.
        assert_eq!(sent(&format!("{CALENDAR}?intent=meteo"), "''").unwrap().0, "GET");
    }

    #[test]
    fn an_object_is_sent_as_a_form() {
        for (query, body) in [
            ("{'intent': 'calendar_set', 'event_name': 'my é day'}", "intent=calendar_set&event_name=my+%C3%A9+day"),
            ("{'a': [1, None, True], 'b': None, 'c': {'d': 1}, 2: 1.5}", "a=1&a=True&c=d&2=1.5"),
            ("{'a': None}", ""),
        ] {
            assert_eq!(sent(CALENDAR, query), Some(("POST".to_owned(), Some(body.to_owned()))), "{query}");
        }
    }

    #[test]
    fn what_is_empty_is_no_body_and_what_is_no_text_no_request() {
        for query in ["''", "{}", "[]", "None", "0", "False"] {
            assert_eq!(sent(CALENDAR, query), Some(("POST".to_owned(), None)), "{query}");
        }
        for query in ["5", "True", "['a']", "1.5"] {
            assert_eq!(sent(CALENDAR, query), None, "{query}");
        }
        assert!(request(&Value::None, &Value::Str(String::new()), TODAY).is_none());
    }

    #[test]
    fn parameters_must_be_those_of_the_action() {
        let count = |deed, params: &str| arguments(deed, &literal(params).unwrap()).map(|arguments| arguments.len());
        assert_eq!(count(Deed::Request, "{'query': 1, 'url': 2}"), Some(2));
        for params in
            ["{'url': 2}", "{'url': 2, 'query': 1, 'body': 3}", "{'url': 2, 'Query': 1}", "{}", "{1: 2}", "[]"]
        {
            assert_eq!(count(Deed::Request, params), None, "{params}");
        }
        assert_eq!(count(Deed::CurDate, "{}"), None);
        assert_eq!(count(Deed::Think, "{'thought': 1, 'response': 2}"), Some(0));
        assert_eq!(count(Deed::Think, "{1: 1}"), None);
    }
}
