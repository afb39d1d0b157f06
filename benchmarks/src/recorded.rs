//! Verdicts that were recorded in a file: similarities of text pairs, embeddings of texts, and judgements in words.

mod judgements;
mod orchestration;

use std::collections::HashMap;

use regatta_proto::{Digest, Question, Verdict};
use serde_json::Value;

use self::judgements::Judgements;
pub(crate) use self::judgements::subject;
use self::orchestration::ArgumentJudgements;
pub use self::orchestration::NULL_CONTENT;
use crate::cosine::{SAME_MICRO, cosine, to_micro};
use crate::source_location::{SourceLocation, kind_of, lines};
use crate::{DataError, Verdicts};

/// Origin of verdict files in error messages.
const ORIGIN: &str = "verdicts";

/// Recorded verdicts. Similarities are found by pair of texts in either order, for any item; equal texts have
/// similarity 1 without a record. Judgements are found by kind and subject, whatever the prompt was.
#[derive(Debug, Clone, Default)]
pub struct RecordedVerdicts {
    /// Number of each text that occurs in `micro`.
    texts: HashMap<Box<str>, u32>,
    /// Recorded similarity in units of 1e-6 by the numbers of two texts, the smaller number first.
    micro: HashMap<(u32, u32), i32>,
    embeddings: HashMap<Box<str>, Box<[f64]>>,
    judgements: Judgements,
    arguments: ArgumentJudgements,
    /// Answers that came from a judge just now, by the digest of the question.
    given: HashMap<Digest, Verdict>,
}

/// A question without a recorded verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingVerdict {
    /// The similarity of two texts.
    Similarity {
        /// Text of the prediction.
        left: String,
        /// Text of the gold.
        right: String,
    },
    /// A judgement in words.
    Judgement {
        /// Kind of the judgement, such as `fuzzy`.
        kind: String,
        /// Keys of the judged subject.
        about: Vec<String>,
    },
}

