//! Templates filled from records, with errors that name both: the line of the template and the line of the data.

use minijinja::Value;
use regatta_benchmarks::DataError;

use crate::data::Record;
use crate::definition::Source;
use crate::template::Template;

/// The text that the template at `path` makes of `variables`, which come from `record` of the file `data`.
///
/// # Errors
/// When a variable is not there, or there is no text for another reason.
pub(crate) fn render(
    source: &Source,
    path: &str,
    template: &Template,
    data: &str,
    record: &Record,
    variables: Value,
) -> Result<String, DataError> {
    let (text, steps) = template.render(&variables).map_err(|error| {
        let columns: Vec<&str> = record.fields.keys().map(String::as_str).collect();
        let problem = format!(
            "{}; filled from {data} line {}, whose columns are {}",
            error.problem,
            record.line,
            columns.join(", ")
        );
        source.problem_below(path, error.line, problem)
    })?;
    source.take_steps(path, steps)?;
    Ok(text)
}
