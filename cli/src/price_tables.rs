//! The price table that commands and the coordinator use: a file of the user's, or the shipped one.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use regatta_coordinator::PriceBook;
use regatta_llm::{PRICE_FILE_BYTES_MAX, PriceTable};
use regatta_proto::{Clock, ModelRef, SystemClock, implied_endpoints};

use crate::exit::bad_configuration;

/// Advice on a model that a table has no price of.
pub(crate) const GIVEN: &str = "(a price of your own is `price: { input_per_mtok: …, output_per_mtok: … }` of the model in the spec, or in a table with \
     --prices FILE)";

/// The price table in the file `prices`, or the shipped one, as the coordinator asks it: prices of the day on which a sweep is planned.
pub(crate) fn price_book(prices: Option<&Path>) -> anyhow::Result<Arc<PriceBook>> {
    let table = price_table(prices)?;
    Ok(Arc::new(move |endpoint, model| table.resolve(endpoint, model, today())))
}

/// The price table in the file `prices`, or the shipped one.
pub(crate) fn price_table(prices: Option<&Path>) -> anyhow::Result<PriceTable> {
    match prices {
        Some(path) => read_table(path).with_context(|| path.display().to_string()).map_err(bad_configuration),
        None => Ok(PriceTable::shipped()?),
    }
}

/// A note on a `model` of a provider that `table` has no price of, if another one may have been meant.
pub(crate) fn misspelt(table: &PriceTable, model: &ModelRef) -> Option<String> {
    let name = model.to_string();
    let is_of_provider = implied_endpoints().any(|endpoint| endpoint == model.endpoint.as_str());
    if !is_of_provider || table.find(&name, today()).is_some() || table.models().contains_key(&model.model) {
        return None;
    }
    let meant = table.guess(&name);
    (!meant.is_empty()).then(|| format!("the table of prices has no {name}{meant} {GIVEN}"))
}

fn read_table(path: &Path) -> anyhow::Result<PriceTable> {
    let text = String::from_utf8(read_bounded(path)?).context("failed to read it as text")?;
    Ok(PriceTable::parse(&text)?)
}

/// A file of prices, which no list of prices is larger than.
pub(crate) fn read_bounded(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = PRICE_FILE_BYTES_MAX as u64 + 1;
    std::fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).context("failed to read it")?;
    Ok(bytes)
}

/// The day, UTC.
pub(crate) fn today() -> jiff::civil::Date {
    SystemClock.now().to_zoned(jiff::tz::TimeZone::UTC).date()
}
