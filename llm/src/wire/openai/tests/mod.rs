//! Golden tests over shapes that providers document, with values of our own.

mod answers;
mod failures;
mod requests;
mod streams;

use super::OpenAi;

/// The format at an address that has no dialect of its own.
fn plain() -> OpenAi {
    OpenAi::new("http://localhost:8000/v1")
}
