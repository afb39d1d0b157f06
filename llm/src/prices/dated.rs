//! A price with the day from which it holds, in files: one price, or a list of prices with days.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use regatta_proto::Price;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The price of a model from some day on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatedPrice {
    /// The first day, in UTC; without it, the price has no beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The price from that day on.
    pub price: Price,
}

/// Prices by model: `MODEL: PRICE`, or `MODEL: [{price: PRICE}, {from: DAY, price: PRICE}]`. A model that is listed twice is an error,
/// because one of the two would silently win.
pub(super) mod by_model {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        models: &BTreeMap<String, Vec<DatedPrice>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(models.iter().map(|(model, prices)| (model, OneOrMany(prices))))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Vec<DatedPrice>>, D::Error> {
        deserializer.deserialize_map(Models)
    }

    struct OneOrMany<'a>(&'a [DatedPrice]);

    impl Serialize for OneOrMany<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                [DatedPrice { from: None, price }] => price.serialize(serializer),
                many => many.serialize(serializer),
            }
        }
    }

    struct Models;

    impl<'de> Visitor<'de> for Models {
        type Value = BTreeMap<String, Vec<DatedPrice>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("prices by model")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut models = BTreeMap::new();
            while let Some(model) = map.next_key::<String>()? {
                let Prices(prices) = map.next_value()?;
                if models.insert(model.clone(), prices).is_some() {
                    return Err(A::Error::custom(format!("{model} is listed twice")));
                }
            }
            Ok(models)
        }
    }

    struct Prices(Vec<DatedPrice>);

    // Written by hand, because an untagged enum would lose the line of an error inside it.
    impl<'de> Deserialize<'de> for Prices {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(PricesVisitor)
        }
    }

    struct PricesVisitor;

    impl<'de> Visitor<'de> for PricesVisitor {
        type Value = Prices;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a price, or a list of prices with the days they hold from")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Prices, A::Error> {
            let price = Price::deserialize(MapAccessDeserializer::new(map))?;
            Ok(Prices(vec![DatedPrice { from: None, price }]))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Prices, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Prices)
        }
    }
}
