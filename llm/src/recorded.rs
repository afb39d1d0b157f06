//! Verdicts recorded in a file: similarities of text pairs, vectors of texts, or judgements in words, one JSON object a line.

mod judgements;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use regatta_proto::{AskedQuestion, Digest, ErrorClass, Question, Verdict, plain_message};
use serde::Deserialize;

use crate::acceptance::Expressions;
use crate::answer::{Answers, Trouble};
use crate::embedding::{Embedding, ONE, to_micro};
use judgements::Judgements;

/// Most memory that recorded verdicts take, in bytes. Small numbers take many times their length in a file: a limit of that alone would let
/// one file of a stranger end the process.
pub const VERDICTS_KEPT_MAX: u64 = 256 << 20;
/// Longest line, in bytes: its numbers are in memory at once before they are kept.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Memory of an entry of `similarities` in a map that has just grown, in bytes.
const SIMILARITY_BYTES: usize = 2 * (size_of::<((u32, u32), Recorded)>() + 1);
/// Memory that a text takes besides its bytes: itself, its block of the heap, and an entry of a map.
const TEXT_BYTES: usize = 96;

/// Recorded verdicts. Similarities are symmetric; a text equals itself without a record.
#[derive(Debug, Clone)]
pub struct RecordedVerdicts {
    texts: HashMap<String, u32>,
    similarities: HashMap<(u32, u32), Recorded>,
    vectors: HashMap<u32, (Embedding<f64>, usize)>,
    judgements: Judgements,
    expressions: Arc<Expressions>,
    digest: Digest,
    /// Memory that all of this takes, in bytes, as [`Self::keep`] estimates it.
    kept_bytes: u64,
}

/// A similarity with the number of its line.
#[derive(Debug, Clone, Copy)]
struct Recorded {
    micro: i32,
    line: usize,
}

/// A file of verdicts that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read verdicts of {file}, line {line}: {problem}")]
pub struct RecordedError {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The reason, as a clause.
    pub problem: String,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    embedding: Option<Vec<f64>>,
    #[serde(borrow)]
    pred_texts: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    gold_texts: Option<Vec<Cow<'a, str>>>,
    sim: Option<Vec<Vec<f64>>>,
    kind: Option<String>,
    item: Option<String>,
    api: Option<String>,
    parameter: Option<String>,
    input_a: Option<String>,
    input_b: Option<String>,
    responses: Option<Vec<String>>,
}

