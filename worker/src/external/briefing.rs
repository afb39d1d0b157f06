//! What an external agent is told when it is started.

use regatta_bridge::OpenSession;
use serde_json::Value;

/// The same thing twice: as JSON, and, for what speaks to models through a library that reads them, as variables.
pub(super) struct Briefing {
    /// One line of JSON with its line break: the errand with addresses and the model's name.
    pub(super) line: String,
    /// Variables of the command.
    pub(super) variables: [(&'static str, String); 7],
}

/// Where an agent finds everything.
pub(super) struct Addresses<'a> {
    /// Base URL in the manner of OpenAI's clients.
    openai: String,
    /// Base URL in the manner of Anthropic's clients.
    anthropic: String,
    /// Base URL of the tool servers.
    tools: String,
    /// What it shows for a key; good for nothing but this session, if for that.
    token: String,
    /// What the model is called.
    model: &'a str,
}

impl<'a> Addresses<'a> {
    /// Those of `open`, with a model called `model`.
    pub(super) fn of(open: &OpenSession, model: &'a str) -> Self {
        let base = open.base_url();
        let token = base.rsplit('/').next().unwrap_or_default().to_owned();
        Self { openai: format!("{base}/v1"), anthropic: base.to_owned(), tools: format!("{base}/tools"), token, model }
    }
}

impl Briefing {
    pub(super) fn new(input: Value, addresses: &Addresses<'_>) -> Self {
        let Addresses { openai, anthropic, tools, token, model } = addresses;
        let (openai, anthropic, tools, token): (&str, &str, &str, &str) = (openai, anthropic, tools, token);
        let mut errand = match input {
            Value::Object(errand) => errand,
            other => serde_json::Map::from_iter([("input".to_owned(), other)]),
        };
        let told = [("base_url", openai), ("tools_url", tools), ("api_key", token), ("model", model)];
        errand.extend(told.map(|(name, text)| (name.to_owned(), Value::from(text))));
        Self {
            line: format!("{}\n", Value::Object(errand)),
            variables: [
                ("OPENAI_BASE_URL", openai),
                ("OPENAI_API_BASE", openai),
                ("OPENAI_API_KEY", token),
                ("ANTHROPIC_BASE_URL", anthropic),
                ("ANTHROPIC_API_KEY", token),
                ("REGATTA_TOOLS_URL", tools),
                ("REGATTA_MODEL", model),
            ]
            .map(|(name, text)| (name, text.to_owned())),
        }
    }
}
