//! Predictions of other systems as transcripts (docs/benchmarks/orchestrationbench.md §11).

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{ItemIndex, Transcript};

use super::case::read_predictions;
use super::data::Data;
use super::items::{Items, Place};

/// Converts predictions of one run to transcripts, one for each step; a failed call becomes an empty one.
///
/// # Errors
/// With line and field, if a line cannot be parsed, belongs to another run than the first line, or names a step at
/// which no model is asked.
pub(crate) fn transcripts(
    data: &Data,
    items: &Items,
    file: &str,
    content: &[u8],
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    const ORIGIN: &str = "predictions";
    let spot = SourceLocation::file(ORIGIN, file);
    let predictions = read_predictions(data, ORIGIN, file, content)?;
    let first_run = predictions.first().map(|prediction| prediction.run);
    let mut transcripts = Vec::with_capacity(predictions.len());
    for prediction in &predictions {
        let spot = spot.line(prediction.line);
        if Some(prediction.run) != first_run {
            let problem = format!(
                "{} is of another run than the first line; score the runs one by one, or all of them as a case",
                prediction.item
            );
            return Err(spot.error("item", problem));
        }
        let position = data.scenarios.iter().position(|scenario| scenario.name() == prediction.scenario.name());
        let item = position.and_then(|position| items.position(Place::Step(position, prediction.step)));
        let item = item.ok_or_else(|| {
            let problem = format!("{}: there is no agent that could be asked at this step", prediction.item);
            spot.error("item", problem)
        })?;
        transcripts.push((item, prediction.transcript()));
    }
    Ok(transcripts)
}
