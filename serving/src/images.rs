//! Images whose bytes are in a request, as simulated models take them. A whole reading passes a part that is no text on as it is.

use regatta_proto::Image;

use crate::error::ApiError;
use crate::fields::Fields;

/// Reason to refuse an image that cannot be read.
const NO_IMAGE: &str = "is an image, but the request holds no PNG, JPEG, GIF or WebP in base64; a simulated model fetches nothing, so send the file itself";

/// Reads the image of a part of the type `kind`, in any of the formats; `None` if parts of that type hold none.
///
/// # Errors
/// 400, when its bytes are not in the request, or are no image.
pub(crate) fn image(part: &mut Fields<'_>, kind: &str) -> Result<Option<Image>, ApiError> {
    let image = match kind {
        "image_url" => {
            let Some(mut place) = part.object("image_url")? else { return Err(part.refuse("image_url", "is missing")) };
            Image::of_data_url(&place.need_text("url")?)
        }
        "input_image" => Image::of_data_url(&part.need_text("image_url")?),
        "image" => {
            let Some(mut source) = part.object("source")? else { return Err(part.refuse("source", "is missing")) };
            source.text("data")?.and_then(|data| Image::of_base64(&data))
        }
        _ => return Ok(None),
    };
    match image {
        Some(image) => Ok(Some(image)),
        None => Err(part.refuse("type", NO_IMAGE)),
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::ChatMessage;
    use serde_json::{Value, json};

    use super::*;
    use crate::{ChatCall, Format, Reading};

    /// The beginning of a PNG, and nothing more.
    const PNG: &str = "iVBORw0KGgo=";

    /// A request of `format` whose message is a part and the text "what?".
    fn body(format: Format, part: &Value) -> String {
        let body = match format {
            Format::Chat => {
                json!({"model": "m", "messages": [{"role": "user", "content": [part, {"type": "text", "text": "what?"}]}]})
            }
            Format::Messages => {
                let content = json!([part, {"type": "text", "text": "what?"}]);
                json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]})
            }
            Format::Responses => {
                json!({"model": "m", "input": [{"role": "user", "content": [part, {"type": "input_text", "text": "what?"}]}]})
            }
        };
        body.to_string()
    }

    /// The part of an image as `format` writes it: its bytes, or its address.
    fn part(format: Format, data: Option<&str>) -> Value {
        let url = data.map_or_else(|| "https://h/x.png".to_owned(), |data| format!("data:image/png;base64,{data}"));
        match (format, data) {
            (Format::Chat, _) => json!({"type": "image_url", "image_url": {"url": url}}),
            (Format::Messages, Some(data)) => {
                json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}})
            }
            (Format::Messages, None) => json!({"type": "image", "source": {"type": "url", "url": url}}),
            (Format::Responses, _) => json!({"type": "input_image", "image_url": url, "detail": "auto"}),
        }
    }

    fn read(format: Format, part: &Value, reading: Reading) -> Result<Vec<ChatMessage>, String> {
        let body = body(format, part);
        let call = ChatCall::parse(format, body.as_bytes(), reading).map_err(|error| error.message)?;
        Ok(call.request.messages)
    }

    #[test]
    fn a_simulated_model_sees_the_image_beside_the_text_in_every_format() {
        for format in Format::ALL {
            let messages = read(format, &part(format, Some(PNG)), Reading::Gist).unwrap();
            assert_eq!(messages.len(), 1, "{format:?}");
            assert_eq!(&*messages[0].content, "what?");
            assert_eq!(messages[0].images, [Image::of_base64(PNG).unwrap()], "{format:?}");
        }
    }

    #[test]
    fn an_image_at_an_address_and_what_is_no_image_are_refused_by_name() {
        for format in Format::ALL {
            for data in [None, Some("aGVsbG8="), Some("?")] {
                let refused = read(format, &part(format, data), Reading::Gist).unwrap_err();
                assert!(refused.contains("].type` is an image, but the request holds no PNG"), "{format:?}: {refused}");
            }
        }
    }

    #[test]
    fn an_image_of_an_agents_client_goes_to_the_endpoint_as_the_client_wrote_it() {
        for format in Format::ALL {
            let body = body(format, &part(format, Some(PNG)));
            let call = ChatCall::parse(format, body.as_bytes(), Reading::Whole).unwrap();
            assert!(call.request.images().next().is_none() && call.request.passed.is_some(), "{format:?}");
        }
    }
}
