//! Messages in files: the official `gen_dialog_list`, and predictions of whole sessions (docs/benchmarks/flowbench.md
//! §2.2, §11).

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use serde_json::{Map, Value, json};

use super::{Message, Speaker, ToolCall};

/// Parses the messages in a field: `role` (`user`, `assistant`, `function`), `content` (a text or null), `name` of
/// functions, and the optional `function_call` (`name`, `arguments`) of assistants. Other fields are ignored.
///
/// # Errors
/// With the first message that has an unexpected form.
pub(crate) fn read_messages(
    place: &SourceLocation<'_>,
    record: &Value,
    field: &str,
) -> Result<Vec<Message>, DataError> {
    let messages = place.array(record, field)?.iter().enumerate();
    messages.map(|(at, message)| read(place, &format!("{field}[{at}]"), message)).collect()
}

fn read(place: &SourceLocation<'_>, at: &str, message: &Value) -> Result<Message, DataError> {
    let text = |value: Option<&Value>, field: &str| match value {
        None | Some(Value::Null) => Ok(None),
        value => place.text_at(value, &format!("{at}.{field}")).map(|text| Some(text.to_owned())),
    };
    let speaker = match place.text_at(message.get("role"), &format!("{at}.role"))? {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "function" => Speaker::Function(text(message.get("name"), "name")?.unwrap_or_default()),
        other => {
            let problem = format!("{other:?} is unknown; known: user, assistant, function");
            return Err(place.error(&format!("{at}.role"), problem));
        }
    };
    let call = match message.get("function_call") {
        None | Some(Value::Null) => None,
        Some(Value::Object(call)) => Some(ToolCall {
            name: place.text_at(call.get("name"), &format!("{at}.function_call.name"))?.to_owned(),
            arguments: text(call.get("arguments"), "function_call.arguments")?,
        }),
        Some(other) => {
            let problem = format!("must be an object, is {}", kind_of(other));
            return Err(place.error(&format!("{at}.function_call"), problem));
        }
    };
    Ok(Message { speaker, content: text(message.get("content"), "content")?, call })
}

/// Serialises messages in the same form.
pub(crate) fn write_messages(messages: &[Message]) -> Value {
    messages.iter().map(write).collect()
}

fn write(message: &Message) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), json!(message.speaker.as_str()));
    if let Speaker::Function(name) = &message.speaker {
        fields.insert("name".to_owned(), json!(name));
    }
    fields.insert("content".to_owned(), json!(message.content));
    if let Some(call) = &message.call {
        let call = json!({ "name": call.name, "arguments": call.arguments });
        fields.insert("function_call".to_owned(), call);
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(messages: Value) -> Result<Vec<Message>, String> {
        let place = SourceLocation::file("here", "predictions.jsonl").line(2);
        read_messages(&place, &json!({ "messages": messages }), "messages").map_err(|error| error.to_string())
    }

    fn message() -> impl Strategy<Value = Message> {
        let call =
            (".{0,4}", proptest::option::of(".{0,4}")).prop_map(|(name, arguments)| ToolCall { name, arguments });
        prop_oneof![
            ".{0,6}".prop_map(Message::user),
            (".{0,6}", proptest::option::of(call)).prop_map(|(text, call)| Message::assistant(text, call)),
            (".{0,4}", ".{0,6}").prop_map(|(name, text)| Message::function(name, text)),
            Just(Message { content: None, ..Message::assistant("", None) }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(messages in proptest::collection::vec(message(), 0..5)) {
            prop_assert_eq!(of(write_messages(&messages)), Ok(messages));
        }
    }

    #[test]
    fn a_message_of_another_form_is_refused_with_its_field() {
        let refusals = [
            json!([{"content": "x"}]),
            json!([{"role": "user", "content": "x"}, {"role": "system", "content": "x"}]),
            json!([{"role": "user", "content": 1}]),
            json!([{"role": "assistant", "content": "x", "function_call": "f"}]),
            json!([{"role": "assistant", "content": "x", "function_call": {}}]),
            json!({}),
        ];
        insta::assert_snapshot!(refusals.map(|messages| of(messages).unwrap_err()).join("\n"));
    }
}
