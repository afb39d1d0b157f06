//! The input of an external agent at its start: its task and its addresses, as JSON and as variables.

use std::path::Path;

use serde_json::Value;

use crate::config::AgentAuthorities;

/// Input of one start, given twice: as JSON, and as environment variables for libraries that read those.
pub(super) struct Briefing {
    /// One line of JSON with its line break: the task with addresses and the model's name.
    pub(super) line: String,
    /// Variables of the command.
    pub(super) variables: Vec<(&'static str, String)>,
}

/// Variables that name authorities for OpenSSL and what is built on it, Python's requests, curl, and Node. They are the same for all sessions.
pub(super) const AUTHORITIES: [&str; 4] =
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

/// Addresses and names that an agent needs.
pub(super) struct Addresses<'a> {
    /// Base URL in the manner of OpenAI's clients.
    openai: String,
    /// Base URL in the manner of Anthropic's clients.
    anthropic: String,
    /// Base URL of the tool servers.
    tools: String,
    /// Token that the agent sends as API key: the last part of the session's address, of no use outside this session.
    token: String,
    /// Name of the model under test, as the agent must send it.
    model: &'a str,
}

impl<'a> Addresses<'a> {
    /// Variables of the session at `base`, with a model called `model`.
    pub(super) fn of(base: &str, model: &'a str) -> Self {
        let token = base.rsplit('/').next().unwrap_or_default().to_owned();
        Self { openai: format!("{base}/v1"), anthropic: base.to_owned(), tools: format!("{base}/tools"), token, model }
    }
}

impl Briefing {
    /// Input with the task `input`. `authorities` is `None` where the agent's system already trusts the bridge's certificate.
    pub(super) fn new(input: Value, addresses: &Addresses<'_>, authorities: Option<&AgentAuthorities>) -> Self {
        let Addresses { openai, anthropic, tools, token, model } = addresses;
        let (openai, anthropic, tools, token): (&str, &str, &str, &str) = (openai, anthropic, tools, token);
        let mut task = match input {
            Value::Object(task) => task,
            other => serde_json::Map::from_iter([("input".to_owned(), other)]),
        };
        let told = [("base_url", openai), ("tools_url", tools), ("api_key", token), ("model", model)];
        task.extend(told.map(|(name, text)| (name.to_owned(), Value::from(text))));
        task.extend(authorities.map(|known| ("authorities".to_owned(), Value::from(known.own.as_str()))));
        let known = authorities.map(|known| known.with_systems.to_string_lossy().into_owned());
        let known = known.iter().flat_map(|file| AUTHORITIES.map(|name| (name, file.clone())));
        Self {
            line: format!("{}\n", Value::Object(task)),
            variables: [
                ("OPENAI_BASE_URL", openai),
                ("OPENAI_API_BASE", openai),
                ("OPENAI_API_KEY", token),
                ("ANTHROPIC_BASE_URL", anthropic),
                ("ANTHROPIC_API_KEY", token),
                ("REGATTA_TOOLS_URL", tools),
                ("REGATTA_MODEL", model),
            ]
            .map(|(name, text)| (name, text.to_owned()))
            .into_iter()
            .chain(known)
            .collect(),
        }
    }

    /// The line of the session `number` of a process that is given several, with the paths of the session's own.
    pub(super) fn line_of_session(&self, number: u32, places: &[(&str, &Path)]) -> String {
        let input = self.line.trim_end();
        let mut line = format!("{},\"session\":{number}", input.strip_suffix('}').unwrap_or(input));
        for (name, path) in places {
            line += &format!(",\"{name}\":{}", Value::from(path.to_string_lossy()));
        }
        line + "}\n"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn addresses() -> Addresses<'static> {
        let text = |text: &str| text.to_owned();
        Addresses { openai: text("o"), anthropic: text("a"), tools: text("t"), token: text("k"), model: "m" }
    }

    #[test]
    fn an_agent_is_handed_the_authorities_that_its_system_does_not_know_and_otherwise_none() {
        let plain = Briefing::new(json!({"query": "q"}), &addresses(), None);
        assert!(!plain.line.contains("authorities"), "{}", plain.line);
        assert!(!plain.variables.iter().any(|(name, _)| AUTHORITIES.contains(name)));
        let known = AgentAuthorities { own: "PEM".to_owned(), with_systems: "/known.pem".into() };
        let briefing = Briefing::new(json!({"query": "q"}), &addresses(), Some(&known));
        assert!(briefing.line.ends_with("\"authorities\":\"PEM\"}\n"), "{}", briefing.line);
        let handed = |name: &&str| briefing.variables.contains(&(*name, "/known.pem".to_owned()));
        assert!(AUTHORITIES.iter().all(handed));
    }
}
