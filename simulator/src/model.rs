//! The models that a simulated endpoint serves.

use regatta_benchmarks::Persona;
use regatta_proto::{did_you_mean, nearest};
use serde::Serialize;

use crate::api_error::ApiError;

/// Name of the embedding model.
pub(crate) const LEXICAL: &str = "lexical";
/// Name of the chat model that answers from a script.
pub(crate) const SCRIPTED: &str = "scripted";
const ORACLE: &str = "oracle";
const NOISY_PREFIX: &str = "noisy-";

/// A chat model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ChatModel {
    /// The benchmark simulates the answer.
    Simulated(Persona),
    /// The script has the answer.
    Scripted,
}

impl ChatModel {
    /// The chat model with the name `name`.
    pub(crate) fn named(name: &str) -> Result<Self, ApiError> {
        match name {
            ORACLE => return Ok(Self::Simulated(Persona::Oracle)),
            SCRIPTED => return Ok(Self::Scripted),
            LEXICAL => {
                return Err(ApiError::unknown_model("the model `lexical` makes embeddings; post to /v1/embeddings"));
            }
            _ => {}
        }
        let Some(probability) = name.strip_prefix(NOISY_PREFIX) else {
            return Err(unknown(name));
        };
        match probability.parse::<f64>() {
            Ok(p) if (0.0..=1.0).contains(&p) => Ok(Self::Simulated(Persona::Noisy(p))),
            _ => Err(ApiError::unknown_model(format!(
                "the model `{name}` does not exist: the P of `noisy-P` is a probability from 0 to 1, as in `noisy-0.2`"
            ))),
        }
    }
}

/// Refuses every embedding model but `lexical`.
pub(crate) fn check_embedding_model(name: &str) -> Result<(), ApiError> {
    if name == LEXICAL {
        return Ok(());
    }
    match ChatModel::named(name) {
        Ok(_) => Err(ApiError::unknown_model(format!("the model `{name}` makes no embeddings; `lexical` does"))),
        Err(error) => Err(error),
    }
}

/// The refusal of a model that the simulated endpoints of a spec do not have, with the one that may have been meant; `None` for one that they have.
/// They have no script: such an endpoint is a server of its own.
#[must_use]
pub fn unknown_model(name: &str) -> Option<String> {
    if name == SCRIPTED {
        let problem = "the model `scripted` answers from a script, and a simulated endpoint of a spec has none; start `regatta simulate llm --script \
                       FILE`, and write kind: openai with its base_url and identify_sessions: true";
        return Some(problem.to_owned());
    }
    let refusal = ModelEntry::named(name, false, 0).err()?;
    Some(format!("{}{}", refusal.message, meant(name)))
}

fn meant(name: &str) -> String {
    let noisy = NOISY_PREFIX.trim_end_matches('-');
    match name.rsplit_once('-') {
        // What is wrong with it is its probability.
        Some((first, _)) if first == noisy => String::new(),
        Some((first, probability)) if nearest(first, [noisy]).is_some() => {
            let whole = format!("{NOISY_PREFIX}{probability}");
            if ChatModel::named(&whole).is_ok() { format!("; did you mean {whole:?}?") } else { String::new() }
        }
        Some(_) | None => did_you_mean(name, [ORACLE, LEXICAL]),
    }
}

fn unknown(name: &str) -> ApiError {
    let shown: String = name.chars().take(80).collect();
    ApiError::unknown_model(format!(
        "the model `{shown}` does not exist; a simulated endpoint has `oracle`, `noisy-P` (P from 0 to 1), `scripted` and, for \
         embeddings, `lexical`"
    ))
}

/// The answer to `GET /v1/models`, with some examples of the noisy models.
#[derive(Debug, Serialize)]
pub(crate) struct ModelList {
    object: &'static str,
    data: Vec<ModelEntry<'static>>,
    /// There are more noisy models than are listed.
    has_more: bool,
}

/// One model of the list.
#[derive(Debug, Serialize)]
pub(crate) struct ModelEntry<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    owned_by: &'static str,
}

impl<'a> ModelEntry<'a> {
    /// The model `name`, which need not be among those that are listed.
    ///
    /// # Errors
    /// 404, when there is no such model.
    pub(crate) fn named(name: &'a str, has_script: bool, created: i64) -> Result<Self, ApiError> {
        match name {
            LEXICAL => {}
            SCRIPTED if !has_script => return Err(unknown(name)),
            _ => {
                ChatModel::named(name)?;
            }
        }
        Ok(Self::new(name, created))
    }

    const fn new(id: &'a str, created: i64) -> Self {
        Self { id, object: "model", created, owned_by: "regatta-simulated" }
    }
}

impl ModelList {
    /// The list, with the `created` time of every answer.
    pub(crate) fn new(has_script: bool, created: i64) -> Self {
        let names = [ORACLE, "noisy-0.1", "noisy-0.2", "noisy-0.5"]
            .into_iter()
            .chain(has_script.then_some(SCRIPTED))
            .chain([LEXICAL]);
        Self { object: "list", data: names.map(|name| ModelEntry::new(name, created)).collect(), has_more: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_of_a_noisy_model_is_a_probability() {
        assert_eq!(ChatModel::named("noisy-0"), Ok(ChatModel::Simulated(Persona::Noisy(0.0))));
        assert_eq!(ChatModel::named("noisy-0.25"), Ok(ChatModel::Simulated(Persona::Noisy(0.25))));
        for name in ["noisy-", "noisy-1.01", "noisy--0.1", "noisy-NaN", "noisy-much", "noisy"] {
            assert!(ChatModel::named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_misspelt_model_is_told_with_the_one_that_may_have_been_meant() {
        for known in [ORACLE, "noisy-0.5", LEXICAL] {
            assert_eq!(unknown_model(known), None);
        }
        let scripted = unknown_model(SCRIPTED).unwrap();
        assert!(
            scripted.contains("a simulated endpoint of a spec has none; start `regatta simulate llm --script FILE`")
        );
        let guess = |name: &str| {
            let told = unknown_model(name).unwrap();
            assert!(told.starts_with(&format!("the model `{name}` does not exist")), "{told}");
            told.split_once("did you mean ").map(|(_, guess)| guess.to_owned()).unwrap_or_default()
        };
        assert_eq!(["nosy-0.5", "orcle", "lexcal"].map(guess), ["\"noisy-0.5\"?", "\"oracle\"?", "\"lexical\"?"]);
        assert_eq!(["noisy-1.5", "nosy-much", "gpt-4o"].map(guess), ["", "", ""]);
    }

    #[test]
    fn every_listed_model_can_be_asked() {
        for entry in ModelList::new(true, 0).data {
            assert!(ChatModel::named(entry.id).is_ok() || check_embedding_model(entry.id).is_ok(), "{}", entry.id);
        }
    }
}
