//! Checks of one endpoint.

use super::SpecError;
use crate::header_names::is_reserved_header;
use crate::secret_names::is_secret_name;
use crate::{EndpointKind, EndpointSpec, Lane};

/// Refuses a field, by its name within the endpoint, for a reason.
type Field<'a> = &'a dyn Fn(&str, String) -> Result<(), SpecError>;

/// Checks the endpoint at `place` of the spec.
pub(super) fn check_endpoint(place: &str, endpoint: &EndpointSpec) -> Result<(), SpecError> {
    let field = |name: &str, problem: String| -> Result<(), SpecError> {
        Err(SpecError::Field { field: format!("{place}.{name}"), problem })
    };
    check_limits(endpoint, &field)?;
    if endpoint.kind == EndpointKind::Azure && endpoint.api_version.is_none() {
        return field("api_version", "is missing: Azure wants one, as 2024-10-21".into());
    }
    check_batch(endpoint, &field)?;
    check_tries(endpoint, &field)?;
    if endpoint.content.is_some() {
        return field("content", "is filled in by the plan; write `path` instead".into());
    }
    check_path(endpoint, &field)?;
    if let Some(url) = &endpoint.base_url {
        check_address(url, endpoint.kind, &field)?;
    }
    check_secrets(endpoint, &field)?;
    if let Some(region) = &endpoint.region
        && (region.is_empty() || !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    {
        return field("region", format!("must be made of letters, digits and '-', is {region:?}"));
    }
    if endpoint.send_seed == Some(true) && !endpoint.kind.has_seed() {
        return field("send_seed", "cannot be true: requests of this kind have no field for a seed".into());
    }
    if let Some(simulation) = &endpoint.simulation {
        if endpoint.kind != EndpointKind::Simulated {
            return field("simulation", "only belongs to endpoints of kind simulated".into());
        }
        if let Err((name, problem)) = simulation.check() {
            return field(&format!("simulation.{name}"), problem);
        }
    }
    Ok(())
}

/// Limits that let nothing through.
fn check_limits(endpoint: &EndpointSpec, field: Field<'_>) -> Result<(), SpecError> {
    if !(1..=100_000).contains(&endpoint.limits.concurrency) {
        return field("limits.concurrency", format!("must be 1 to 100000, is {}", endpoint.limits.concurrency));
    }
    if endpoint.limits.requests_per_minute == Some(0) {
        return field("limits.requests_per_minute", "must be at least 1; leave it out for no limit".into());
    }
    if endpoint.limits.tokens_per_minute == Some(0) {
        return field("limits.tokens_per_minute", "must be at least 1; leave it out for no limit".into());
    }
    for (model, limits) in &endpoint.model_limits {
        if limits.concurrency == Some(0) || limits.requests_per_minute == Some(0) || limits.tokens_per_minute == Some(0)
        {
            return field(
                &format!("model_limits.{model}"),
                "must be at least 1 each; leave out what is not limited".into(),
            );
        }
    }
    Ok(())
}

/// Retries and time-outs.
fn check_tries(endpoint: &EndpointSpec, field: Field<'_>) -> Result<(), SpecError> {
    if endpoint.retries.quarantine_after < 2 {
        return field("retries.quarantine_after", "must be at least 2".into());
    }
    if !(1..=100).contains(&endpoint.retries.attempts) {
        return field("retries.attempts", format!("must be 1 to 100, is {}", endpoint.retries.attempts));
    }
    if endpoint.timeouts.total_ms == 0 || endpoint.timeouts.connect_ms == 0 || endpoint.timeouts.first_byte_ms == 0 {
        return field("timeouts", "must all be at least 1 millisecond".into());
    }
    Ok(())
}

/// The directory of an encoder, or the file of verdicts.
fn check_path(endpoint: &EndpointSpec, field: Field<'_>) -> Result<(), SpecError> {
    let needs_path = !endpoint.kind.chats();
    match (&endpoint.path, &endpoint.registered) {
        (_, Some(_)) if endpoint.kind != EndpointKind::Encoder => {
            return field("registered", "only belongs to endpoints of kind encoder".into());
        }
        (Some(_), Some(_)) => {
            return field("registered", "stands in place of path; leave out one of them".into());
        }
        (None, None) if needs_path => {
            return field("path", "is missing: the directory of the encoder, or the file of the verdicts".into());
        }
        (Some(_), None) if !needs_path => {
            return field("path", "only belongs to endpoints of kind encoder or recorded".into());
        }
        (Some(_) | None, None) | (None, Some(_)) => {}
    }
    Ok(())
}

/// The address, which holds no secret.
fn check_address(url: &str, kind: EndpointKind, field: Field<'_>) -> Result<(), SpecError> {
    if !kind.takes_address() {
        return field("base_url", "only belongs to endpoints of models behind HTTP".into());
    }
    if !url.starts_with("http://") && !url.starts_with("https://") {
        // Not quoted, like everything that may hold a secret where it does not belong.
        return field("base_url", "must begin with http:// or https://".into());
    }
    if url.contains(['?', '#']) {
        return field(
            "base_url",
            "goes on after the path, with `?` or `#`; api_version is a field of its own, and a key belongs into the variable that \
             api_key_env names"
                .into(),
        );
    }
    if has_credentials(url) {
        return field("base_url", "holds credentials; put the key into a variable and name it in api_key_env".into());
    }
    Ok(())
}

/// Headers, body and names of variables: none holds a secret, and none decides where a request goes.
fn check_secrets(endpoint: &EndpointSpec, field: Field<'_>) -> Result<(), SpecError> {
    for (map, headers) in [("headers", &endpoint.headers), ("headers_env", &endpoint.headers_env)] {
        if let Some(name) = headers.keys().find(|name| is_reserved_header(name)) {
            return field(
                &format!("{map}.{name}"),
                "says where a request goes or how it is framed, which a spec does not decide: leave it out, and name the host in base_url"
                    .into(),
            );
        }
    }
    if let Some(name) = endpoint.headers.keys().find(|name| is_secret_name(name)) {
        return field(
            &format!("headers.{name}"),
            format!(
                "may hold a secret, and specs are stored: put it into a variable and write headers_env: {{ {name}: VARIABLE }}"
            ),
        );
    }
    if let Some((name, variable)) = endpoint.headers_env.iter().find(|(_, variable)| !is_variable(variable)) {
        let problem = format!(
            "must be the name of an environment variable, never the secret itself; it has {} characters",
            variable.len()
        );
        return field(&format!("headers_env.{name}"), problem);
    }
    if let Some(name) = endpoint.api_key_env.as_deref().filter(|name| !is_variable(name)) {
        let problem = format!(
            "must be the name of an environment variable, never the key itself; it has {} characters",
            name.len()
        );
        return field("api_key_env", problem);
    }
    if let Some(name) = endpoint.body.iter().find_map(|(name, value)| secret_field(name, value)) {
        return field(
            &format!("body.{name}"),
            "may hold a secret, and specs are stored: name its variable in api_key_env or headers_env".into(),
        );
    }
    Ok(())
}

/// `true` if an address contains a user or a password. URL parsers skip slashes before the host, and treat backslashes as slashes.
pub(super) fn has_credentials(url: &str) -> bool {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    rest.split(['/', '\\', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// `true` for names of variables as people choose them; keys have other characters, or are longer.
fn is_variable(name: &str) -> bool {
    const LENGTH_MAX: usize = 100;
    name.len() <= LENGTH_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The path of a text within `value` whose name indicates a secret.
fn secret_field(name: &str, value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(_) => is_secret_name(name).then(|| name.to_owned()),
        serde_json::Value::Object(fields) => {
            fields.iter().find_map(|(inner, value)| secret_field(inner, value)).map(|inner| format!("{name}.{inner}"))
        }
        serde_json::Value::Array(values) => values.iter().find_map(|value| secret_field(name, value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
    }
}

/// Batches, which few kinds of endpoints offer.
fn check_batch(endpoint: &EndpointSpec, field: Field<'_>) -> Result<(), SpecError> {
    if endpoint.lane == Lane::Batch && !endpoint.kind.has_batches() {
        return field("lane", "is batch, which only endpoints of kind openai, anthropic and simulated offer".into());
    }
    if endpoint.lane == Lane::Batch && endpoint.stream {
        return field("stream", "does not go with lane: batch".into());
    }
    match endpoint.batch {
        Some(_) if endpoint.lane == Lane::Live => field("batch", "only belongs to endpoints of lane: batch".into()),
        Some(batch) if !(1..=50_000).contains(&batch.requests_max) => {
            field("batch.requests_max", format!("must be 1 to 50000, is {}", batch.requests_max))
        }
        Some(batch) if batch.poll_ms == 0 => field("batch.poll_ms", "must be at least 1".into()),
        _ => Ok(()),
    }
}
