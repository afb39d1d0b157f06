//! Lists of models as providers write them; pure.
//!
//! Facts from the API references: OpenAI's "List models", which compatible servers have too (Together without the object around the list),
//! Azure's "Models - List", Anthropic's "List Models", Gemini's "models.list".

use std::collections::BTreeSet;

use regatta_proto::{EndpointKind, EndpointSpec};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::wire::anthropic::VERSION;
use crate::wire::openai::OpenAi;

/// Models of a page; what is on further pages is not asked for.
const PAGE: u32 = 1000;
/// Tag of a model that is named without one, at servers whose models have tags.
const USUAL_TAG: &str = ":latest";

/// Models that an endpoint lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelList {
    ids: BTreeSet<String>,
    /// There are no models beside these.
    is_whole: bool,
}

impl ModelList {
    /// `true` if the endpoint lists all of its models, and `model` is none of them: neither by this name, nor with another tag, nor as a
    /// variant (`NAME:VARIANT`) of one.
    #[must_use]
    pub fn lacks(&self, model: &str) -> bool {
        let model = without_prefix(model);
        let base = model.split_once(':').map_or(model, |(base, _)| base);
        let has = |name: &str| self.ids.contains(name);
        self.is_whole && !has(model) && !has(base) && !has(&format!("{model}{USUAL_TAG}"))
    }

    /// Names of the models.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }
}

/// Form of an endpoint's list of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    OpenAi,
    /// OpenAI's; it has the models that can be deployed, and calls name deployments.
    Azure,
    Anthropic,
    Gemini,
}

impl Form {
    /// The form of `kind`; `None` if it has no list that HTTP and a key suffice for, or is on this machine.
    pub(super) const fn of(kind: EndpointKind) -> Option<Self> {
        match kind {
            EndpointKind::Openai | EndpointKind::OpenaiResponses => Some(Self::OpenAi),
            EndpointKind::Azure => Some(Self::Azure),
            EndpointKind::Anthropic => Some(Self::Anthropic),
            EndpointKind::Gemini => Some(Self::Gemini),
            EndpointKind::Bedrock | EndpointKind::Simulated | EndpointKind::Encoder | EndpointKind::Recorded => None,
        }
    }

    /// The path after the address `base`.
    pub(super) fn path(self, base: &str, spec: &EndpointSpec) -> String {
        match self {
            Self::OpenAi => OpenAi::new(base).models_path(),
            Self::Azure => OpenAi::azure(base, spec).models_path(),
            Self::Anthropic => format!("/models?limit={PAGE}"),
            Self::Gemini => format!("/models?pageSize={PAGE}"),
        }
    }

    /// Headers of the request beside those of the spec.
    pub(super) fn headers(self) -> HeaderMap {
        match self {
            Self::Anthropic => HeaderMap::from_iter([VERSION]),
            Self::OpenAi | Self::Azure | Self::Gemini => HeaderMap::new(),
        }
    }

    /// The list in `body`; `None` if it is none.
    pub(super) fn read(self, body: &[u8]) -> Option<ModelList> {
        let document: Value = serde_json::from_slice(body).ok()?;
        let (list, id) = match self {
            Self::OpenAi | Self::Azure | Self::Anthropic => (document.get("data").unwrap_or(&document), "id"),
            Self::Gemini => (document.get("models")?, "name"),
        };
        let named = list.as_array()?.iter().filter_map(|entry| entry.get(id)?.as_str());
        let ids: BTreeSet<String> = named.map(|name| without_prefix(name).to_owned()).collect();
        let goes_on = document.get("has_more").and_then(Value::as_bool) == Some(true);
        let goes_on = goes_on || document.get("nextPageToken").is_some();
        // A gateway lists patterns of the names that it passes on; an empty list says nothing.
        let is_open = ids.is_empty() || ids.iter().any(|name| name.contains('*'));
        Some(ModelList { ids, is_whole: !goes_on && !is_open && self != Self::Azure })
    }
}

/// A model's name as calls have it: Gemini's list says `models/NAME`.
fn without_prefix(name: &str) -> &str {
    name.strip_prefix("models/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(form: Form, body: serde_json::Value) -> ModelList {
        form.read(body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn a_model_that_is_in_the_list_of_any_provider_is_not_lacking() {
        let entries = serde_json::json!([{ "id": "small" }, { "id": "org/large:free" }, { "id": "local:latest" }]);
        for list in [
            list(Form::OpenAi, serde_json::json!({ "object": "list", "data": entries })),
            list(Form::OpenAi, entries.clone()),
            list(Form::Anthropic, serde_json::json!({ "data": entries, "has_more": false })),
        ] {
            for known in ["small", "small:online", "org/large:free", "local"] {
                assert!(!list.lacks(known), "{known}");
            }
            assert!(list.lacks("smal") && list.lacks("org/large"), "{list:?}");
        }
        let gemini = list(Form::Gemini, serde_json::json!({ "models": [{ "name": "models/flash" }] }));
        assert!(!gemini.lacks("flash") && !gemini.lacks("models/flash") && gemini.lacks("pro"));
        assert_eq!(gemini.ids().collect::<Vec<_>>(), ["flash"]);
    }

    #[test]
    fn a_list_that_may_not_have_all_models_lacks_none() {
        let entries = serde_json::json!([{ "id": "small" }]);
        for list in [
            list(Form::Anthropic, serde_json::json!({ "data": entries, "has_more": true })),
            list(Form::Gemini, serde_json::json!({ "models": [{ "name": "models/flash" }], "nextPageToken": "x" })),
            list(Form::Azure, serde_json::json!({ "data": entries })),
            list(Form::OpenAi, serde_json::json!({ "data": [] })),
            list(Form::OpenAi, serde_json::json!({ "data": [{ "id": "openai/*" }] })),
        ] {
            assert!(!list.lacks("large"), "{list:?}");
        }
    }

    #[test]
    fn what_is_no_list_is_not_read_as_one() {
        for body in ["", "no", "{}", "{\"choices\": []}", "{\"data\": 3}"] {
            assert_eq!(Form::OpenAi.read(body.as_bytes()), None, "{body}");
        }
        assert_eq!(Form::Gemini.read(b"{\"data\": []}"), None);
    }

    #[test]
    fn deployments_are_asked_for_with_the_version_of_the_spec() {
        let mut spec = EndpointSpec::of_kind(EndpointKind::Azure);
        spec.api_version = Some("2025-01-01".to_owned());
        let path = |base: &str| Form::Azure.path(base, &spec);
        assert_eq!(path("https://own.example.com"), "/openai/models?api-version=2025-01-01");
        assert_eq!(path("https://own.example.com/openai/v1"), "/models");
    }
}
