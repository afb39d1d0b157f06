//! Recorded judgements in words: the replies of a judge in the order of its tries.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use regatta_proto::Verdict;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::orchestration;
use crate::DataError;
use crate::source_location::SourceLocation;

/// Kinds of judgements, with the fields of a line that identify the subject.
const KINDS: [(&str, &[&str]); 4] = [
    ("fuzzy", &["api", "parameter", "input_a", "input_b"]),
    ("completion", &["item"]),
    ("response_score", &["item"]),
    ("failure_type", &["item"]),
];
/// Field that identifies the subject of every other kind.
const ABOUT: &str = "about";

/// The fields of a line that say what a judgement is and what it is about.
pub(crate) fn subject(kind: &str, about: &[String]) -> Map<String, Value> {
    let mut line = Map::new();
    match (KINDS.iter().find(|(known, fields)| *known == kind && fields.len() == about.len()), about) {
        (Some((_, fields)), _) => {
            line.insert("kind".to_owned(), json!(kind));
            line.extend(fields.iter().zip(about).map(|(field, one)| ((*field).to_owned(), json!(one))));
        }
        (None, [item]) if kind == orchestration::KIND => {
            line.insert("item".to_owned(), json!(item));
        }
        (None, _) => {
            line.insert("kind".to_owned(), json!(kind));
            line.insert(ABOUT.to_owned(), json!(about));
        }
    }
    line
}

/// The texts in `about` of a line.
fn texts(place: &SourceLocation<'_>, line: &Value) -> Result<Vec<String>, DataError> {
    let texts = place.array(line, ABOUT)?.iter().enumerate();
    texts.map(|(at, text)| place.text_at(Some(text), &format!("{ABOUT}[{at}]")).map(str::to_owned)).collect()
}

/// Replies by kind and subject. The prompt is not part of the key.
#[derive(Debug, Clone, Default)]
pub(super) struct Judgements {
    replies: HashMap<(Box<str>, Vec<String>), Vec<String>>,
}

impl Judgements {
    /// Adds a line `{"kind", …, "responses"}`, where `responses` holds what the judge replied to each try.
    pub(super) fn add(&mut self, place: &SourceLocation<'_>, line: &Value) -> Result<(), DataError> {
        let kind = place.text(line, "kind")?;
        let about = match KINDS.iter().find(|(known, _)| *known == kind) {
            _ if line.get(ABOUT).is_some() => texts(place, line)?,
            Some((_, fields)) => {
                fields.iter().map(|field| place.text(line, field).map(str::to_owned)).collect::<Result<_, _>>()?
            }
            None => {
                let known = KINDS.map(|(known, _)| known).join(", ");
                return Err(place.error("kind", format!("{kind:?} is unknown; known: {known}")));
            }
        };
        let mut replies = Vec::new();
        for (at, value) in place.array(line, "responses")?.iter().enumerate() {
            replies.push(place.text_at(Some(value), &format!("responses[{at}]"))?.to_owned());
        }
        if replies.is_empty() {
            return Err(place.error("responses", "must hold at least one reply"));
        }
        match self.replies.entry((kind.into(), about)) {
            Entry::Occupied(earlier) if *earlier.get() != replies => {
                let (kind, about) = earlier.key();
                let problem = format!("differs from an earlier line's of {kind:?} about {about:?}; do not mix judges");
                Err(place.error("responses", problem))
            }
            Entry::Occupied(_) => Ok(()),
            Entry::Vacant(free) => {
                free.insert(replies);
                Ok(())
            }
        }
    }

    /// `true` if replies are recorded for this subject.
    pub(super) fn has(&self, kind: &str, about: &[String]) -> bool {
        self.recorded(kind, about).is_some()
    }

    /// Returns the replies up to the first that matches all of `accept`. If none does, the last one is repeated up to
    /// `replies_max`.
    pub(super) fn answer(&self, kind: &str, about: &[String], accept: &[String], replies_max: u8) -> Option<Verdict> {
        let recorded = self.recorded(kind, about)?;
        let accept = accept.iter().map(|pattern| Regex::new(pattern).ok()).collect::<Option<Vec<_>>>()?;
        let last = recorded.last()?;
        let mut replies = Vec::new();
        for reply in recorded.iter().chain(std::iter::repeat(last)).take(usize::from(replies_max.max(1))) {
            replies.push(reply.clone());
            if accept.iter().all(|pattern| pattern.is_match(reply)) {
                break;
            }
        }
        Some(Verdict::Replies { replies })
    }

    fn recorded(&self, kind: &str, about: &[String]) -> Option<&[String]> {
        self.replies.get(&(kind.into(), about.to_vec())).map(Vec::as_slice)
    }
}
