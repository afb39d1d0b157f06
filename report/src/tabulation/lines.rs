//! One JSON document a line.

use serde::Serialize;

use super::TabulationError;

/// Appends `line` of the file `file` to `out`.
pub(crate) fn push_line(out: &mut Vec<u8>, file: &'static str, line: &impl Serialize) -> Result<(), TabulationError> {
    serde_json::to_writer(&mut *out, line).map_err(|source| TabulationError::Json { file, source })?;
    out.push(b'\n');
    Ok(())
}

/// A whole document, for people to read.
pub(crate) fn document(file: &'static str, content: &impl Serialize) -> Result<Vec<u8>, TabulationError> {
    let mut out = serde_json::to_vec_pretty(content).map_err(|source| TabulationError::Json { file, source })?;
    out.push(b'\n');
    Ok(out)
}
