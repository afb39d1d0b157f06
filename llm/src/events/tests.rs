use std::fs;
use std::path::Path;

use regatta_hostile::{Event, Wire, ways};
use regatta_proto::{Filtered, Outcome};

use super::*;
use crate::errors::rule;

#[test]
fn the_table_has_one_row_for_each_event_in_its_place() {
    for (place, row) in EVENTS.iter().enumerate() {
        assert_eq!(row.event as usize, place, "{:?}", row.event);
        assert_eq!(row.event.rule(), row);
    }
    // The last event; a further one without a row would be out of the table's bounds.
    assert_eq!(ProviderEvent::TierUnpriced as usize + 1, EVENTS.len());
}

fn of(outcome: &Outcome) -> String {
    let cause = outcome.cause().map_or(String::new(), |cause| format!("({cause})"));
    format!("`{}{cause}`", outcome.as_str())
}

fn outcome(row: &EventRule) -> String {
    let Some(class) = row.class else {
        let known = matches!(row.event, ProviderEvent::AnswerCutOff | ProviderEvent::AnswerMalformed);
        return format!("{}{}", of(&Outcome::Measured), if known { "" } else { ", its cost unknown" });
    };
    let [wrong, missing] =
        [Filtered::Wrong, Filtered::Missing].map(|filtered| of(&Outcome::of_failure(class, filtered)));
    if wrong == missing { wrong } else { format!("{wrong}, or {missing} with `filtered: missing`") }
}

fn events() -> String {
    let lines = EVENTS.iter().map(|row| {
        let class = row.class.map_or("answered".to_owned(), |class| format!("`{}`", rule(class).word));
        let fault = row.fault().map_or("nobody".to_owned(), |fault| format!("{fault:?}").to_lowercase());
        format!("| {} | {} | {class} | {} | {fault} | {} |", row.word, row.told, outcome(row), row.because)
    });
    let header =
        "| event | how it is told | class | outcome | whose fault | because |\n| --- | --- | --- | --- | --- | --- |";
    format!("{header}\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}

fn played() -> String {
    let lines = Event::ALL.into_iter().map(|event| {
        let of_wires = Wire::ALL.map(|wire| {
            let mut names: Vec<String> = ways(event, wire).iter().map(|way| format!("`{}`", way.name)).collect();
            names.dedup();
            if names.is_empty() { "–".to_owned() } else { names.join(", ") }
        });
        format!("| {} | {} |", event.as_str().replace('_', " "), of_wires.join(" | "))
    });
    let header = format!("| event | {} |", Wire::ALL.map(|wire| wire.as_str().replace('_', " ")).join(" | "));
    format!("{header}\n| --- | --- | --- | --- | --- | --- | --- |\n{}\n", lines.collect::<Vec<_>>().join("\n"))
}

/// The document with its tables regenerated.
fn written_anew(document: &str) -> String {
    let mut text = document.to_owned();
    for (mark, table) in [("<!-- events -->", events()), ("<!-- ways -->", played())] {
        let begin = text.find(mark).unwrap() + mark.len();
        let end = begin + text[begin..].find("<!-- end -->").unwrap();
        text.replace_range(begin..end, &format!("\n{table}"));
    }
    text
}

/// With `REGATTA_UPDATE=1` the test rewrites the document.
#[test]
fn the_document_tells_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/filters-and-limits.md");
    let document = fs::read_to_string(&path).unwrap();
    let anew = written_anew(&document);
    if std::env::var_os("REGATTA_UPDATE").is_some() {
        fs::write(&path, &anew).unwrap();
    } else {
        assert_eq!(document, anew, "{} is out of date", path.display());
    }
}
