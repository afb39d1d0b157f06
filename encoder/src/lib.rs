//! Sentence encoders in-process: MiniLM and MPNet from a local sentence-transformers directory.
//!
//! [`SentenceEncoder::open`] reads a directory, [`SentenceEncoder::encode`] turns one text into one unit vector, and
//! [`cosine_micro`] compares two of them. Nothing is ever downloaded. One text is one forward pass without padding, so
//! its vector never depends on its neighbours. The arithmetic is candle's: its larger operations are spread over rayon's
//! global thread pool, and where callers already keep all cores busy, `RAYON_NUM_THREADS=1` turns that off.
//!
//! A new architecture is a module beside `bert` and `mpnet`, with the names of its weights, its position ids, and its other peculiarities;
//! the layers that architectures share are in `transformer`.

mod bert;
mod config;
mod embeddings;
mod encoder;
mod error;
mod files;
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
