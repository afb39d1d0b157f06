//! Fields that are refused although their provider knows them, and why: accounts or transcripts would be untrue with them. The reasons stand
//! in `docs/agents.md`, word by word.

/// One answer of a call is recorded.
pub(crate) const ONE_ANSWER: &str =
    "asks for several answers, and one is recorded for each call; leave it out and repeat the request";
/// Gateways send the request elsewhere.
pub(crate) const OTHER_MODEL: &str = "would have something else answer than the model that is evaluated; leave it out";
/// A search, a sandbox, a server of MCP.
pub(crate) const PROVIDERS_TOOL: &str = "is run by the provider, at a price of its own and unseen by the transcript; offer functions that the agent runs itself";
/// Stored answers, conversations, prompts and files.
pub(crate) const PROVIDERS_STATE: &str = "refers to something that the provider keeps, without which no transcript can be replayed; send it as part of the request";
/// Audio, calls of custom tools, calls of the first kind.
pub(crate) const UNREAD_ANSWER: &str = "asks for an answer in a form that is not recorded; ask for text and functions";
/// What the bridge tells of a thought is in a form of its own, which no provider takes back.
pub(crate) const SIGNED_THOUGHT: &str = "cannot be carried in a conversation with a thought that only its provider can read; have the model answer without thinking";
/// Keys and addresses.
pub(crate) const ACCESS: &str = "is said by who runs the endpoint; leave it out";

/// Fields of a request, in any format, with the reason.
const FIELDS: &[(&str, &str)] = &[
    ("models", OTHER_MODEL),
    ("route", OTHER_MODEL),
    ("fallbacks", OTHER_MODEL),
    ("mock_response", OTHER_MODEL),
    ("web_search_options", PROVIDERS_TOOL),
    ("plugins", PROVIDERS_TOOL),
    ("mcp_servers", PROVIDERS_TOOL),
    ("container", PROVIDERS_TOOL),
    ("previous_response_id", PROVIDERS_STATE),
    ("conversation", PROVIDERS_STATE),
    ("prompt", PROVIDERS_STATE),
    ("functions", UNREAD_ANSWER),
    ("function_call", UNREAD_ANSWER),
    ("audio", UNREAD_ANSWER),
    ("api_base", ACCESS),
    ("base_url", ACCESS),
    ("api_key", ACCESS),
    ("user_config", ACCESS),
];

/// The reason why the request's field `name` is refused; `None` for a field that goes to the endpoint as it is.
pub(crate) fn why(name: &str) -> Option<&'static str> {
    FIELDS.iter().find(|(field, _)| *field == name).map(|(_, why)| *why)
}

#[cfg(test)]
pub(crate) const REASONS: [&str; 7] =
    [ONE_ANSWER, OTHER_MODEL, PROVIDERS_TOOL, PROVIDERS_STATE, UNREAD_ANSWER, SIGNED_THOUGHT, ACCESS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_stands_in_the_docs_with_the_fields_that_are_refused_for_it() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/agents.md");
        let page = std::fs::read_to_string(page).unwrap();
        for reason in REASONS {
            let row = page.lines().find(|line| line.contains(reason));
            let row = row.unwrap_or_else(|| panic!("docs/agents.md does not say: {reason}"));
            for (name, _) in FIELDS.iter().filter(|(_, why)| *why == reason) {
                assert!(row.contains(&format!("`{name}`")), "{name} is missing in: {row}");
            }
        }
    }
}
