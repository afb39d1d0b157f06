//! Probes of chat completions.

use super::Becomes::{Carried, Invalid, Passed, Refused};
use super::{Probe, hold};
use crate::Format;
use crate::refused::{
    ACCESS, DEARER, DISGUISED, ONE_ANSWER, OTHER_LIMIT, OTHER_MODEL, PROVIDERS_STATE, PROVIDERS_TOOL, SIGNED_THOUGHT,
    UNREAD_ANSWER,
};

/// A request that the probes are put into.
pub(super) const PLAIN: &str = r#"{"model": "m", "messages": [{"role": "user", "content": "x"}]}"#;

/// Fields of the request.
const FIELDS: &[Probe] = &[
    (r#"{"temperature": 0.5}"#, Carried),
    (r#"{"top_p": 0.5}"#, Carried),
    (r#"{"max_tokens": 5}"#, Carried),
    (r#"{"max_completion_tokens": 5}"#, Carried),
    (r#"{"max_tokens": 0}"#, Invalid),
    (r#"{"seed": 5}"#, Carried),
    (r#"{"seed": -5}"#, Passed(&["seed"])),
    (r#"{"stop": "x"}"#, Carried),
    (r#"{"stop": ["x", "y"]}"#, Carried),
    (r#"{"stream": true}"#, Carried),
    (r#"{"stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false}}"#, Carried),
    (r#"{"n": 1}"#, Carried),
    (r#"{"n": 2}"#, Refused(ONE_ANSWER)),
    (r#"{"user": "u"}"#, Carried),
    (r#"{"safety_identifier": "u"}"#, Carried),
    (r#"{"prompt_cache_key": "k", "prompt_cache_retention": "24h"}"#, Carried),
    (r#"{"metadata": {"a": "b"}}"#, Carried),
    (r#"{"store": true}"#, Carried),
    (r#"{"frequency_penalty": 0, "presence_penalty": 0.0}"#, Carried),
    (r#"{"frequency_penalty": 0.5}"#, Passed(&["frequency_penalty"])),
    (r#"{"presence_penalty": -0.5}"#, Passed(&["presence_penalty"])),
    (r#"{"frequency_penalty": "much"}"#, Invalid),
    (r#"{"logit_bias": {}}"#, Carried),
    (r#"{"logit_bias": {"50256": -100}}"#, Passed(&["logit_bias"])),
    (r#"{"logprobs": true}"#, Carried),
    (r#"{"logprobs": true, "top_logprobs": 5}"#, Carried),
    (r#"{"top_logprobs": 5}"#, Invalid),
    (r#"{"response_format": {"type": "text"}}"#, Carried),
    (r#"{"response_format": {"type": "json_object"}}"#, Passed(&["response_format"])),
    (
        r#"{"response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": {"type": "object"}}}}"#,
        Carried,
    ),
    (r#"{"response_format": {"type": "grammar", "grammar": "root ::= x"}}"#, Passed(&["response_format"])),
    (r#"{"verbosity": "medium"}"#, Carried),
    (r#"{"verbosity": "low"}"#, Passed(&["verbosity"])),
    (r#"{"reasoning_effort": "minimal"}"#, Carried),
    (r#"{"reasoning_effort": "high"}"#, Carried),
    (r#"{"reasoning_effort": "xhigh"}"#, Passed(&["reasoning_effort"])),
    (r#"{"reasoning_effort": "max"}"#, Passed(&["reasoning_effort"])),
    (r#"{"service_tier": "auto"}"#, Carried),
    (r#"{"service_tier": "flex"}"#, Passed(&["service_tier"])),
    (r#"{"service_tier": "priority"}"#, Passed(&["service_tier"])),
    (r#"{"prediction": {"type": "content", "content": "x"}}"#, Carried),
    (r#"{"modalities": ["text"]}"#, Carried),
    (r#"{"modalities": ["text", "audio"]}"#, Refused(UNREAD_ANSWER)),
    (r#"{"audio": {"voice": "alloy", "format": "wav"}}"#, Refused(UNREAD_ANSWER)),
    (r#"{"functions": [{"name": "f", "parameters": {}}]}"#, Carried),
    (r#"{"functions": [{"name": "f"}], "tools": [{"type": "function", "function": {"name": "g"}}]}"#, Invalid),
    (r#"{"function_call": "auto"}"#, Carried),
    (r#"{"function_call": {"name": "f"}}"#, Carried),
    (r#"{"function_call": "whichever"}"#, Invalid),
    (r#"{"function_call": "auto", "tool_choice": "auto"}"#, Invalid),
    (r#"{"function_call": "auto", "tool_choice": null}"#, Carried),
    (r#"{"web_search_options": {"search_context_size": "low"}}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"top_k": 5}"#, Passed(&["top_k"])),
    (r#"{"min_p": 0.1}"#, Passed(&["min_p"])),
    (r#"{"repetition_penalty": 1.1}"#, Passed(&["repetition_penalty"])),
    (r#"{"chat_template_kwargs": {"enable_thinking": false}}"#, Passed(&["chat_template_kwargs"])),
    (r#"{"guided_json": {"type": "object"}}"#, Passed(&["guided_json"])),
    (r#"{"guided_regex": "[a-z]+"}"#, Passed(&["guided_regex"])),
    (r#"{"ignore_eos": true, "min_tokens": 4}"#, Passed(&["ignore_eos", "min_tokens"])),
    (r#"{"cache_prompt": true}"#, Passed(&["cache_prompt"])),
    (r#"{"grammar": "root ::= x"}"#, Passed(&["grammar"])),
    (r#"{"reasoning": {"effort": "high", "exclude": true}}"#, Passed(&["reasoning"])),
    (r#"{"include_reasoning": true}"#, Passed(&["include_reasoning"])),
    (r#"{"thinking": {"type": "enabled"}}"#, Passed(&["thinking"])),
    (r#"{"provider": {"order": ["a"], "allow_fallbacks": false}}"#, Passed(&["provider"])),
    (r#"{"usage": {"include": true}}"#, Passed(&["usage"])),
    (r#"{"transforms": ["middle-out"]}"#, Passed(&["transforms"])),
    (r#"{"models": ["a", "b"]}"#, Refused(OTHER_MODEL)),
    (r#"{"route": "fallback"}"#, Refused(OTHER_MODEL)),
    (r#"{"fallbacks": ["b"]}"#, Refused(OTHER_MODEL)),
    (r#"{"mock_response": "x"}"#, Refused(OTHER_MODEL)),
    (r#"{"preset": "p"}"#, Refused(OTHER_MODEL)),
    (r#"{"extra_body": {"model": "b"}}"#, Refused(OTHER_MODEL)),
    (r#"{"Model": "b"}"#, Refused(DISGUISED)),
    (r#"{"N": 5}"#, Refused(DISGUISED)),
    (r#"{"MAX_TOKENS": 100000}"#, Refused(DISGUISED)),
    (r#"{"best_of": 5}"#, Refused(ONE_ANSWER)),
    (r#"{"max_output_tokens": 100000}"#, Refused(OTHER_LIMIT)),
    (r#"{"max_tokens": 5, "max_new_tokens": 100000}"#, Refused(OTHER_LIMIT)),
    (r#"{"search_parameters": {"mode": "on"}}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"enable_search": true}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"plugins": [{"id": "web"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"api_key": "k"}"#, Refused(ACCESS)),
    (r#"{"api_base": "http://h"}"#, Refused(ACCESS)),
    (r#"{"extra_headers": {"authorization": "k"}}"#, Refused(ACCESS)),
    (r#"{"x.y[0]": 1}"#, Passed(&["x.y[0]"])),
    (r#"{"top_k": null}"#, Carried),
];

/// Tools and the choice among them.
const TOOLS: &[Probe] = &[
    (r#"{"tools": [{"type": "function", "function": {"name": "f"}}]}"#, Carried),
    (r#"{"tools": [{"type": "function", "function": {"name": "f", "strict": true, "parameters": {}}}]}"#, Carried),
    (r#"{"tools": [{"type": "function", "function": {"name": "f"}, "defer_loading": true}]}"#, Passed(&["tools"])),
    (
        r#"{"tools": [{"type": "function", "function": {"name": "f", "response": {"type": "string"}}}]}"#,
        Passed(&["tools"]),
    ),
    (r#"{"tools": [{"type": "function", "function": {"name": "f", "parameters": 1}}]}"#, Invalid),
    (r#"{"tools": [{"type": "function"}]}"#, Invalid),
    (r#"{"tools": [{"type": "custom", "custom": {"name": "f"}}]}"#, Carried),
    (
        r#"{"tools": [{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "x"}}}}]}"#,
        Carried,
    ),
    (r#"{"tools": [{"type": "custom"}]}"#, Invalid),
    (r#"{"tool_choice": {"type": "custom", "custom": {"name": "f"}}}"#, Carried),
    (r#"{"tools": [{"type": "web_search"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "function", "Type": "web_search", "function": {"name": "f"}}]}"#, Refused(DISGUISED)),
    (r#"{"tools": []}"#, Carried),
    (r#"{"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}"#, Carried),
    (r#"{"tool_choice": {"type": "function", "function": {"name": "f"}}}"#, Carried),
    (
        r#"{"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}}"#,
        Passed(&["tool_choice"]),
    ),
    (r#"{"tool_choice": "whichever"}"#, Invalid),
    (r#"{"parallel_tool_calls": false}"#, Carried),
];

/// Messages.
const MESSAGES: &[Probe] = &[
    (r#"{"messages": [{"role": "developer", "content": "x"}]}"#, Carried),
    (r#"{"messages": [{"role": "user", "content": "x", "name": "bob"}]}"#, Carried),
    (r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}"#, Carried),
    (
        r#"{"messages": [{"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "c", "content": "x"}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://h/x.png"}}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}}]}]}"#,
        Refused(DEARER),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:"}}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]}"#,
        Refused(PROVIDERS_STATE),
    ),
    (
        r#"{"messages": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]}"#,
        Passed(&["messages"]),
    ),
    (r#"{"messages": [{"role": "assistant", "content": null, "refusal": "no"}]}"#, Passed(&["messages"])),
    (
        r#"{"messages": [{"role": "assistant", "content": "x", "refusal": null, "annotations": [], "audio": null}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": "x", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]}]}"#,
        Passed(&["messages"]),
    ),
    (r#"{"messages": [{"role": "assistant", "content": "x", "reasoning_content": "hm"}]}"#, Carried),
    (
        r#"{"messages": [{"role": "assistant", "content": "x", "reasoning_details": [{"data": "s"}], "thinking_blocks": [1]}]}"#,
        Refused(SIGNED_THOUGHT),
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}, {"role": "function", "name": "f", "content": "x"}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"a": 1}}]}]}"#,
        Passed(&["messages"]),
    ),
    (r#"{"messages": [{"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}}]}"#, Carried),
    (r#"{"messages": [{"role": "function", "name": "f", "content": "x"}]}"#, Invalid),
    (r#"{"messages": [{"role": "tool", "content": "x"}]}"#, Invalid),
    (r#"{"messages": []}"#, Invalid),
    (r#"{"model": null}"#, Invalid),
];

#[test]
fn fields_of_chat_completions_cost_no_session() {
    for probes in [FIELDS, TOOLS, MESSAGES] {
        hold(Format::Chat, PLAIN, probes);
    }
}
