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
/// Earlier responses, conversations and items, where the listener keeps some.
pub(crate) const NOT_KEPT: &str = "is not among the latest responses and conversations of the session, which are all that is kept; send it as part of the request";
/// Audio, and calls of tools whose calls are objects of their own.
pub(crate) const UNREAD_ANSWER: &str = "asks for an answer in a form that is not recorded; ask for text and functions";
/// Thoughts are told by the bridge in a form of its own, which no provider takes back.
pub(crate) const SIGNED_THOUGHT: &str = "cannot be carried in a conversation with a thought that only its provider can read; have the model answer without thinking";
/// Speed and place of the provider's machines, and sounds.
pub(crate) const DEARER: &str = "has a price of its own that no account here knows; leave it out";
/// The bound of what an answer costs is that of the format's own field.
pub(crate) const OTHER_LIMIT: &str =
    "is no limit of answers in this format, and accounts rely on that one; say the format's own";
/// Servers that read names without regard to case take the last of two.
pub(crate) const DISGUISED: &str =
    "is read as another field by servers that do not tell large letters from small ones; write it in small letters";
/// Keys and addresses.
pub(crate) const ACCESS: &str = "is said by who runs the endpoint; leave it out";

/// Fields of a request, in any format, with the reason.
const FIELDS: &[(&str, &str)] = &[
    ("models", OTHER_MODEL),
    ("route", OTHER_MODEL),
    ("fallbacks", OTHER_MODEL),
    ("mock_response", OTHER_MODEL),
    ("preset", OTHER_MODEL),
    ("custom_llm_provider", OTHER_MODEL),
    ("extra_body", OTHER_MODEL),
    ("best_of", ONE_ANSWER),
    ("candidate_count", ONE_ANSWER),
    ("max_tokens", OTHER_LIMIT),
    ("max_completion_tokens", OTHER_LIMIT),
    ("max_output_tokens", OTHER_LIMIT),
    ("max_new_tokens", OTHER_LIMIT),
    ("n_predict", OTHER_LIMIT),
    ("speed", DEARER),
    ("inference_geo", DEARER),
    ("web_search_options", PROVIDERS_TOOL),
    ("search_parameters", PROVIDERS_TOOL),
    ("enable_search", PROVIDERS_TOOL),
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
    ("extra_headers", ACCESS),
];

/// Names that are read here, at any level, and decide what a request costs or what is recorded of it.
const READ: &[&str] = &[
    "model",
    "messages",
    "input",
    "instructions",
    "system",
    "n",
    "stream",
    "stream_options",
    "background",
    "modalities",
    "service_tier",
    "tools",
    "tool_choice",
    "type",
    "function",
    "name",
    "role",
    "content",
];

/// The reason why the request's field `name` is refused; `None` for a field that goes to the endpoint as it is.
pub(crate) fn why(name: &str) -> Option<&'static str> {
    FIELDS.iter().find(|(field, _)| *field == name).map(|(_, why)| *why)
}

/// `true` for a name that is one which is read or refused here, but for the case of its letters. The long s and the sign of the kelvin count
/// as the letters that they are folded to.
pub(crate) fn is_disguised(name: &str) -> bool {
    let folded: String = name.chars().map(|letter| if letter == 'ſ' { 's' } else { letter }).collect();
    let folded = folded.to_lowercase();
    folded != name && (READ.contains(&&*folded) || why(&folded).is_some())
}

#[cfg(test)]
pub(crate) const REASONS: [&str; 11] = [
    ONE_ANSWER,
    OTHER_MODEL,
    PROVIDERS_TOOL,
    PROVIDERS_STATE,
    NOT_KEPT,
    UNREAD_ANSWER,
    SIGNED_THOUGHT,
    DEARER,
    OTHER_LIMIT,
    DISGUISED,
    ACCESS,
];

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

    #[test]
    fn a_name_is_disguised_by_its_case_alone() {
        for name in ["N", "Model", "Max_Tokens", "ſtream", "API_\u{212a}ey", "Type"] {
            assert!(is_disguised(name), "{name}");
        }
        for name in ["n", "model", "top_k", "Top_K", "modelName", "maxTokens"] {
            assert!(!is_disguised(name), "{name}");
        }
    }
}
