//! Arguments of a call, for formats that require an object.

use regatta_proto::ToolCall;
use serde::Serialize;
use serde_json::value::RawValue;

/// The model's arguments, byte for byte if they are an object. Others are wrapped in one, as Anthropic's guide to fine-grained tool
/// streaming recommends, so that the model sees what it wrote and why it failed.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Arguments<'a> {
    Object(&'a RawValue),
    Empty {},
    Broken {
        #[serde(rename = "INVALID_JSON")]
        text: &'a str,
    },
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(call: &'a ToolCall) -> Self {
        let text = call.arguments.trim();
        match serde_json::from_str::<&RawValue>(text) {
            Ok(object) if text.starts_with('{') => Self::Object(object),
            _ if text.is_empty() => Self::Empty {},
            _ => Self::Broken { text },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_whatever_the_model_wrote() {
        for (written, said) in [
            (r#"{"city": "B"}"#, r#"{"city": "B"}"#),
            (" {} ", "{}"),
            ("", "{}"),
            ("[1]", r#"{"INVALID_JSON":"[1]"}"#),
            (r#"{"city": "B"#, r#"{"INVALID_JSON":"{\"city\": \"B"}"#),
        ] {
            let call = ToolCall { id: "c".into(), name: "f".into(), arguments: written.into() };
            assert_eq!(serde_json::to_string(&Arguments::of(&call)).unwrap(), said);
        }
    }
}
