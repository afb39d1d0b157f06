//! Names the session of a line in its body, because the lines of a batch have no headers.

use regatta_proto::{MemberName, SessionSeed};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Api;
use crate::SessionTag;

/// Adds the session, and the member of its team that speaks, to the `metadata` of `body`: as texts or, where the API has a single field for
/// it, as JSON in that field.
///
/// # Errors
/// When `body` is not a JSON object.
pub(super) fn identified(
    api: Api,
    body: &[u8],
    tag: &SessionTag<'_>,
    member: Option<&MemberName>,
) -> Result<Box<RawValue>, serde_json::Error> {
    let mut body: Map<String, Value> = serde_json::from_slice(body)?;
    let metadata = body.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if !metadata.is_object() {
        *metadata = Value::Object(Map::new());
    }
    let SessionSeed(seed) = tag.seed;
    let session = [
        ("regatta_benchmark", tag.benchmark.to_string()),
        ("regatta_setting", tag.setting.to_string()),
        ("regatta_item", tag.item.to_string()),
        ("regatta_trial", tag.trial.to_string()),
        ("regatta_seed", seed.to_string()),
    ];
    let member = member.map(|member| ("regatta_member", member.to_string()));
    let session = session.into_iter().chain(member);
    let session: Map<String, Value> = session.map(|(name, text)| (name.to_owned(), Value::String(text))).collect();
    if let Value::Object(metadata) = metadata {
        match api {
            Api::OpenAi => metadata.extend(session),
            Api::Anthropic => {
                metadata.insert("user_id".to_owned(), Value::String(Value::Object(session).to_string()));
            }
        }
    }
    serde_json::value::to_raw_value(&body)
}

#[cfg(test)]
mod tests {
    use regatta_proto::Trial;

    use super::*;

    fn identified_as(api: Api, body: &str) -> String {
        let tag = SessionTag {
            benchmark: &"worfbench".parse().unwrap(),
            setting: &"zero-shot".parse().unwrap(),
            item: &"os 92".parse().unwrap(),
            trial: Trial(2),
            role: regatta_proto::Role::Agent,
            seed: SessionSeed(7),
        };
        identified(api, body.as_bytes(), &tag, None).unwrap().get().to_owned()
    }

    #[test]
    fn openais_lines_name_their_session_beside_what_the_spec_put_there() {
        insta::assert_snapshot!(identified_as(Api::OpenAi, r#"{"model":"m","metadata":{"team":"a"}}"#), @r#"{"model":"m","metadata":{"team":"a","regatta_benchmark":"worfbench","regatta_setting":"zero-shot","regatta_item":"os 92","regatta_trial":"2","regatta_seed":"7"}}"#);
    }

    #[test]
    fn anthropics_lines_name_it_in_the_one_field_there_is() {
        insta::assert_snapshot!(identified_as(Api::Anthropic, r#"{"model":"m"}"#), @r#"{"model":"m","metadata":{"user_id":"{\"regatta_benchmark\":\"worfbench\",\"regatta_setting\":\"zero-shot\",\"regatta_item\":\"os 92\",\"regatta_trial\":\"2\",\"regatta_seed\":\"7\"}"}}"#);
    }
}
