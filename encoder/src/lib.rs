//! Sentence encoders in-process: MiniLM and MPNet from a local sentence-transformers directory.
//!
//! [`SentenceEncoder::open`] reads a directory, [`SentenceEncoder::encode`] turns one text into one unit vector, and
//! [`cosine_micro`] compares two of them. Nothing is ever downloaded. One text is one forward pass without padding, so
//! its vector never depends on its neighbours; and a pass runs on the calling thread alone, so callers decide how many
//! cores are used.
//!
//! A new architecture is a module beside `bert` and `mpnet`: the names of its weights, its position ids, and what else
//! is its own; the layers they share are in `transformer`.

mod bert;
mod config;
mod embeddings;
mod encoder;
mod error;
mod files;
mod kernels;
mod model;
mod mpnet;
mod name;
mod sentence;
mod similarity;
mod tokens;
mod transformer;
mod weights;

pub use encoder::SentenceEncoder;
pub use error::EncoderError;
pub use similarity::cosine_micro;
