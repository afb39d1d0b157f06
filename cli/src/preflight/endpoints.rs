//! Findings about endpoints: encoders are loaded, models of simulated ones looked up, all others asked for their lists of models, side by side.

use std::path::Path;

use futures::future::join_all;
use regatta_llm::{ModelList, Probe, Probed, check_encoder};
use regatta_proto::{CacheMode, EndpointKind, EndpointName, EndpointSpec, SweepLock, causes, did_you_mean};
use regatta_simulator::unknown_model;
use regatta_worker::Policy;

use super::Scope;
use super::finding::Finding;
use super::models::asked_at;

/// Findings about the endpoints that `lock` uses.
pub(super) async fn findings(lock: &SweepLock, policy: &Policy, scope: Scope) -> Vec<Finding> {
    let used = lock.used_endpoints();
    let endpoints = lock.endpoints.iter().filter(|(name, _)| used.contains(name));
    // Replaying asks nobody.
    let is_asked = scope.asks_endpoints && lock.cache != CacheMode::Replay;
    let looks = endpoints.map(|(name, spec)| async move {
        match spec.kind {
            EndpointKind::Encoder if spec.registered.is_some() && !scope.runs_here => Vec::new(),
            EndpointKind::Encoder => of_encoder(name, spec, policy).await.into_iter().collect(),
            EndpointKind::Simulated if lock.cache != CacheMode::Replay => unknown_models(lock, name),
            // Replaying asks nobody, and verdicts that are recorded have been read.
            EndpointKind::Simulated | EndpointKind::Recorded => Vec::new(),
            EndpointKind::Openai
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Anthropic
            | EndpointKind::Gemini
            | EndpointKind::Bedrock => {
                if is_asked {
                    of_models(lock, name, spec, policy).await
                } else {
                    Vec::new()
                }
            }
        }
    });
    join_all(looks).await.into_iter().flatten().collect()
}

async fn of_encoder(name: &EndpointName, spec: &EndpointSpec, policy: &Policy) -> Option<Finding> {
    let (endpoint, encoder, outbound) = (name.clone(), spec.clone(), policy.outbound().clone());
    let loading =
        tokio::task::spawn_blocking(move || check_encoder(&endpoint, &encoder, Path::new("."), &outbound)).await;
    let problem = match loading {
        Ok(Ok(())) => return None,
        Ok(Err(error)) => causes(&error),
        Err(error) => format!("loading the encoder ended unexpectedly: {error}"),
    };
    let field = if spec.registered.is_some() { "registered" } else { "path" };
    Some(Finding::error(format!("endpoints.{name}.{field}"), problem))
}

async fn of_models(lock: &SweepLock, name: &EndpointName, spec: &EndpointSpec, policy: &Policy) -> Vec<Finding> {
    let place = format!("endpoints.{name}");
    let probe = match Probe::open(name, spec, &|variable| std::env::var(variable).ok(), policy.outbound()) {
        Ok(Some(probe)) => probe,
        Ok(None) => {
            let problem = "not tried, because its list of models takes another right than its calls";
            return vec![Finding::warning(place, problem.to_owned())];
        }
        Err(error) => return vec![Finding::error(place, causes(&error))],
    };
    match probe.ask().await {
        Probed::Listed(list) => unlisted(lock, name, &list),
        Probed::KeyRefused(told) => {
            let (field, way) = way_to_a_key(spec);
            vec![Finding::error(format!("{place}.{field}"), format!("the endpoint refuses the key ({told}); {way}"))]
        }
        Probed::NoList(told) => {
            let problem = format!("it gave no list of models, so its key and its models were not checked ({told})");
            vec![Finding::warning(place, problem)]
        }
        Probed::NoAnswer(why) => {
            let problem = format!("not reached ({why}); correct the address, unless the endpoint is only down for now");
            vec![Finding::warning(format!("{place}.base_url"), problem)]
        }
    }
}

/// Models that no simulated endpoint has.
fn unknown_models(lock: &SweepLock, endpoint: &EndpointName) -> Vec<Finding> {
    let asked = asked_at(lock, endpoint).into_iter();
    asked.filter_map(|(field, model)| Some(Finding::error(field, unknown_model(model)?))).collect()
}

/// Warnings about models that the endpoint does not list. It may know them all the same, by an alias.
fn unlisted(lock: &SweepLock, endpoint: &EndpointName, list: &ModelList) -> Vec<Finding> {
    let lacking = asked_at(lock, endpoint).into_iter().filter(|(_, model)| list.lacks(model));
    let warnings = lacking.map(|(field, model)| {
        let meant = did_you_mean(model, list.ids());
        let problem = format!("{endpoint} lists no model {model}; correct it, unless that is an alias of one{meant}");
        Finding::warning(field, problem)
    });
    warnings.collect()
}

/// Field of the spec that says which key is sent, and what to do about it, as a clause.
fn way_to_a_key(spec: &EndpointSpec) -> (&'static str, String) {
    let of_headers: Vec<&str> = spec.headers_env.values().map(String::as_str).collect();
    let way = match spec.api_key_env.as_deref() {
        Some("none") if !of_headers.is_empty() => {
            return (
                "headers_env",
                format!("put a valid one into {}, or name another variable", of_headers.join(", ")),
            );
        }
        Some("none") => "name the variable that holds its key, in place of `none`".to_owned(),
        Some(name) => format!("put a valid one into {name}, or name another variable"),
        None => "put a valid one into the provider's usual variable, or name another variable".to_owned(),
    };
    ("api_key_env", way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_is_told_with_the_variable_that_holds_it() {
        let mut spec = EndpointSpec::of_kind(EndpointKind::Openai);
        let told = |spec: &EndpointSpec, field: &str, part: &str| {
            let (of, way) = way_to_a_key(spec);
            assert!(of == field && way.contains(part), "{of}: {way}");
        };
        told(&spec, "api_key_env", "the provider's usual variable");
        spec.api_key_env = Some("OWN_KEY".to_owned());
        told(&spec, "api_key_env", "OWN_KEY");
        spec.api_key_env = Some("none".to_owned());
        told(&spec, "api_key_env", "in place of `none`");
        spec.headers_env = [("x-virtual-key".to_owned(), "TEAM_KEY".to_owned())].into();
        told(&spec, "headers_env", "TEAM_KEY");
    }
}
