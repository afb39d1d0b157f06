//! Prices that a sweep is planned with.

use regatta_proto::{EndpointSpec, ModelSpec, Price, PriceSource};

/// Says what a model at an endpoint costs, and where that is known from. A price of the spec comes first.
pub type PriceBook = dyn Fn(&EndpointSpec, &ModelSpec) -> (Option<Price>, PriceSource) + Send + Sync;

/// Prices of one sweep.
#[derive(Clone, Copy)]
pub struct Pricing<'a> {
    book: &'a PriceBook,
    is_operators: bool,
}

impl<'a> Pricing<'a> {
    /// Prices of `book`, those of the spec first.
    #[must_use]
    pub fn of_specs(book: &'a PriceBook) -> Self {
        Self { book, is_operators: false }
    }

    /// Prices of `book` alone: for those who have a quota of money, which a price of their own would make as large as they like. A
    /// price of the spec counts for what the operator does not know and pays nothing for: an address of the spec's own that gets no key.
    #[must_use]
    pub fn of_operator(book: &'a PriceBook) -> Self {
        Self { book, is_operators: true }
    }

    /// The price of `model` at `endpoint`, and where it is known from.
    #[must_use]
    pub fn of(&self, endpoint: &EndpointSpec, model: &ModelSpec) -> (Option<Price>, PriceSource) {
        if !self.is_operators {
            return (self.book)(endpoint, model);
        }
        let known = (self.book)(endpoint, &ModelSpec { price: None, ..model.clone() });
        let is_their_own = endpoint.base_url.is_some()
            && endpoint.api_key_env.as_deref().is_none_or(|name| name == "none")
            && endpoint.headers_env.is_empty();
        if known.0.is_none() && is_their_own { (self.book)(endpoint, model) } else { known }
    }

    /// Advice about a model without a price, where the spec's field `key` would be its price.
    pub(crate) fn advice(&self, key: &str) -> String {
        if self.is_operators {
            return "whoever has a quota of money names no prices of models that the operator pays for: have the operator add it to the \
                    coordinator's price table (--prices)"
                .to_owned();
        }
        let for_it = if key == "price" { " for it" } else { "" };
        format!("write `{key}: {{input_per_mtok: …, output_per_mtok: …}}`{for_it}, or leave out budget_usd")
    }
}