impl RecordedVerdicts {
    /// Reads the lines of `bytes`. Each is `{"item", "pred_texts", "gold_texts", "sim"}`, where `sim[a][b]` is the similarity of
    /// `pred_texts[a]` and `gold_texts[b]`, or `{"text", "embedding"}`, or a judgement: `{"kind", "responses"}` with the replies in the
    /// order of the judge's tries and the subject, either as `item` or as `api`, `parameter`, `input_a` and `input_b`. Other fields and
    /// empty lines are skipped.
    ///
    /// # Errors
    /// Names `file` and the first line that has none of these forms, a similarity outside −1..=1, or a value that differs from that of an
    /// earlier line for the same pair, text or judgement; or that is longer than 16 MiB, or with which the verdicts take more memory than
    /// [`VERDICTS_KEPT_MAX`].
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self, RecordedError> {
        let mut verdicts = Self {
            texts: HashMap::new(),
            similarities: HashMap::new(),
            vectors: HashMap::new(),
            judgements: Judgements::default(),
            expressions: Arc::new(Expressions::new()),
            digest: Digest::of(bytes),
            kept_bytes: 0,
        };
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if !line.trim_ascii().is_empty() {
                let enter = verdicts.enter(line, index + 1);
                enter.map_err(|problem| RecordedError { file: file.to_owned(), line: index + 1, problem })?;
            }
        }
        Ok(verdicts)
    }

    /// Memory that the verdicts take, in bytes; at most [`VERDICTS_KEPT_MAX`].
    #[must_use]
    pub const fn kept_bytes(&self) -> u64 {
        self.kept_bytes
    }

    /// The recorded verdict on `question`.
    ///
    /// # Errors
    /// A sentence that names the first pair of texts, or the judgement, without a record.
    pub fn verdict(&self, question: &Question) -> Result<Verdict, String> {
        let (left, right) = match question {
            Question::Similarity { left, right } => (left, right),
            Question::Judgement { kind, about, accept, replies_max, .. } => {
                let accept = self.expressions.acceptance(accept)?;
                return self.judgements.verdict(kind, about, &accept, *replies_max);
            }
        };
        let row = |a: &String| right.iter().map(|b| self.similarity(a, b)).collect::<Result<Vec<_>, _>>();
        Ok(Verdict::Similarity { micro: left.iter().map(row).collect::<Result<_, _>>()? })
    }

    /// Answers `questions`; reports name `file` as the source.
    pub(crate) fn answer(&self, questions: &[AskedQuestion], file: &str) -> Answers {
        let name = file.rsplit('/').next().unwrap_or(file);
        let served = format!("verdicts recorded in {name} ({})", self.digest.short());
        let mut answers = Answers { served, ..Answers::default() };
        for asked in questions {
            let verdict = self.verdict(&asked.question);
            answers.enter(asked, verdict.map_err(|reason| Trouble { class: ErrorClass::NotFound, reason }));
        }
        answers
    }

    fn similarity(&self, a: &str, b: &str) -> Result<i32, String> {
        if a == b {
            return Ok(ONE);
        }
        let missing = || format!("no similarity of {a:?} and {b:?} is recorded");
        let (x, y) = (*self.texts.get(a).ok_or_else(missing)?, *self.texts.get(b).ok_or_else(missing)?);
        if let Some(recorded) = self.similarities.get(&ordered(x, y)) {
            return Ok(recorded.micro);
        }
        let (Some((x, _)), Some((y, _))) = (self.vectors.get(&x), self.vectors.get(&y)) else {
            return Err(missing());
        };
        x.cosine_micro(y).ok_or_else(|| format!("the vectors of {a:?} and {b:?} differ in length"))
    }

    /// Counts `bytes` that are kept.
    fn keep(&mut self, bytes: usize) -> Result<(), String> {
        self.kept_bytes += bytes as u64;
        if self.kept_bytes <= VERDICTS_KEPT_MAX {
            return Ok(());
        }
        Err(format!(
            "the verdicts up to here take more than {VERDICTS_KEPT_MAX} bytes of memory; leave out what no session needs"
        ))
    }

    fn enter(&mut self, line: &[u8], number: usize) -> Result<(), String> {
        if line.len() > LINE_BYTES_MAX {
            return Err(format!("has {} bytes, at most {LINE_BYTES_MAX} are read; split the line", line.len()));
        }
        match serde_json::from_slice(line).map_err(|error| not_a_verdict(&error))? {
            Line { text: Some(text), embedding: Some(values), .. } => self.enter_vector(text, values, number),
            Line { pred_texts: Some(rows), gold_texts: Some(columns), sim: Some(sim), .. } => {
                self.enter_matrix(rows, columns, &sim, number)
            }
            Line { kind: Some(kind), responses: Some(replies), item, api, parameter, input_a, input_b, .. } => {
                let about = match (item, api, parameter, input_a, input_b) {
                    (Some(item), ..) => vec![item],
                    (None, Some(api), Some(parameter), Some(a), Some(b)) => vec![api, parameter, a, b],
                    _ => {
                        return Err(
                            "a judgement is about an `item`, or an `api`, a `parameter`, `input_a` and `input_b`"
                                .to_owned(),
                        );
                    }
                };
                let texts = about.iter().chain(&replies).map(|text| text.len() + TEXT_BYTES);
                self.keep(kind.len() + TEXT_BYTES + texts.sum::<usize>())?;
                self.judgements.enter(kind, about, replies, number)
            }
            _ => Err(
                "a line holds either `text` and `embedding`, or `pred_texts`, `gold_texts` and `sim`, or `kind` and \
                      `responses`"
                    .to_owned(),
            ),
        }
    }

    fn enter_vector(&mut self, text: Cow<'_, str>, values: Vec<f64>, number: usize) -> Result<(), String> {
        let vector_bytes = size_of_val(values.as_slice()) + TEXT_BYTES;
        let vector = Embedding::new(values).ok_or("`embedding` has no direction: it is empty, zero or not finite")?;
        let id = self.id(text)?;
        self.keep(vector_bytes)?;
        match self.vectors.get(&id) {
            Some((earlier, line)) if *earlier != vector => {
                Err(format!("line {line} holds another vector of this text"))
            }
            _ => {
                self.vectors.insert(id, (vector, number));
                Ok(())
            }
        }
    }

    fn enter_matrix(
        &mut self,
        rows: Vec<Cow<'_, str>>,
        columns: Vec<Cow<'_, str>>,
        sim: &[Vec<f64>],
        number: usize,
    ) -> Result<(), String> {
        if sim.len() != rows.len() || sim.iter().any(|row| row.len() != columns.len()) {
            return Err(format!("`sim` must have {} rows of {} numbers", rows.len(), columns.len()));
        }
        let rows: Vec<u32> = rows.into_iter().map(|text| self.id(text)).collect::<Result<_, _>>()?;
        let columns: Vec<u32> = columns.into_iter().map(|text| self.id(text)).collect::<Result<_, _>>()?;
        for (a, row) in rows.iter().zip(sim) {
            for (b, value) in columns.iter().zip(row) {
                if !(-1.0..=1.0).contains(value) {
                    return Err(format!("{value} in `sim` is not between -1 and 1"));
                }
                let micro = to_micro(*value);
                match self.similarities.insert(ordered(*a, *b), Recorded { micro, line: number }) {
                    Some(earlier) if earlier.micro != micro => {
                        return Err(format!("line {} gives one of these pairs another similarity", earlier.line));
                    }
                    Some(_) => {}
                    None => self.keep(SIMILARITY_BYTES)?,
                }
            }
        }
        Ok(())
    }

    fn id(&mut self, text: Cow<'_, str>) -> Result<u32, String> {
        if let Some(id) = self.texts.get(&*text) {
            return Ok(*id);
        }
        self.keep(text.len() + TEXT_BYTES)?;
        let id = self.texts.len() as u32;
        self.texts.insert(text.into_owned(), id);
        Ok(id)
    }
}

/// The parser sees one line at a time, so its own line number is left out.
fn not_a_verdict(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let problem = text.split(" at line ").next().unwrap_or(&text);
    format!("not a verdict: {} (column {})", plain_message(problem), error.column())
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests;
