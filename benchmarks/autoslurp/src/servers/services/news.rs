//! Stand-in for mediastack's news. Nothing is required; `date` and `limit` must be readable.

use jiff::ToSpan;
use jiff::civil::Date;
use serde_json::{Value, json};

use super::Answer;
use super::draw::Draw;
use super::parameters::Parameters;

/// Number of articles about any topic.
const ARTICLES: usize = 5;
/// Most characters of a topic that an article repeats.
const REPEATED_MAX: usize = 200;

pub(super) fn answer(given: &Parameters, today: Date) -> Answer {
    let limit = given.number("limit", 25, 1..=100);
    let offset = given.number("offset", 0, 0..=1_000_000);
    let days = match given.get("date") {
        None => Some((today.checked_sub(2.days()).unwrap_or(today), today)),
        Some(text) => {
            let (first, last) = text.split_once(',').unwrap_or((text, text));
            day(first).zip(day(last)).filter(|(first, last)| first <= last)
        }
    };
    let (Some(limit), Some(offset), Some((first, last))) = (limit, offset, days) else {
        let message = "One of the parameters date, limit and offset cannot be read.";
        return Answer::refused(422, json!({"error": {"code": "validation_error", "message": message}}));
    };
    let topic: String = given.get("keywords").unwrap_or("the day").chars().take(REPEATED_MAX).collect();
    let mut draw = Draw::new("news", &format!("{topic} {first} {last}"), Some(today));
    let span = (first.until(last)).map_or(0, |span| span.get_days()).clamp(0, 365);
    let mut data: Vec<(Date, Value)> = (0..ARTICLES).map(|_| article(&topic, last, span, &mut draw)).collect();
    data.sort_by_key(|(published, _)| std::cmp::Reverse(*published));
    let data: Vec<Value> = data.into_iter().map(|(_, article)| article).skip(offset).take(limit).collect();
    let pagination = json!({"limit": limit, "offset": offset, "count": data.len(), "total": ARTICLES});
    Answer::found(json!({"pagination": pagination, "data": data}))
}

fn article(topic: &str, last: Date, span: i32, draw: &mut Draw) -> (Date, Value) {
    let back = draw.below(u32::try_from(span).unwrap_or(0) + 1);
    let published = last.checked_sub(i64::from(back).days()).unwrap_or(last);
    let source = draw.one_of(&["Harbour Post", "Evening Ledger", "Northern Wire", "City Courier"]);
    let number = draw.below(90_000) + 10_000;
    let heading = match draw.below(4) {
        0 => format!("What changed for {topic} this week"),
        1 => format!("{topic}: {} people were asked", draw.below(900) + 100),
        2 => format!("New figures on {topic}"),
        _ => format!("{topic}, seen from {}", draw.one_of(&["Boston", "Lisbon", "Osaka", "Nairobi"])),
    };
    let value = json!({
        "author": draw.one_of(&["R. Vale", "M. Osei", "T. Lindqvist", "A. Moreau"]),
        "title": heading,
        "description": format!("A report on {topic} by {source}."),
        "url": format!("https://news.example/{number}"),
        "source": source,
        "image": null,
        "category": "general",
        "language": "en",
        "country": "us",
        "published_at": format!("{published}T{:02}:{:02}:00+00:00", draw.below(24), draw.below(60)),
    });
    (published, value)
}

/// A day as `2025-05-28`.
pub(super) fn day(text: &str) -> Option<Date> {
    let text = regatta_pycompat::strip(text);
    (text.len() == 10).then(|| text.parse().ok()).flatten()
}
