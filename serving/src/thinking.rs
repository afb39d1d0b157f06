//! The amount of thinking, in OpenAI's and Anthropic's fields.

use regatta_proto::Thinking;

use crate::error::ApiError;
use crate::fields::Fields;
use crate::reader::Reader;

/// Takes the effort in the field `name`. One that has no name of ours goes to the endpoint as it is.
pub(crate) fn effort(fields: &mut Fields<'_>, name: &str, reader: &mut Reader) -> Result<Option<Thinking>, ApiError> {
    if !reader.is_whole() {
        return Ok(None);
    }
    let Some(word) = fields.text(name)? else { return Ok(None) };
    match word.as_ref() {
        "none" | "minimal" => Ok(Some(Thinking::Off)),
        "low" => Ok(Some(Thinking::Low)),
        "medium" => Ok(Some(Thinking::Medium)),
        "high" => Ok(Some(Thinking::High)),
        // Newer efforts, which not every model has.
        _ => {
            reader.pass_on(&fields.path_of(name));
            Ok(None)
        }
    }
}
