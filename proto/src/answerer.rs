//! The identity of a judge or encoder, under which its answers to evaluators' questions are stored.

use std::fmt;

use crate::{Digest, EndpointKind, EndpointSpec, SweepId, json_bytes};

/// Identity of a model as a judge or encoder. Equal identities mean that the same model gives the answers; a name does not, because every
/// spec names its endpoints anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Answerer(Digest);

impl Answerer {
    /// The identity of `model` at `endpoint`, as `sweep` uses it.
    ///
    /// If the spec leaves out what determines the answers (an address, a region or a directory that each worker finds for itself), the
    /// identity is specific to the sweep, because another sweep may reach another model.
    #[must_use]
    pub fn new(endpoint: &EndpointSpec, model: &str, sweep: &SweepId) -> Self {
        let spec = (
            (endpoint.kind, &endpoint.api_version, &endpoint.region, &endpoint.headers, &endpoint.body),
            (&endpoint.path, &endpoint.content, &endpoint.simulation, endpoint.send_seed),
        );
        // A simulated endpoint has a new address at every start, and its answers depend on its settings alone.
        let address = endpoint.base_url.as_ref().filter(|_| endpoint.kind != EndpointKind::Simulated);
        let is_told = match endpoint.kind {
            EndpointKind::Openai
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Anthropic
            | EndpointKind::Gemini => address.is_some(),
            EndpointKind::Bedrock => endpoint.region.is_some(),
            EndpointKind::Simulated => true,
            EndpointKind::Recorded => endpoint.content.is_some(),
            // The weights may change under the same path.
            EndpointKind::Encoder => false,
        };
        let scope = (!is_told).then(|| sweep.as_str());
        let described = json_bytes(&(spec, address, model, scope));
        let secrets = endpoint.secret_routing().map(|names| json_bytes(&names));
        let registered = endpoint.registered.as_ref().map(|name| json_bytes(&("registered", name)));
        let parts = [b"answerer/1".as_slice(), &described];
        let parts = parts.into_iter().chain(secrets.as_deref()).chain(registered.as_deref());
        Self(Digest::of_parts(parts))
    }

    /// The digest under which the identity is stored.
    #[must_use]
    pub const fn digest(&self) -> &Digest {
        &self.0
    }
}

impl fmt::Display for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn at(address: &str) -> EndpointSpec {
        EndpointSpec { base_url: Some(address.to_owned()), ..EndpointSpec::of_kind(EndpointKind::Openai) }
    }

    fn answerer(endpoint: &EndpointSpec, sweep: &str) -> Answerer {
        Answerer::new(endpoint, "judge", &sweep.parse().unwrap())
    }

    #[test]
    fn the_same_address_is_the_same_answerer_in_every_sweep() {
        assert_eq!(answerer(&at("http://a/v1"), "one"), answerer(&at("http://a/v1"), "two"));
    }

    #[test]
    fn everything_that_an_answer_depends_on_tells_answerers_apart() {
        let base = at("http://a/v1");
        let others = [
            at("http://b/v1"),
            EndpointSpec { kind: EndpointKind::Anthropic, ..base.clone() },
            EndpointSpec { api_version: Some("2024-10-21".to_owned()), ..base.clone() },
            EndpointSpec { region: Some("eu-west-1".to_owned()), ..base.clone() },
            EndpointSpec { headers: [("x-route".to_owned(), "b".to_owned())].into(), ..base.clone() },
            EndpointSpec { headers_env: [("x-virtual-key".to_owned(), "TEAM_A".to_owned())].into(), ..base.clone() },
            EndpointSpec { headers_env: [("x-virtual-key".to_owned(), "TEAM_B".to_owned())].into(), ..base.clone() },
            EndpointSpec { send_seed: Some(true), ..base.clone() },
            EndpointSpec { body: [("top_k".to_owned(), 1.into())].into(), ..base.clone() },
        ];
        let all: BTreeSet<Answerer> = others.iter().chain([&base]).map(|endpoint| answerer(endpoint, "s")).collect();
        assert_eq!(all.len(), others.len() + 1, "each is another one");
        assert_ne!(answerer(&base, "s"), Answerer::new(&base, "other", &"s".parse().unwrap()));
    }

    #[test]
    fn limits_and_patience_change_no_answer() {
        let mut patient = at("http://a/v1");
        patient.timeouts.total_ms *= 2;
        patient.limits.concurrency = 1;
        patient.stream = true;
        assert_eq!(answerer(&at("http://a/v1"), "s"), answerer(&patient, "s"));
    }

    #[test]
    fn what_each_worker_finds_for_itself_is_of_one_sweep() {
        for kind in [EndpointKind::Openai, EndpointKind::Bedrock, EndpointKind::Encoder, EndpointKind::Recorded] {
            let endpoint = EndpointSpec { path: Some("model".into()), ..EndpointSpec::of_kind(kind) };
            assert_ne!(answerer(&endpoint, "one"), answerer(&endpoint, "two"), "{kind:?}");
        }
    }

    #[test]
    fn recorded_verdicts_are_known_by_their_content() {
        let recorded = |content: &[u8]| EndpointSpec {
            content: Some(Digest::of(content)),
            ..EndpointSpec::of_kind(EndpointKind::Recorded)
        };
        assert_eq!(answerer(&recorded(b"a"), "one"), answerer(&recorded(b"a"), "two"));
        assert_ne!(answerer(&recorded(b"a"), "one"), answerer(&recorded(b"b"), "one"));
    }
}
