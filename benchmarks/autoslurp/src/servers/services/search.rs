//! Stand-in for serpstack's search. `query` is required; its errors have status 200.

use jiff::civil::Date;
use serde_json::{Value, json};

use super::Answer;
use super::draw::{Draw, normalised};
use super::parameters::Parameters;

/// Number of results.
const RESULTS: u32 = 5;
/// Most characters of a question that an answer repeats.
const REPEATED_MAX: usize = 400;

pub(super) fn answer(given: &Parameters, today: Date) -> Answer {
    let Some(query) = given.get("query") else {
        let error = json!({"code": 310, "type": "missing_query", "info": "The search needs the parameter query."});
        return Answer::refused(200, json!({"success": false, "error": error}));
    };
    let query: String = query.chars().take(REPEATED_MAX).collect();
    let mut draw = Draw::new("search", &query, Some(today));
    let symbol = symbol(&query);
    let results: Vec<Value> =
        (1..=RESULTS).map(|position| result(position, &query, symbol.as_ref(), &mut draw)).collect();
    let mut answer = json!({
        "request": {"success": true, "total_time_taken": draw.between(0.3, 2.0, 2), "processed_timestamp": timestamp(today), "search_url": format!("https://search.example/?q={}", slug(&query, '+'))},
        "search_parameters": {"engine": "google", "type": "web", "device": "desktop", "query": query, "page": "1", "num": "10"},
        "search_information": {"total_results": draw.below(9_000_000) + 1000, "time_taken_displayed": draw.between(0.2, 0.9, 2), "query_displayed": query},
        "organic_results": results,
    });
    if let Some(fields) = answer.as_object_mut() {
        if let Some((name, symbol)) = symbol {
            fields.insert("answer_box".to_owned(), json!({"type": "stock_symbol", "title": name, "answer": symbol}));
        } else if draw.below(2) == 0 {
            let text = format!("{query}: {}", fact(&mut draw));
            fields.insert("answer_box".to_owned(), json!({"type": "featured_snippet", "title": query, "answer": text}));
        }
    }
    Answer::found(answer)
}

fn result(position: u32, query: &str, symbol: Option<&(String, String)>, draw: &mut Draw) -> Value {
    let domain =
        format!("{}{}.example", draw.one_of(&["guide", "almanac", "reader", "facts", "daily"]), draw.below(90) + 10);
    let snippet = match symbol {
        Some((name, symbol)) => {
            format!("{name} is traded on {} under the symbol {symbol}.", draw.one_of(&["NASDAQ", "NYSE"]))
        }
        None => format!("What is known about {query}: {}", fact(draw)),
    };
    json!({
        "position": position,
        "title": format!("{query} | {}", draw.one_of(&["overview", "explained", "all you need", "the short answer", "background"])),
        "url": format!("https://{domain}/{}", slug(query, '-')),
        "domain": domain,
        "displayed_url": format!("https://{domain}"),
        "snippet": snippet,
    })
}

fn fact(draw: &mut Draw) -> String {
    let of_what = draw.one_of(&["records of", "a report of", "an entry of", "a survey of"]);
    let year = 1900 + draw.below(125);
    let number = draw.below(990) + 10;
    format!("{of_what} {year} gives the value {number}.")
}

/// The name of a company and its ticker, when a ticker is asked for.
fn symbol(query: &str) -> Option<(String, String)> {
    let query = normalised(query);
    if !["symbol", "ticker"].iter().any(|word| query.contains(word)) {
        return None;
    }
    let is_name = |word: &&str| !["stock", "symbol", "ticker", "the", "of", "for", "what", "is"].contains(word);
    let name = query.split(' ').filter(is_name).collect::<Vec<_>>().join(" ");
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).take(4).collect();
    (!letters.is_empty()).then(|| (name, letters.to_ascii_uppercase()))
}

fn slug(query: &str, between: char) -> String {
    let words = query.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join(&between.to_string())
}

fn timestamp(today: Date) -> i64 {
    let since_epoch = jiff::civil::date(1970, 1, 1).duration_until(today);
    // Ten o'clock in New York, in summer.
    since_epoch.as_secs() + 14 * 3600
}
