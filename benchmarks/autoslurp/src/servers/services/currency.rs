//! Stand-ins for two services of currencies: rates of freecurrencyapi, conversion of amdoren.

use jiff::civil::Date;
use serde_json::{Map, Value, json};

use super::Answer;
use super::draw::{Draw, rounded};
use super::parameters::Parameters;

/// Currencies, and about how much of each a dollar is.
const CURRENCIES: [(&str, f64); 33] = [
    ("AUD", 1.55),
    ("BGN", 1.72),
    ("BRL", 5.65),
    ("CAD", 1.38),
    ("CHF", 0.83),
    ("CNY", 7.19),
    ("CZK", 22.0),
    ("DKK", 6.57),
    ("EUR", 0.88),
    ("GBP", 0.74),
    ("HKD", 7.84),
    ("HRK", 6.63),
    ("HUF", 356.0),
    ("IDR", 16300.0),
    ("ILS", 3.52),
    ("INR", 85.4),
    ("ISK", 127.0),
    ("JPY", 144.0),
    ("KRW", 1375.0),
    ("MXN", 19.4),
    ("MYR", 4.23),
    ("NOK", 10.1),
    ("NZD", 1.68),
    ("PHP", 55.6),
    ("PLN", 3.74),
    ("RON", 4.45),
    ("RUB", 79.6),
    ("SEK", 9.58),
    ("SGD", 1.29),
    ("THB", 32.6),
    ("TRY", 39.0),
    ("USD", 1.0),
    ("ZAR", 17.9),
];

/// Units of a currency for one dollar on the day `today`; `None` for an unknown currency.
fn per_dollar(code: &str, today: Date) -> Option<f64> {
    let (code, about) = CURRENCIES.iter().find(|(known, _)| known.eq_ignore_ascii_case(code))?;
    let swing = if *code == "USD" { 1.0 } else { Draw::new("currency", code, Some(today)).between(0.98, 1.02, 6) };
    Some(about * swing)
}

fn rate(from: &str, to: &str, today: Date) -> Option<f64> {
    Some(per_dollar(to, today)? / per_dollar(from, today)?)
}

/// `/v1/latest`: nothing is required; a dollar is worth what in all currencies.
pub(super) fn rates(given: &Parameters, today: Date) -> Answer {
    let base = given.get("base_currency").unwrap_or("USD");
    let mut asked = given.list("currencies", CURRENCIES.len());
    if asked.is_empty() {
        asked = CURRENCIES.iter().map(|(code, _)| *code).collect();
    }
    let data: Option<Map<String, Value>> = asked
        .into_iter()
        .map(|code| Some((code.to_ascii_uppercase(), rounded(rate(base, code, today)?, 10).into())))
        .collect();
    match data {
        Some(data) => Answer::found(json!({"data": data})),
        None => Answer::refused(422, json!({"message": "One of the currencies is not known."})),
    }
}

/// `/api/currency.php`: `from` and `to` are required, one of it is converted unless the request says otherwise. Errors have status 200.
pub(super) fn conversion(given: &Parameters, today: Date) -> Answer {
    let refused = |code: u16, message: &str| Answer::refused(200, json!({"error": code, "error_message": message}));
    let (Some(from), Some(to)) = (given.get("from"), given.get("to")) else {
        return refused(200, "Both from and to are needed.");
    };
    let Some(rate) = rate(from, to, today) else { return refused(210, "One of the currencies is not known.") };
    let amount = given.get("amount").map_or(Some(1.0), |text| text.parse::<f64>().ok());
    let Some(amount) = amount.filter(|amount| amount.is_finite() && (0.0..=1e15).contains(amount)) else {
        return refused(300, "The quantity to convert cannot be read.");
    };
    Answer::found(json!({"error": 0, "error_message": "-", "amount": rounded(amount * rate, 5)}))
}
