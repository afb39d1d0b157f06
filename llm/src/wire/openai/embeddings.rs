//! The embeddings request and its answer.

use bytes::Bytes;
use regatta_proto::{Served, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::embedding::Embedding;
use crate::errors::Failure;
use crate::transport::Answer;
use crate::wire::provenance::{Told, served};
use crate::wire::{ReadContext, trouble};

use super::loose::Text;
use super::usage;

/// Vectors of a batch, in the order of its texts.
#[derive(Debug)]
pub(crate) struct Embedded {
    pub(crate) vectors: Vec<Embedding<f32>>,
    pub(crate) usage: Usage,
    /// `true` if the tokens of the input, which is the only count, were reported.
    pub(crate) usage_is_known: bool,
    pub(crate) served: Served,
}

/// Writes the request for `texts`.
///
/// # Errors
/// Never, because a text can always be written as JSON.
pub(crate) fn body(model: &str, texts: &[&str]) -> Result<Bytes, serde_json::Error> {
    #[derive(Serialize)]
    struct Body<'a> {
        model: &'a str,
        input: &'a [&'a str],
        encoding_format: &'a str,
    }
    Ok(serde_json::to_vec(&Body { model, input: texts, encoding_format: "float" })?.into())
}

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    data: Vec<Row>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Row {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Reads the vectors of `count` texts.
///
/// # Errors
/// A classified failure, if the vectors are not usable: a vector that is missing, given twice, zero, or of another length than the others
/// is a bad response.
pub(crate) fn read(answer: &Answer, count: usize, context: &ReadContext<'_>) -> Result<Embedded, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(trouble::of_status(answer, usage::BILL, context));
    }
    let bad = |problem: &str| trouble::of_success(answer, problem, usage::BILL, context);
    let body: Body<'_> =
        serde_json::from_slice(&answer.body).map_err(|error| bad(&format!("not a list of embeddings: {error}")))?;
    if body.data.len() != count {
        return Err(bad(&format!("{} embeddings for {count} texts", body.data.len())));
    }
    let mut vectors: Vec<Option<Embedding<f32>>> = (0..count).map(|_| None).collect();
    let dimensions = body.data.first().map_or(0, |row| row.embedding.len());
    for (position, row) in body.data.into_iter().enumerate() {
        let index = row.index.unwrap_or(position);
        let Some(place @ None) = vectors.get_mut(index) else {
            return Err(bad(&format!("embedding {index} is given twice or was not asked for")));
        };
        let vector = Embedding::new(row.embedding).filter(|vector| vector.dimensions() == dimensions);
        let Some(vector) = vector else {
            return Err(bad(&format!("embedding {index} has no direction or another length than the first")));
        };
        *place = Some(vector);
    }
    let (read, is_possible) = body.usage.as_ref().map(usage::counted).unwrap_or_default();
    Ok(Embedded {
        vectors: vectors.into_iter().flatten().collect(),
        usage: read,
        usage_is_known: is_possible && read.input > 0,
        served: served(&answer.headers, Told { model: body.model.some(), ..Told::default() }, context.secret),
    })
}
