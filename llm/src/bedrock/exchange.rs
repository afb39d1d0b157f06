//! Sends and receives raw bodies, past the SDK's types.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_sdk_bedrockruntime::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_bedrockruntime::error::BoxError;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::transport::Answer;

/// Sets the body of a request before it is signed, and stores the answer. Clones share one exchange.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    body: Bytes,
    headers: HeaderMap,
    answer: Arc<Mutex<Option<Answer>>>,
}

impl Exchange {
    pub(super) fn new(body: Bytes, headers: HeaderMap) -> Self {
        Self { body, headers, answer: Arc::default() }
    }

    /// Takes the answer. The body of a streamed answer is empty.
    pub(super) fn answer(&self) -> Option<Answer> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
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

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let answer = Answer {
            status: response.status().as_u16(),
            headers: headers(response),
            body: Bytes::copy_from_slice(response.body().bytes().unwrap_or_default()),
        };
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
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
