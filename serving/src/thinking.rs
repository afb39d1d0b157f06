//! The amount of thinking, in OpenAI's and Anthropic's fields.

use regatta_proto::Thinking;

use crate::error::ApiError;
use crate::fields::{Fields, Reader};

/// Takes the effort in the field `name`.
pub(crate) fn effort(fields: &mut Fields<'_>, name: &str, reader: &Reader) -> Result<Option<Thinking>, ApiError> {
    if !reader.is_whole() {
        return Ok(None);
    }
    let Some(word) = fields.text(name)? else { return Ok(None) };
    match word.as_ref() {
        "none" | "minimal" => Ok(Some(Thinking::Off)),
        "low" => Ok(Some(Thinking::Low)),
        "medium" => Ok(Some(Thinking::Medium)),
        "high" => Ok(Some(Thinking::High)),
        other => Err(fields.refuse(name, &format!("is {other:?}; none, minimal, low, medium or high can be carried"))),
    }
}
