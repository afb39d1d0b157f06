//! Golden tests with the formats that providers document and made-up values.

mod answers;
mod failures;
mod requests;
mod streams;

use super::OpenAi;

/// The format for an address without a dialect of its own.
fn plain() -> OpenAi {
    OpenAi::new("http://localhost:8000/v1")
}
