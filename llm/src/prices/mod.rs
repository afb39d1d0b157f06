//! Prices of models: from the spec, else from a table, else unknown.
//!
//! A table has prices by provider and by the day from which they hold ([`PriceTable`]). One ships with Regatta; others are files, written
//! by people or imported from what others publish ([`Import`]). `provider` determines the provider of an endpoint, `dated` the format of a
//! table's file, [`CrossCheck`] compares two sources, and [`PriceUpdate`] a table with a source.

mod crosscheck;
mod dated;
mod genai;
mod import;
mod litellm;
mod modelsdev;
mod provider;
mod reading;
mod sheet;
mod update;

use std::collections::BTreeMap;

use jiff::civil::Date;
use regatta_proto::{
    Digest, EndpointKind, EndpointSpec, ModelSpec, Price, PriceSource, did_you_mean, json_bytes, read_yaml,
};
use serde::{Deserialize, Serialize};

pub use self::crosscheck::{CrossCheck, Disagreement};
pub use self::dated::DatedPrice;
pub use self::import::{Import, ImportError, ImportProblem, ImportReport};
use self::provider::Provider;
pub use self::reading::Reading;
pub use self::update::{PriceChange, PriceUpdate};

const SHIPPED: &str = include_str!("../prices.yaml");
/// Largest file of prices that is read, in bytes; LiteLLM's has 3 MB.
pub const PRICE_FILE_BYTES_MAX: usize = 64 << 20;

/// List prices on a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The day.
    date: Date,
    /// Sources of the figures, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<String>,
    /// Prices by `provider/model`, or by the model's name alone if it costs the same at every provider.
    #[serde(with = "dated::by_model")]
    models: BTreeMap<String, Vec<DatedPrice>>,
    /// Where and when prices were read, the newest last. A model that is in none has a price that somebody wrote.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    readings: Vec<Reading>,
}

/// A price table that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PriceTableError {
    /// The file is not a price table.
    #[error("failed to read the price table: {0}")]
    Malformed(String),
    /// A figure is not a possible price.
    #[error("failed to read the price table: {field} of {model} must be non-negative dollars, below a million")]
    Insane {
        /// Name of the model.
        model: String,
        /// Path of the figure.
        field: String,
    },
    /// A model has no price, or two from the same day.
    #[error("failed to read the price table: {model} must have one price from each day that it lists")]
    Days {
        /// Name of the model.
        model: String,
    },
    /// The file is larger than any price table.
    #[error("failed to read the price table: it has more than {PRICE_FILE_BYTES_MAX} bytes")]
    TooLarge,
}

/// The price of a model in a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Listed<'a> {
    /// Name of the model in the table.
    pub name: &'a str,
    /// The price, with the day from which it holds.
    pub price: &'a DatedPrice,
}

impl PriceTable {
    /// A table of `models`, with the names that [`PriceTable::parse`] reads.
    ///
    /// # Errors
    /// When a figure is not a possible price, or a model does not have exactly one price from each day that it lists.
    pub fn new(
        date: Date,
        sources: Vec<String>,
        models: BTreeMap<String, Vec<DatedPrice>>,
    ) -> Result<Self, PriceTableError> {
        let mut table = Self { date, sources, models, readings: Vec::new() };
        for (model, prices) in &mut table.models {
            prices.sort_by_key(|price| price.from);
            if prices.is_empty() || prices.windows(2).any(|pair| pair[0].from == pair[1].from) {
                return Err(PriceTableError::Days { model: model.clone() });
            }
            if let Some(field) = prices.iter().find_map(|dated| dated.price.first_fault()) {
                return Err(PriceTableError::Insane { model: model.clone(), field });
            }
        }
        Ok(table)
    }

    /// Reads a table.
    ///
    /// # Errors
    /// When `yaml` is no table, or a figure not a possible price.
    pub fn parse(yaml: &str) -> Result<Self, PriceTableError> {
        if yaml.len() > PRICE_FILE_BYTES_MAX {
            return Err(PriceTableError::TooLarge);
        }
        let Self { date, sources, models, readings } = read_yaml(yaml).map_err(PriceTableError::Malformed)?;
        Ok(Self::new(date, sources, models)?.with_readings(readings))
    }

    /// This table, with the places and days at which its prices were read, the newest last.
    #[must_use]
    pub fn with_readings(self, readings: Vec<Reading>) -> Self {
        Self { readings, ..self }
    }

    /// The table that ships with Regatta.
    ///
    /// # Errors
    /// Never for a build that passed its tests.
    pub fn shipped() -> Result<Self, PriceTableError> {
        Self::parse(SHIPPED)
    }

    /// The table that ships with Regatta, as the beginning of a user's own: its prices count as read from it, so that an update replaces them.
    ///
    /// # Errors
    /// Never for a build that passed its tests.
    pub fn copy_of_shipped() -> Result<Self, PriceTableError> {
        Ok(update::read_from(Self::shipped()?, "Regatta", "the shipped table"))
    }

