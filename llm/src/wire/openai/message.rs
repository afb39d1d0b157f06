//! A message of an answer, whole or a piece of it in a stream.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::loose::{Text, content};

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default, deserialize_with = "content")]
    pub(super) content: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    /// The field of DeepSeek, SGLang and vLLM.
    #[serde(borrow, default)]
    pub(super) reasoning_content: Text<'a>,
    /// The field of OpenRouter, Together and newer versions of vLLM.
    #[serde(borrow, default)]
    pub(super) reasoning: Text<'a>,
    pub(super) reasoning_details: Option<Value>,
    pub(super) tool_calls: Option<Value>,
    pub(super) function_call: Option<Value>,
}
