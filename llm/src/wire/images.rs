//! Images of messages, as formats write them.

use regatta_proto::{ChatMessage, ChatRequest, ChatRole, ImageFormat};

/// An image that is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) format: ImageFormat,
    /// The file in base64.
    pub(crate) data: String,
}

impl Encoded {
    /// The file as an address, as OpenAI's formats have it.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.format.media_type(), self.data)
    }
}

/// Refuses images where no format has a place for them: providers take them from the user alone.
///
/// # Errors
/// A sentence for people.
pub(crate) fn only_users_have_images(request: &ChatRequest) -> Result<(), String> {
    match request.messages.iter().find(|message| message.role != ChatRole::User && !message.images.is_empty()) {
        Some(_) => Err("images belong to messages of the user alone".to_owned()),
        None => Ok(()),
    }
}

/// The images of `message`.
///
/// # Errors
/// A sentence for people, when the bytes of one are not here.
pub(crate) fn encoded(message: &ChatMessage) -> Result<Vec<Encoded>, String> {
    message.images.iter().map(|image| Ok(Encoded { format: image.format, data: image.base64()? })).collect()
}

/// Bytes that the images of a request take in its body, so that it is written without being copied as it grows.
pub(crate) fn encoded_bytes(request: &ChatRequest) -> usize {
    let bytes = request.images().map(|image| usize::try_from(image.base64_bytes()).unwrap_or(usize::MAX));
    bytes.fold(0, usize::saturating_add)
}

/// The text of `message`, unless it only has images: providers refuse a text without a visible character.
pub(crate) fn text_beside_images(message: &ChatMessage) -> Option<&str> {
    (message.images.is_empty() || !message.content.trim().is_empty()).then_some(&*message.content)
}

#[cfg(test)]
mod tests {
    use regatta_proto::{Image, Sampling};
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::Format;
    use crate::wire::anthropic::Anthropic;
    use crate::wire::gemini::Gemini;
    use crate::wire::openai::OpenAi;
    use crate::wire::responses::Responses;

    fn formats() -> [Box<dyn Format>; 4] {
        [Box::new(OpenAi::new("http://localhost")), Box::new(Responses), Box::new(Anthropic), Box::new(Gemini)]
    }

    fn message(base64: &str, text: &str) -> ChatMessage {
        ChatMessage { images: vec![Image::of_base64(base64).unwrap()], ..ChatMessage::new(ChatRole::User, text) }
    }

    /// The beginning of a PNG, and nothing more.
    const PNG: &str = "iVBORw0KGgo=";
    const GIF: &str = "R0lGODlh";

    fn sent(format: &dyn Format, message: ChatMessage) -> Result<Value, String> {
        let request = ChatRequest::new(vec![message], Sampling::default());
        Ok(serde_json::from_slice(&format.request("claude-opus-4-5", &request, false)?.body).unwrap())
    }

    #[test]
    fn each_format_has_the_image_before_the_text() {
        let [chat, responses, anthropic, gemini] =
            formats().map(|format| sent(&*format, message(PNG, "what?")).unwrap());
        let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}});
        assert_eq!(chat["messages"][0]["content"], json!([image, {"type": "text", "text": "what?"}]));
        let image = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"});
        assert_eq!(responses["input"][0]["content"], json!([image, {"type": "input_text", "text": "what?"}]));
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
        let image = json!({"type": "image", "source": source});
        assert_eq!(anthropic["messages"][0]["content"], json!([image, {"type": "text", "text": "what?"}]));
        let image = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
        assert_eq!(gemini["contents"][0]["parts"], json!([image, {"text": "what?"}]));
    }

    #[test]
    fn a_message_that_is_an_image_alone_has_no_text() {
        let [chat, responses, anthropic, gemini] = formats().map(|format| sent(&*format, message(PNG, " ")).unwrap());
        let contents = [
            &chat["messages"][0]["content"],
            &responses["input"][0]["content"],
            &anthropic["messages"][0]["content"],
            &gemini["contents"][0]["parts"],
        ];
        for content in contents {
            assert_eq!(content.as_array().map(Vec::len), Some(1), "{content}");
        }
    }

    #[test]
    fn a_cache_breakpoint_is_behind_the_text_also_beside_an_image() {
        let marked = ChatMessage { cache_until_here: true, ..message(PNG, "what?") };
        let text = json!({"type": "text", "text": "what?", "cache_control": {"type": "ephemeral"}});
        let [chat, _, anthropic, _] = formats().map(|format| sent(&*format, marked.clone()).unwrap());
        assert_eq!(chat["messages"][0]["content"][1], text);
        assert_eq!(anthropic["messages"][0]["content"][1], text);
    }

    #[test]
    fn an_image_whose_bytes_are_not_here_and_one_of_another_than_the_user_are_refused() {
        let recorded: ChatMessage = serde_json::from_value(serde_json::to_value(message(PNG, "x")).unwrap()).unwrap();
        for format in formats() {
            let refused = sent(&*format, recorded.clone()).unwrap_err();
            assert!(refused.ends_with("is not at hand: only its digest is recorded"), "{refused}");
            for role in [ChatRole::System, ChatRole::Assistant] {
                let refused = sent(&*format, ChatMessage { role, ..message(PNG, "x") }).unwrap_err();
                assert_eq!(refused, "images belong to messages of the user alone");
            }
        }
    }

    #[test]
    fn gemini_alone_takes_no_gif() {
        let [chat, responses, anthropic, gemini] = formats().map(|format| sent(&*format, message(GIF, "x")));
        assert!(chat.is_ok() && responses.is_ok() && anthropic.is_ok());
        assert_eq!(gemini.unwrap_err(), "Gemini takes no GIF; make a PNG, a JPEG or a WebP of the image");
    }
}
