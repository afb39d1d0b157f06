//! Images of messages. A transcript, a key of the response cache and a message between processes have the digest of an image, never its
//! bytes: those are in the data set, which every process has by its digest.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Digest, binary_size};

/// Format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImageFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// WebP.
    Webp,
}

impl ImageFormat {
    /// The format that `content` begins as; `None` for anything else. Names of files say nothing: providers look at the bytes, too.
    #[must_use]
    pub fn of(content: &[u8]) -> Option<Self> {
        let is_webp = content.starts_with(b"RIFF") && content.get(8..12).is_some_and(|kind| kind == b"WEBP");
        if content.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if content.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if is_webp {
            Some(Self::Webp)
        } else {
            None
        }
    }

    /// Name in requests and in files: `png`, `jpeg`, `gif`, `webp`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    /// Media type, as `image/png`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// An image of a message: format, digest and size, and the bytes beside them where the message comes from a data set. What is written down
/// has no bytes, so that one which is read again can be compared and counted, but not sent.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Image {
    /// Format of the file.
    pub format: ImageFormat,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Size of the file in bytes.
    pub bytes: u64,
    #[serde(skip)]
    content: Option<Bytes>,
}

impl Image {
    /// The image whose file has this content; `None` if it is in none of the known formats.
    #[must_use]
    pub fn of(content: Bytes) -> Option<Self> {
        let format = ImageFormat::of(&content)?;
        Some(Self { format, digest: Digest::of(&content), bytes: content.len() as u64, content: Some(content) })
    }

    /// The image whose file this base64 text holds; `None` if it holds none.
    #[must_use]
    pub fn of_base64(text: &str) -> Option<Self> {
        Self::of(STANDARD.decode(text).ok()?.into())
    }

    /// The image whose file is in this address, as OpenAI's formats have it; `None` for any other address, and if the file is no image.
    #[must_use]
    pub fn of_data_url(url: &str) -> Option<Self> {
        let (_, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        Self::of_base64(data)
    }

    /// The file in base64, as providers are sent it.
    ///
    /// # Errors
    /// A sentence, when only the reference is here.
    pub fn base64(&self) -> Result<String, String> {
        match &self.content {
            Some(content) => Ok(STANDARD.encode(content)),
            None => Err(format!("the {self} is not at hand: only its digest is recorded")),
        }
    }

    /// The file as an address, as OpenAI's formats have it.
    ///
    /// # Errors
    /// As [`Self::base64`]'s.
    pub fn data_url(&self) -> Result<String, String> {
        Ok(format!("data:{};base64,{}", self.format.media_type(), self.base64()?))
    }

    /// Bytes of the file in base64.
    #[must_use]
    pub const fn base64_bytes(&self) -> u64 {
        self.bytes.div_ceil(3).saturating_mul(4)
    }
}

/// Equal images are written alike, whether their bytes are here or not: one stands for the other in the compact form of transcripts.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        let Self { format, digest, bytes, content: _ } = self;
        (format, digest, bytes) == (&other.format, &other.digest, &other.bytes)
    }
}

impl Eq for Image {}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} image of {}, sha256 {}", self.format.as_str(), binary_size(self.bytes), self.digest.short())
    }
}

/// Without the bytes, which would fill a log.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatMessage, ChatRequest, ChatRole, Sampling, json_bytes};

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

    fn image() -> Image {
        Image::of(Bytes::from_static(PNG)).unwrap()
    }

    #[test]
    fn the_format_is_that_of_the_bytes() {
        let format = |content: &[u8]| ImageFormat::of(content).map(ImageFormat::media_type);
        assert_eq!(format(PNG), Some("image/png"));
        assert_eq!(format(b"\xff\xd8\xff\xe0 JFIF"), Some("image/jpeg"));
        assert_eq!(format(b"GIF89a"), Some("image/gif"));
        assert_eq!(format(b"RIFF\x10\0\0\0WEBPVP8 "), Some("image/webp"));
        for other in [&b""[..], b"\x89PNG", b"RIFF\x10\0\0\0WAVE", b"<svg/>", b"BM", b"%PDF-1.7"] {
            assert_eq!(format(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_image_is_written_as_a_reference_and_what_is_read_again_is_equal_but_cannot_be_sent() {
        let image = image();
        let written = serde_json::to_string(&image).unwrap();
        let digest = Digest::of(PNG);
        assert_eq!(written, format!(r#"{{"format":"png","digest":"{digest}","bytes":{}}}"#, PNG.len()));
        let read: Image = serde_json::from_str(&written).unwrap();
        assert_eq!(read, image);
        let refused = read.base64().unwrap_err();
        let short = digest.short();
        assert_eq!(
            refused,
            format!("the png image of 18 bytes, sha256 {short} is not at hand: only its digest is recorded")
        );
    }

    #[test]
    fn a_file_survives_base64() {
        let text = image().base64().unwrap();
        assert_eq!(text.len() as u64, image().base64_bytes());
        assert_eq!(Image::of_base64(&text), Some(image()));
        for other in ["", "aGVsbG8=", "?"] {
            assert_eq!(Image::of_base64(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_survives_an_address() {
        let url = image().data_url().unwrap();
        assert!(url.starts_with("data:image/png;base64,"), "{url}");
        assert_eq!(Image::of_data_url(&url), Some(image()));
        for other in ["", "https://h/x.png", "data:image/png,x", "data:text/plain;base64,aGVsbG8="] {
            assert_eq!(Image::of_data_url(other), None, "{other}");
        }
    }

    #[test]
    fn an_image_is_part_of_the_digest_of_its_request_and_one_without_images_is_written_as_before_there_were_any() {
        let plain = ChatMessage::new(ChatRole::User, "x");
        let request = |message: &ChatMessage| ChatRequest::new(vec![message.clone()], Sampling::default());
        let written = serde_json::to_value(request(&plain)).unwrap();
        assert_eq!(written["messages"][0], serde_json::json!({"role": "user", "content": "x"}));
        let other = Image::of(Bytes::from_static(b"GIF89a")).unwrap();
        let with = |images: Vec<Image>| json_bytes(&request(&ChatMessage { images, ..plain.clone() }));
        let all = [with(Vec::new()), with(vec![image()]), with(vec![other.clone()]), with(vec![image(), other])];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|before| before != one), "{at}");
            assert!(one.len() < 1000, "the bytes of the image are in the request");
        }
    }

    #[test]
    fn a_person_is_shown_a_line_for_each_image_before_the_text() {
        let message = ChatMessage { images: vec![image()], ..ChatMessage::new(ChatRole::User, "what?") };
        let short = Digest::of(PNG).short();
        assert_eq!(message.shown(), format!("(png image of 18 bytes, sha256 {short})\nwhat?"));
    }

    #[test]
    fn an_image_counts_as_the_largest_that_providers_charge_for_and_is_sent_in_base64() {
        let plain = ChatMessage::new(ChatRole::User, "x");
        let with = ChatMessage { images: vec![image(), image()], ..plain.clone() };
        let of = |message: ChatMessage| ChatRequest::new(vec![message], Sampling::default());
        let (plain, with) = (of(plain), of(with));
        assert_eq!((plain.media_tokens(), with.media_tokens()), (0, 100_000));
        assert_eq!(plain.prompt_bytes(), with.prompt_bytes());
        assert_eq!(plain.sent_bytes(), plain.prompt_bytes());
        assert_eq!(with.sent_bytes(), with.prompt_bytes() + 2 * image().base64_bytes());
    }
}