impl RecordedVerdicts {
    /// Reads a JSONL file. A line is `{"item", "pred_texts", "gold_texts", "sim"}`, where `sim[a][b]` belongs to
    /// `pred_texts[a]` and `gold_texts[b]`, or `{"text", "embedding"}`. Similarities are rounded to six decimals; that of
    /// two embeddings is their cosine in double precision. Or it is a judgement: `{"kind", "responses"}`, with the replies in the
    /// order of the judge's tries, and what it is about: `about`, the texts that the kind defines, or `api`, `parameter`, `input_a` (gold) and `input_b` (predicted) of a
    /// `fuzzy` one, `item` of `completion`, `response_score` and `failure_type`. Of arguments it is `{"item", "response"}`, `null` being
    /// an answer without a text, `{"item", "error": true}` besides when the judge could not be asked, or `{"item", "judge", "key", "tp",
    /// "fp", "fn"}` with the counts of one of several judges.
    ///
    /// # Errors
    /// With the line of what is malformed, or contradicts an earlier line.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, DataError> {
        let mut verdicts = Self::default();
        for line in lines(&SourceLocation::file(ORIGIN, file), bytes) {
            let (place, line) = line?;
            if ArgumentJudgements::is_theirs(&line) {
                verdicts.arguments.add(&place, &line)?;
            } else if line.get("kind").is_some() {
                verdicts.judgements.add(&place, &line)?;
            } else if line.get("sim").is_some() {
                verdicts.add_similarities(&place, &line)?;
            } else if line.get("embedding").is_some() {
                verdicts.add_embedding(&place, &line)?;
            } else {
                return Err(place.problem(
                    "has neither `sim` (with pred_texts and gold_texts), `embedding` (with text) nor `kind` (with responses)",
                ));
            }
        }
        Ok(verdicts)
    }

    /// Adds a judge's answer to `question`.
    pub fn add(&mut self, question: &Question, verdict: Verdict) {
        self.given.insert(question.digest(), verdict);
    }

    /// The answer to `question` that a judge has given.
    fn given(&self, question: &Question) -> Option<&Verdict> {
        // Digests are of whole prompts, and most files of verdicts are used without a judge.
        if self.given.is_empty() { None } else { self.given.get(&question.digest()) }
    }

    /// Returns the first part of `question` that has no recorded verdict.
    #[must_use]
    pub fn missing(&self, question: &Question) -> Option<MissingVerdict> {
        if self.given(question).is_some() {
            return None;
        }
        match question {
            Question::Similarity { left, right } => left.iter().find_map(|a| {
                let b = right.iter().find(|b| self.similarity(a, b).is_none())?;
                Some(MissingVerdict::Similarity { left: a.clone(), right: b.clone() })
            }),
            Question::Judgement { kind, about, .. } => {
                let is_recorded = self.judgements.has(kind, about) || self.arguments.has(kind, about);
                (!is_recorded).then(|| MissingVerdict::Judgement { kind: kind.clone(), about: about.clone() })
            }
        }
    }

    /// Number of judges whose counts of arguments are recorded.
    pub fn judges_of_arguments(&self) -> usize {
        self.arguments.judges()
    }

    fn similarity(&self, a: &str, b: &str) -> Option<i32> {
        if a == b {
            return Some(SAME_MICRO);
        }
        self.recorded(a, b).or_else(|| to_micro(cosine(self.embeddings.get(a)?, self.embeddings.get(b)?)))
    }

    fn recorded(&self, a: &str, b: &str) -> Option<i32> {
        let (a, b) = (*self.texts.get(a)?, *self.texts.get(b)?);
        self.micro.get(&(a.min(b), a.max(b))).copied()
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.insert(text.into(), number);
        number
    }

    fn add_similarities(&mut self, place: &SourceLocation<'_>, line: &Value) -> Result<(), DataError> {
        let left = self.numbers_of(place, line, "pred_texts")?;
        let right = self.numbers_of(place, line, "gold_texts")?;
        let rows = place.array(line, "sim")?;
        if rows.len() != left.len() {
            let problem = format!("must hold {} rows, one for each of pred_texts; holds {}", left.len(), rows.len());
            return Err(place.error("sim", problem));
        }
        for (at, (row, a)) in rows.iter().zip(&left).enumerate() {
            let values = row.as_array().filter(|values| values.len() == right.len()).ok_or_else(|| {
                place.error(
                    &format!("sim[{at}]"),
                    format!("must be an array of {} numbers, one for each of gold_texts", right.len()),
                )
            })?;
            for (column, (value, b)) in values.iter().zip(&right).enumerate() {
                let field = || format!("sim[{at}][{column}]");
                let micro = value
                    .as_f64()
                    .and_then(to_micro)
                    .ok_or_else(|| place.error(&field(), format!("must be a number between -1 and 1, is {value}")))?;
                if a != b && self.micro.insert((*a.min(b), *a.max(b)), micro).is_some_and(|earlier| earlier != micro) {
                    let problem = "differs from what an earlier line says of the same two texts; do not mix encoders";
                    return Err(place.error(&field(), problem));
                }
            }
        }
        Ok(())
    }

    fn numbers_of(&mut self, place: &SourceLocation<'_>, line: &Value, field: &str) -> Result<Vec<u32>, DataError> {
        let mut numbers = Vec::new();
        for (at, value) in place.array(line, field)?.iter().enumerate() {
            let text = place.text_at(Some(value), &format!("{field}[{at}]"))?;
            numbers.push(self.number(text));
        }
        Ok(numbers)
    }

    fn add_embedding(&mut self, place: &SourceLocation<'_>, line: &Value) -> Result<(), DataError> {
        let text = place.text(line, "text")?;
        let mut vector = Vec::new();
        for (at, value) in place.array(line, "embedding")?.iter().enumerate() {
            let number = value.as_f64().ok_or_else(|| {
                place.error(&format!("embedding[{at}]"), format!("must be a number, is {}", kind_of(value)))
            })?;
            vector.push(number);
        }
        if vector.iter().all(|number| *number == 0.0) {
            return Err(place.error("embedding", "has no direction: it is empty or all zeros"));
        }
        if let Some(other) = self.embeddings.values().next()
            && other.len() != vector.len()
        {
            let problem = format!("has {} numbers, earlier ones {}; do not mix encoders", vector.len(), other.len());
            return Err(place.error("embedding", problem));
        }
        let vector = vector.into_boxed_slice();
        match self.embeddings.insert(text.into(), vector.clone()) {
            Some(earlier) if earlier != vector => {
                Err(place.error("embedding", "differs from an earlier line's of the same text; do not mix encoders"))
            }
            _ => Ok(()),
        }
    }
}

impl Verdicts for RecordedVerdicts {
    fn answer(&self, question: &Question) -> Option<Verdict> {
        if let Some(given) = self.given(question) {
            return Some(given.clone());
        }
        match question {
            Question::Similarity { left, right } => {
                let row = |a: &String| right.iter().map(|b| self.similarity(a, b)).collect::<Option<Vec<_>>>();
                Some(Verdict::Similarity { micro: left.iter().map(row).collect::<Option<_>>()? })
            }
            Question::Judgement { kind, about, accept, replies_max, .. } => {
                let arguments = self.arguments.answer(kind, about);
                arguments.or_else(|| self.judgements.answer(kind, about, accept, *replies_max))
            }
        }
    }
}
