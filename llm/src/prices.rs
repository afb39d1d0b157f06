//! What a model costs: the spec's price, else the shipped table's, else unknown.

use std::collections::BTreeMap;

use regatta_proto::{EndpointKind, ModelSpec, Price, PriceSource};
use serde::Deserialize;

const SHIPPED: &str = include_str!("prices.yaml");
/// Length of `-YYYY-MM-DD`.
const SNAPSHOT_SUFFIX: usize = 11;

/// List prices of a day.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// The day, `YYYY-MM-DD`.
    pub date: String,
    /// Prices by the provider's own model name.
    pub models: BTreeMap<String, Price>,
}

/// A price table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PriceTableError {
    /// Not a price table.
    #[error("failed to read the price table: {0}")]
    Malformed(#[from] serde_yaml_ng::Error),
    /// A figure that is no price.
    #[error("failed to read the price table: prices of {model} must be non-negative dollars per million tokens")]
    Insane {
        /// Whose.
        model: String,
    },
}

impl PriceTable {
    /// Reads a table.
    ///
    /// # Errors
    /// When `yaml` is no table or a figure no price.
    pub fn parse(yaml: &str) -> Result<Self, PriceTableError> {
        let table: Self = serde_yaml_ng::from_str(yaml)?;
        match table.models.iter().find(|(_, price)| !price.is_sane()) {
            Some((model, _)) => Err(PriceTableError::Insane { model: model.clone() }),
            None => Ok(table),
        }
    }

    /// The table that ships with Regatta.
    ///
    /// # Errors
    /// Never, for a build that passed its tests.
    pub fn shipped() -> Result<Self, PriceTableError> {
        Self::parse(SHIPPED)
    }

    /// The list price of `model`, by its name with or without the date of a snapshot.
    #[must_use]
    pub fn lookup(&self, model: &str) -> Option<&Price> {
        self.models.get(model).or_else(|| self.models.get(without_snapshot_date(model)?))
    }

    /// The price that `model` is charged at an endpoint of `kind`, and where it came from. Simulated models have no price of their own;
    /// an encoder in this process and recorded verdicts cost nothing, which is said as the zero of this table.
    #[must_use]
    pub fn resolve(&self, kind: EndpointKind, model: &ModelSpec) -> (Option<Price>, PriceSource) {
        if let Some(price) = &model.price {
            return (Some(price.clone()), PriceSource::Spec);
        }
        let price = match kind {
            EndpointKind::Simulated => None,
            EndpointKind::Encoder | EndpointKind::Recorded => {
                Some(Price::default())
            }
            _ => self.lookup(&model.id.model).cloned(),
        };
        match price {
            Some(price) => (Some(price), PriceSource::Table { date: self.date.clone(), digest: None }),
            None => (None, PriceSource::Unknown),
        }
    }
}

fn without_snapshot_date(model: &str) -> Option<&str> {
    let (name, suffix) = model.split_at_checked(model.len().checked_sub(SNAPSHOT_SUFFIX)?)?;
    let is_date = suffix
        .bytes()
        .enumerate()
        .all(|(at, byte)| if matches!(at, 0 | 5 | 8) { byte == b'-' } else { byte.is_ascii_digit() });
    is_date.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(kind: EndpointKind, model: &str) -> (Option<Price>, PriceSource) {
        let model = ModelSpec::from(format!("any/{model}").parse::<regatta_proto::ModelRef>().unwrap());
        PriceTable::shipped().unwrap().resolve(kind, &model)
    }

    #[test]
    fn the_shipped_table_is_sane_and_dated() {
        let table = PriceTable::shipped().unwrap();
        assert!(without_snapshot_date(&format!("-{}", table.date)).is_some());
        assert!(table.models.len() >= 12);
    }

    #[test]
    fn a_dated_snapshot_costs_what_its_model_costs_unless_listed() {
        let table = PriceTable::shipped().unwrap();
        assert_eq!(table.lookup("gpt-4o-2024-08-06"), table.lookup("gpt-4o"));
        assert_ne!(table.lookup("gpt-4o-2024-05-13"), table.lookup("gpt-4o"));
        assert_eq!(table.lookup("gpt-4o-audio-preview"), None);
        assert_eq!(table.lookup("gpt-4o-é024-08-06"), None);
    }

    #[test]
    fn the_specs_price_goes_first() {
        let mut model = ModelSpec::from("openai/gpt-4o".parse::<regatta_proto::ModelRef>().unwrap());
        let price = Price::per_mtok(1.0, 2.0);
        model.price = Some(price.clone());
        let (found, source) = PriceTable::shipped().unwrap().resolve(EndpointKind::Openai, &model);
        assert_eq!((found, source), (Some(price), PriceSource::Spec));
    }

    #[test]
    fn an_unknown_price_is_unknown_and_not_zero() {
        assert_eq!(resolve(EndpointKind::Openai, "my-own-model"), (None, PriceSource::Unknown));
        assert_eq!(resolve(EndpointKind::Simulated, "oracle"), (None, PriceSource::Unknown));
        assert_eq!(resolve(EndpointKind::Simulated, "gpt-4o"), (None, PriceSource::Unknown));
    }

    #[test]
    fn encoders_and_recorded_verdicts_cost_nothing() {
        for kind in [EndpointKind::Encoder, EndpointKind::Recorded] {
            let price = resolve(kind, "any").0.unwrap();
            let usage = regatta_proto::Usage { input: 1_000_000, cached_input: 7, output: 9, ..Default::default() };
            assert_eq!(price.cost(&usage, &Default::default()), regatta_proto::Money::ZERO);
        }
    }

    #[test]
    fn a_negative_price_is_refused_by_name() {
        let error = PriceTable::parse("date: 2026-01-01\nmodels: { m: { input_per_mtok: -1, output_per_mtok: 1 } }");
        assert_eq!(
            error.unwrap_err().to_string(),
            "failed to read the price table: prices of m must be non-negative dollars per million tokens"
        );
    }
}
