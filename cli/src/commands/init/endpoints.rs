//! Endpoints of a new spec.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

use regatta_proto::{did_you_mean, implied_endpoints, nearest};
use serde_json::Value;

use super::{ENCODER, SIMULATED};
use crate::args::InitArgs;
use crate::exit::BadConfiguration;

/// Refuses the name of a provider that is misspelt, which would pass for an endpoint of one's own, addresses of endpoints that no model is at, and two of
/// one endpoint.
///
/// # Errors
/// [`BadConfiguration`], with what may have been meant.
pub(super) fn check(args: &InitArgs) -> Result<(), BadConfiguration> {
    let used: BTreeSet<&str> = args.models.iter().chain(&args.judge).map(|model| model.endpoint.as_str()).collect();
    let has_address = |name: &str| args.endpoints.iter().any(|(known, _)| known.as_str() == name);
    for (at, (name, _)) in args.endpoints.iter().enumerate() {
        if args.endpoints.iter().take(at).any(|(before, _)| before == name) {
            return Err(BadConfiguration(format!("the endpoint {name} has two addresses (--endpoint); give one")));
        }
        if !used.contains(name.as_str()) {
            let meant = did_you_mean(name.as_str(), used.iter().copied());
            return Err(BadConfiguration(format!("no model is at the endpoint {name} (--endpoint){meant}")));
        }
    }
    for name in used.into_iter().filter(|&name| name != ENCODER && !has_address(name)) {
        let meant = nearest(name, implied_endpoints().chain([SIMULATED]));
        // `openai-eu` and `simulated-apps` say more, and are no misspellings.
        if let Some(meant) = meant.filter(|meant| !name.contains(meant)) {
            return Err(BadConfiguration(format!(
                "there is no provider {name}; did you mean {meant:?}? If {name} is an endpoint of your own, give its address: --endpoint \
                 {name}=http://127.0.0.1:8000/v1"
            )));
        }
    }
    Ok(())
}

/// Writes the endpoints that are `used` and that need an entry.
pub(super) fn write(out: &mut String, args: &InitArgs, used: &BTreeSet<&str>) -> fmt::Result {
    let address = |name: &str| args.endpoints.iter().find(|(known, _)| known.as_str() == name).map(|(_, url)| url);
    let known: Vec<&str> = implied_endpoints().collect();
    let own: Vec<&str> =
        used.iter().copied().filter(|&name| address(name).is_some() || !known.contains(&name)).collect();
    writeln!(
        out,
        "\n# Where models are served. Without an entry work, with their usual key variables: {}.",
        known.join(", ")
    )?;
    if own.is_empty() {
        return writeln!(
            out,
            "# endpoints:\n#   here: {{ kind: openai, base_url: http://127.0.0.1:8000/v1, api_key_env: none }}"
        );
    }
    writeln!(out, "endpoints:")?;
    for name in own {
        match (name, address(name)) {
            (name, Some(url)) => writeln!(
                out,
                "  {name}: {{ kind: openai, base_url: {}, api_key_env: none }}  # the variable of its key, if it takes one",
                Value::from(url.as_str())
            )?,
            (SIMULATED, None) => writeln!(
                out,
                "  {SIMULATED}: {{ kind: simulated }}  # plays oracle, noisy-0.3 and lexical; no key, no money"
            )?,
            (ENCODER, None) => writeln!(
                out,
                "  {ENCODER}: {{ kind: encoder, path: \"${{REGATTA_MINILM}}\" }}  # a sentence-transformers directory"
            )?,
            (name, None) => writeln!(
                out,
                "  {name}: {{ kind: openai, base_url: http://127.0.0.1:8000/v1, api_key_env: none }}  # its address and the variable of its key"
            )?,
        }
    }
    Ok(())
}
