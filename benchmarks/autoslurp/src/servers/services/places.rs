//! Stand-in for open-meteo's geocoding. `name` is required; a name without two letters is found nowhere. Places do not move, so the day does
//! not count.

use serde_json::{Value, json};

use super::Answer;
use super::draw::{Draw, normalised};
use super::parameters::Parameters;

/// Most characters of a name that an answer repeats.
const REPEATED_MAX: usize = 100;

pub(super) fn answer(given: &Parameters) -> Answer {
    let count = given.number("count", 10, 1..=100);
    let (Some(name), Some(count)) = (given.get("name"), count) else {
        let reason =
            if count.is_none() { "count must be between 1 and 100." } else { "The parameter name is missing." };
        return Answer::refused(400, json!({"error": true, "reason": reason}));
    };
    let name: String = name.chars().take(REPEATED_MAX).collect();
    let mut draw = Draw::new("places", &name, None);
    let time = draw.between(0.3, 1.5, 3);
    if name.chars().filter(|c| c.is_alphabetic()).count() < 2 {
        return Answer::found(json!({"generationtime_ms": time}));
    }
    let there_are = usize::try_from(draw.below(3) + 1).unwrap_or(1);
    let results: Vec<Value> = (0..count.min(there_are)).map(|_| place(&name, &mut draw)).collect();
    Answer::found(json!({"results": results, "generationtime_ms": time}))
}

fn place(name: &str, draw: &mut Draw) -> Value {
    let countries = [
        ("US", "United States", "America/New_York"),
        ("GB", "United Kingdom", "Europe/London"),
        ("FR", "France", "Europe/Paris"),
        ("JP", "Japan", "Asia/Tokyo"),
    ];
    let at = usize::try_from(draw.below(4)).unwrap_or_default();
    let (code, country, timezone) = countries.get(at).copied().unwrap_or_default();
    json!({
        "id": draw.below(9_000_000) + 1_000_000,
        "name": titled(name),
        "latitude": draw.between(-55.0, 65.0, 5),
        "longitude": draw.between(-170.0, 170.0, 5),
        "elevation": draw.between(0.0, 900.0, 1),
        "feature_code": "PPL",
        "country_code": code,
        "timezone": timezone,
        "population": draw.below(2_000_000) + 500,
        "country": country,
    })
}

/// A name with capital letters at the beginnings of its words.
fn titled(name: &str) -> String {
    let word = |word: &str| {
        let mut rest = word.chars();
        rest.next().map(|first| first.to_uppercase().chain(rest).collect::<String>()).unwrap_or_default()
    };
    normalised(name).split(' ').map(word).collect::<Vec<_>>().join(" ")
}
