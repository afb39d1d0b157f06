//! Sends and receives raw bodies, past the SDK's types and past its memory, which nobody counts.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::config::interceptors::{
    BeforeDeserializationInterceptorContextMut, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_bedrockruntime::error::BoxError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::{Bytes, BytesMut};
use regatta_memory::{HeldBytes, TooLarge, parsed_bytes};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::failure::chain;
use super::stream::ANSWER_MAX;
use crate::transport::Answer;

/// Sets the body of a request before it is signed, and takes the answer. Clones share one exchange.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    body: Bytes,
    headers: HeaderMap,
    /// The SDK decodes the body of the answer, event by event.
    is_streamed: bool,
    taken: Arc<Mutex<Option<Taken>>>,
}

/// An answer whose head has arrived.
#[derive(Debug)]
struct Taken {
    status: u16,
    headers: HeaderMap,
    /// Body of a whole answer, of which nothing was read yet; `None` if the SDK reads it.
    unread: Option<SdkBody>,
}

impl Exchange {
    pub(super) fn new(body: Bytes, headers: HeaderMap, is_streamed: bool) -> Self {
        Self { body, headers, is_streamed, taken: Arc::default() }
    }

    /// The headers of a streamed answer.
    pub(super) fn answered_headers(&self) -> Option<HeaderMap> {
        self.take().map(|taken| taken.headers)
    }

    /// Reads a whole answer, as `held` has room for it, and for what it takes once it is parsed.
    ///
    /// # Errors
    /// With the reason, when it breaks off, or is larger than one may be.
    pub(super) async fn whole_answer(&self, held: &mut HeldBytes) -> Result<Answer, String> {
        let Some(Taken { status, headers, unread: Some(unread) }) = self.take() else {
            return Err("there was no answer".to_owned());
        };
        let no_room = |error: TooLarge| format!("the answer cannot be held: {error}");
        let (mut pieces, mut body) = (ByteStream::new(unread), BytesMut::new());
        while let Some(piece) = pieces.next().await {
            let piece =
                piece.map_err(|error| format!("the body broke off after {} bytes: {}", body.len(), chain(&error)))?;
            if body.len() + piece.len() > ANSWER_MAX {
                return Err(format!("the answer is larger than {ANSWER_MAX} bytes"));
            }
            // The next piece is not received before there is room.
            held.grow(piece.len() as u64).await.map_err(no_room)?;
            body.extend_from_slice(&piece);
        }
        held.grow(parsed_bytes(&body) - body.len() as u64).await.map_err(no_room)?;
        Ok(Answer { status, headers, body: body.freeze() })
    }

    fn take(&self) -> Option<Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Intercept for Exchange {
    fn name(&self) -> &'static str {
        "Exchange"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let request = context.request_mut();
        for (name, value) in &self.headers {
            request.headers_mut().try_insert(name.as_str().to_owned(), value.to_str()?.to_owned())?;
        }
        request.headers_mut().try_insert("content-length", self.body.len().to_string())?;
        *request.body_mut() = self.body.clone().into();
        Ok(())
    }

    /// Takes a whole answer's body away from the SDK, which would read all of it at once. An error's is left to it, which knows the exceptions.
    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        let (status, headers) = (response.status(), headers(response));
        let is_whole = status.is_success() && !self.is_streamed;
        let unread = is_whole.then(|| std::mem::replace(response.body_mut(), SdkBody::from("{}")));
        let taken = Taken { status: status.as_u16(), headers, unread };
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
        Ok(())
    }
}

/// The headers of an answer, as the rest of the crate reads them.
pub(super) fn headers(response: &HttpResponse) -> HeaderMap {
    let known = response
        .headers()
        .iter_bytes()
        .filter_map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::from_bytes(value).ok()?)));
    known.collect()
}