    /// The table as a file that [`PriceTable::parse`] reads.
    ///
    /// # Errors
    /// Never for a table that was read or built.
    pub fn to_yaml(&self) -> Result<String, serde_yaml_ng::Error> {
        serde_yaml_ng::to_string(self)
    }

    /// The day on which the figures hold.
    #[must_use]
    pub const fn date(&self) -> Date {
        self.date
    }

    /// Sources of the figures, for people.
    #[must_use]
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// Where and when prices were read, the newest last.
    #[must_use]
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The newest reading of the price of `model`, by its name in the table; `None` if somebody wrote it.
    #[must_use]
    pub fn reading(&self, model: &str) -> Option<&Reading> {
        self.readings.iter().rfind(|reading| reading.models.contains(model))
    }

    /// Every price by its name in the table, from the oldest to the newest.
    #[must_use]
    pub const fn models(&self) -> &BTreeMap<String, Vec<DatedPrice>> {
        &self.models
    }

    /// Digest of the prices, independent of the way in which they are written: the JSON, without spaces, of the models by name, each with
    /// its prices from the oldest to the newest. Date, sources and readings are not included.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&json_bytes(&self.models))
    }

    /// The price on the day `on` of `model` at `endpoint`, by the provider's name of the model.
    ///
    /// Tried in this order: `provider/model` (for Bedrock, `bedrock/REGION/model` first), then the model's name alone; then both for the
    /// name without the date of a snapshot (`-YYYY-MM-DD` or `-YYYYMMDD`). An unknown address counts as a gateway, which has no provider of
    /// its own: a name such as `anthropic/claude-opus-5-5` has the provider in it. Of several days, the newest that is not after `on`
    /// counts.
    #[must_use]
    pub fn lookup(&self, endpoint: &EndpointSpec, model: &str, on: Date) -> Option<Listed<'_>> {
        self.listed(Provider::of(endpoint), model, on)
    }

    fn listed(&self, provider: Provider<'_>, model: &str, on: Date) -> Option<Listed<'_>> {
        let name = provider
            .names(model)
            .into_iter()
            .chain(without_snapshot_date(model).into_iter().flat_map(|model| provider.names(model)))
            .find_map(|name| self.models.get_key_value(&name))?;
        let price = name.1.iter().rfind(|price| price.from.is_none_or(|from| from <= on))?;
        Some(Listed { name: name.0, price })
    }

    /// The price on the day `on` for a `name` that a person gives: one of the table, or `provider/model`.
    #[must_use]
    pub fn find(&self, name: &str, on: Date) -> Option<Listed<'_>> {
        self.listed(Provider::UNKNOWN, name, on)
    }

    /// The end of a message about a `name` that has no price: the name in the table that may have been meant, or nothing.
    #[must_use]
    pub fn guess(&self, name: &str) -> String {
        // The table has most models without their provider.
        let alone = name.split_once('/').map_or(name, |(_, model)| model);
        did_you_mean(alone, self.models.keys().map(String::as_str))
    }

    /// The price of `model` at `endpoint` in a sweep of the day `on`, and its source. Encoders in this process and recorded verdicts cost
    /// nothing, which is recorded as a zero of this table.
    #[must_use]
    pub fn resolve(&self, endpoint: &EndpointSpec, model: &ModelSpec, on: Date) -> (Option<Price>, PriceSource) {
        if let Some(price) = &model.price {
            return (Some(price.clone()), PriceSource::Spec);
        }
        let price = match endpoint.kind {
            EndpointKind::Encoder | EndpointKind::Recorded => Some(Price::default()),
            _ => self.lookup(endpoint, &model.id.model, on).map(|listed| listed.price.price.clone()),
        };
        match price {
            Some(price) => (Some(price), self.source()),
            None => (None, PriceSource::Unknown),
        }
    }

    /// This table, as the source of a price.
    #[must_use]
    pub fn source(&self) -> PriceSource {
        PriceSource::Table { date: self.date.to_string(), digest: Some(self.digest()) }
    }
}

/// The name without the date of a snapshot; `None` if it has none.
fn without_snapshot_date(model: &str) -> Option<&str> {
    let before = |length: usize, format: &str| {
        let (name, suffix) = model.split_at_checked(model.len().checked_sub(length)?)?;
        let date = suffix.strip_prefix('-').filter(|date| date.len() + 1 == length && date.starts_with("20"))?;
        Date::strptime(format, date).ok().map(|_| name)
    };
    before("-YYYY-MM-DD".len(), "%Y-%m-%d").or_else(|| before("-YYYYMMDD".len(), "%Y%m%d"))
}

#[cfg(test)]
mod tests;
