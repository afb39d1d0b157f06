//! Predictions of other systems as transcripts (docs/benchmarks/orchestrationbench.md §11).

use regatta_benchmarks::source_location::SourceLocation;
use regatta_benchmarks::{BadLine, BadLines, DataError};
use regatta_proto::{ItemIndex, Transcript};

use super::case::{Prediction, read_good};
use super::data::Data;
use super::items::{Items, Place};

/// Converts predictions of one run to transcripts, one for each step; a failed call becomes an empty one.
///
/// # Errors
/// With line and field of all lines that cannot be parsed, belong to another run than the first line, or name a step at
/// which no model is asked.
pub(crate) fn transcripts(
    data: &Data,
    items: &Items,
    file: &str,
    content: &[u8],
) -> Result<Vec<(ItemIndex, Transcript)>, DataError> {
    const ORIGIN: &str = "predictions";
    let file = SourceLocation::file(ORIGIN, file);
    let mut bad = BadLines::default();
    let predictions = read_good(data, &file, content, &mut bad);
    let first_run = predictions.first().map(|prediction| prediction.run);
    let transcript = |prediction: &Prediction| -> Result<(ItemIndex, Transcript), BadLine> {
        let spot = file.line(prediction.line);
        if Some(prediction.run) != first_run {
            let problem = format!(
                "{} is of another run than the first line; score the runs one by one, or all of them as a case",
                prediction.item
            );
            return Err(spot.error("item", problem).into());
        }
        let position = data.scenarios.iter().position(|scenario| scenario.name() == prediction.scenario.name());
        let item = position.and_then(|position| items.position(Place::Step(position, prediction.step)));
        let item = item.ok_or_else(|| {
            let problem = format!("{}: there is no agent that could be asked at this step", prediction.item);
            BadLine::Unknown(spot.error("item", problem))
        })?;
        Ok((item, prediction.transcript()))
    };
    let transcripts = predictions.iter().filter_map(|prediction| bad.keep(transcript(prediction))).collect();
    bad.refuse(&file)?;
    Ok(transcripts)
}
