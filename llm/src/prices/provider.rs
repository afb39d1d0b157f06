//! The provider of an endpoint, as far as prices are concerned, and its models' names in price tables.

use regatta_proto::{EndpointKind, EndpointSpec};

/// Providers by the domain at the end of their addresses; the first match counts.
const DOMAINS: &[(&str, &str)] = &[
    ("api.openai.com", "openai"),
    ("openai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("api.anthropic.com", "anthropic"),
    ("googleapis.com", "gemini"),
    ("amazonaws.com", "bedrock"),
    ("api.deepseek.com", "deepseek"),
    ("openrouter.ai", "openrouter"),
    ("together.xyz", "together"),
    ("together.ai", "together"),
    ("fireworks.ai", "fireworks"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral"),
    ("x.ai", "xai"),
    ("perplexity.ai", "perplexity"),
    ("cerebras.ai", "cerebras"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("deepinfra.com", "deepinfra"),
    ("novita.ai", "novita"),
    ("moonshot.ai", "moonshot"),
    ("moonshot.cn", "moonshot"),
    ("z.ai", "zai"),
    ("aliyuncs.com", "dashscope"),
    ("nebius.com", "nebius"),
    ("hyperbolic.xyz", "hyperbolic"),
    ("sambanova.ai", "sambanova"),
    ("voyageai.com", "voyage"),
];

/// Other names of providers, and our own for each.
const ALIASES: &[(&str, &str)] = &[
    ("aws", "bedrock"),
    ("amazon-bedrock", "bedrock"),
    ("bedrock_converse", "bedrock"),
    ("azure_ai", "azure"),
    ("azure_text", "azure"),
    ("google", "gemini"),
    ("google-vertex", "vertex"),
    ("text-completion-openai", "openai"),
    ("text-completion-codestral", "codestral"),
    ("together_ai", "together"),
    ("togetherai", "together"),
    ("fireworks_ai", "fireworks"),
    ("fireworks-ai", "fireworks"),
    ("fireworks_ai-embedding-models", "fireworks"),
    ("x-ai", "xai"),
    ("cohere_chat", "cohere"),
    ("moonshotai", "moonshot"),
    ("voyageai", "voyage"),
    ("github_copilot", "github-copilot"),
];

/// Our name of the provider that others call `name`.
pub(super) fn canonical(name: &str) -> &str {
    if name == "vertex_ai" || name.starts_with("vertex_ai-") {
        return "vertex";
    }
    ALIASES.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours)
}

/// The name in a table of `model`, which `provider` (by our name) sells. Models that only their maker licenses have just their name, so
/// that gateways and resellers find them; open weights cost what their provider asks.
pub(super) fn name_in_table(provider: &str, model: &str) -> String {
    let licensed = match provider {
        "openai" => !model.starts_with("gpt-oss"),
        "anthropic" => true,
        "gemini" => model.starts_with("gemini-"),
        _ => false,
    };
    if licensed && !model.contains('/') { model.to_owned() } else { format!("{provider}/{model}") }
}

/// The provider that serves an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Provider<'a> {
    /// `None` for an unknown address.
    name: Option<&'a str>,
    region: Option<&'a str>,
}

impl<'a> Provider<'a> {
    pub(super) const UNKNOWN: Self = Self { name: None, region: None };

    pub(super) fn of(endpoint: &'a EndpointSpec) -> Self {
        let own = match endpoint.kind {
            EndpointKind::Openai | EndpointKind::OpenaiResponses => Some("openai"),
            EndpointKind::Anthropic => Some("anthropic"),
            EndpointKind::Gemini => Some("gemini"),
            EndpointKind::Azure => return Self { name: Some("azure"), region: None },
            EndpointKind::Bedrock => return Self { name: Some("bedrock"), region: endpoint.region.as_deref() },
            EndpointKind::Simulated => return Self { name: Some("simulated"), region: None },
            EndpointKind::Encoder | EndpointKind::Recorded => None,
        };
        let name = match &endpoint.base_url {
            None => own,
            Some(url) => of_host(host(url)),
        };
        Self { name, region: None }
    }

    /// Names that tables may have for `model`, the most specific first.
    pub(super) fn names(self, model: &str) -> Vec<String> {
        match (self.name, model.split_once('/')) {
            // The price of a simulated model has nothing to do with that of the model with its name.
            (Some("simulated"), _) => vec![format!("simulated/{model}")],
            (Some(provider), slash) => {
                let region = self.region.map(|region| format!("{provider}/{region}/{model}"));
                let own = format!("{provider}/{model}");
                // A name with a slash would find the price of another provider.
                region.into_iter().chain([own]).chain(slash.is_none().then(|| model.to_owned())).collect()
            }
            (None, Some((provider, rest))) => {
                let named = canonical(provider);
                vec![model.to_owned(), format!("{named}/{rest}"), name_in_table(named, rest)]
            }
            (None, None) => vec![model.to_owned()],
        }
    }
}

/// The host in an address, without scheme, credentials, port and path.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

fn of_host(host: &str) -> Option<&'static str> {
    let host = host.to_ascii_lowercase();
    // The region before it is separated by a dash, not a dot.
    if host.ends_with("aiplatform.googleapis.com") {
        return Some("vertex");
    }
    let (_, provider) = DOMAINS.iter().find(|(domain, _)| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    })?;
    Some(provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served_by(url: &str) -> Option<&'static str> {
        of_host(host(url))
    }

    #[test]
    fn a_provider_is_known_by_its_domain_and_not_by_what_looks_like_it() {
        assert_eq!(served_by("https://openrouter.ai/api/v1"), Some("openrouter"));
        assert_eq!(served_by("https://user:key@API.OpenAI.com:443/v1"), Some("openai"));
        assert_eq!(served_by("https://my-resource.openai.azure.com"), Some("azure"));
        assert_eq!(served_by("https://europe-west1-aiplatform.googleapis.com/v1"), Some("vertex"));
        assert_eq!(served_by("https://api.deepseek.com/anthropic"), Some("deepseek"));
        assert_eq!(served_by("http://127.0.0.1:8000/v1"), None);
        assert_eq!(served_by("https://box.ai/v1"), None, "ends like x.ai");
        assert_eq!(served_by("https://api.openai.com.example.org/v1"), None);
        assert_eq!(served_by(""), None);
    }

    #[test]
    fn a_known_provider_is_never_charged_another_providers_price() {
        let names = |name, model| Provider { name, region: None }.names(model);
        assert_eq!(names(Some("openrouter"), "openai/gpt-5"), ["openrouter/openai/gpt-5"]);
        assert_eq!(names(Some("azure"), "gpt-5"), ["azure/gpt-5", "gpt-5"]);
        assert_eq!(names(Some("simulated"), "gpt-5"), ["simulated/gpt-5"]);
    }

    #[test]
    fn a_gateway_says_the_provider_in_the_models_name() {
        let names = |model| Provider { name: None, region: None }.names(model);
        assert_eq!(names("openai/gpt-5"), ["openai/gpt-5", "openai/gpt-5", "gpt-5"]);
        assert_eq!(names("fireworks_ai/kimi"), ["fireworks_ai/kimi", "fireworks/kimi", "fireworks/kimi"]);
        assert_eq!(names("gpt-5"), ["gpt-5"]);
    }

    #[test]
    fn bedrock_may_cost_differently_by_region() {
        let bedrock = Provider { name: Some("bedrock"), region: Some("eu-west-1") };
        assert_eq!(bedrock.names("m"), ["bedrock/eu-west-1/m", "bedrock/m", "m"]);
    }

    #[test]
    fn open_weights_are_listed_by_provider() {
        assert_eq!(name_in_table("openai", "gpt-5"), "gpt-5");
        assert_eq!(name_in_table("openai", "gpt-oss-120b"), "openai/gpt-oss-120b");
        assert_eq!(name_in_table("gemini", "gemma-4-31b-it"), "gemini/gemma-4-31b-it");
        assert_eq!(name_in_table("gemini", "claude-opus-5"), "gemini/claude-opus-5");
    }
}
