//! OpenAI's embeddings: answers.

use bytes::Bytes;
use regatta_serving::Stamp;
use serde::{Deserialize, Serialize};

use crate::api_error::json_bytes;
use crate::base64;

/// Encoding of vectors.
#[derive(Debug, Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    /// A list of numbers.
    #[default]
    Float,
    /// Base64 of the little-endian bytes.
    Base64,
}

#[derive(Serialize)]
struct EmbeddingList<'a> {
    object: &'a str,
    data: Vec<Entry>,
    model: &'a str,
    usage: WireUsage,
}

#[derive(Serialize)]
struct Entry {
    object: &'static str,
    index: usize,
    embedding: Vector,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Vector {
    Numbers(Vec<f32>),
    Base64(String),
}

#[derive(Serialize)]
struct WireUsage {
    prompt_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

/// The whole answer.
pub(crate) fn list(
    model: &str,
    prompt_tokens: u64,
    vectors: impl Iterator<Item = Vec<f32>>,
    encoding: Encoding,
    stamp: &Stamp,
) -> Bytes {
    let entry = |(index, vector): (usize, Vec<f32>)| Entry {
        object: "embedding",
        index,
        embedding: Vector::new(vector, encoding),
    };
    json_bytes(&EmbeddingList {
        object: "list",
        data: vectors.enumerate().map(entry).collect(),
        model,
        usage: WireUsage { prompt_tokens, total_tokens: prompt_tokens, cost: stamp.cost },
    })
}

impl Vector {
    fn new(vector: Vec<f32>, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Float => Self::Numbers(vector),
            Encoding::Base64 => {
                Self::Base64(base64::encode(&vector.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()))
            }
        }
    }
}
