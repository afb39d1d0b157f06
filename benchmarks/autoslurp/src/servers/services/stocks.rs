//! Stand-in for marketstack's end-of-day prices: the trading days before today, latest first. `symbols` is required.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use serde_json::{Value, json};

use super::Answer;
use super::draw::{Draw, rounded};
use super::parameters::Parameters;

/// Most symbols of a request.
const SYMBOLS_MAX: usize = 20;
/// Number of trading days that are known.
const DAYS: usize = 60;

pub(super) fn answer(given: &Parameters, today: Date) -> Answer {
    let symbols = given.list("symbols", SYMBOLS_MAX);
    let limit = given.number("limit", 100, 1..=1000);
    let offset = given.number("offset", 0, 0..=1_000_000);
    let are_plain = symbols
        .iter()
        .all(|symbol| symbol.len() <= 16 && symbol.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)));
    let (false, true, Some(limit), Some(offset)) = (symbols.is_empty(), are_plain, limit, offset) else {
        let message = "At least one symbol is needed, and limit and offset must be readable.";
        return Answer::refused(422, json!({"error": {"code": "validation_error", "message": message}}));
    };
    let total = DAYS * symbols.len();
    let is_trading = |day: &Date| !matches!(day.weekday(), Weekday::Saturday | Weekday::Sunday);
    let days = today.series((-1).day()).skip(1).filter(is_trading).take(DAYS);
    let prices = days.flat_map(|day| symbols.iter().map(move |symbol| price(symbol, day)));
    let data: Vec<Value> = prices.skip(offset).take(limit).collect();
    let pagination = json!({"limit": limit, "offset": offset, "count": data.len(), "total": total});
    Answer::found(json!({"pagination": pagination, "data": data}))
}

fn price(symbol: &str, day: Date) -> Value {
    let level = Draw::new("stocks", symbol, None).between(15.0, 450.0, 2);
    let mut draw = Draw::new("stocks", symbol, Some(day));
    let near = |draw: &mut Draw| rounded(level * draw.between(0.97, 1.03, 4), 2);
    let (open, close) = (near(&mut draw), near(&mut draw));
    let high = rounded(open.max(close) * draw.between(1.0, 1.02, 4), 2);
    let low = rounded(open.min(close) * draw.between(0.98, 1.0, 4), 2);
    json!({
        "open": open,
        "high": high,
        "low": low,
        "close": close,
        "volume": draw.below(90_000_000) + 100_000,
        "adj_high": null,
        "adj_low": null,
        "adj_close": close,
        "adj_open": null,
        "adj_volume": null,
        "split_factor": 1.0,
        "dividend": 0.0,
        "symbol": symbol.to_ascii_uppercase(),
        "exchange": "XNAS",
        "date": format!("{day}T00:00:00+0000"),
    })
}
