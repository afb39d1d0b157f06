//! Probes of OpenAI's responses.

use super::Becomes::{Carried, Invalid, Passed, Refused};
use super::{Probe, hold};
use crate::Format;
use crate::refused::{NOT_KEPT, PROVIDERS_STATE, PROVIDERS_TOOL, SIGNED_THOUGHT, UNREAD_ANSWER};

const PLAIN: &str = r#"{"model": "m", "input": "x"}"#;

/// Fields of the request.
const FIELDS: &[Probe] = &[
    (r#"{"instructions": "s"}"#, Carried),
    (r#"{"max_output_tokens": 5}"#, Carried),
    (r#"{"max_output_tokens": 0}"#, Invalid),
    (r#"{"temperature": 0.5, "top_p": 0.5}"#, Carried),
    (r#"{"stream": true, "stream_options": {"include_obfuscation": false}}"#, Carried),
    (r#"{"store": false}"#, Carried),
    (r#"{"user": "u", "metadata": {"a": "b"}}"#, Carried),
    (r#"{"previous_response_id": "resp_1"}"#, Carried),
    (r#"{"previous_response_id": null, "conversation": null}"#, Carried),
    (r#"{"previous_response_id": "resp_2"}"#, Refused(NOT_KEPT)),
    (r#"{"previous_response_id": 1}"#, Invalid),
    (r#"{"conversation": "conv_0"}"#, Carried),
    (r#"{"conversation": {"id": "conv_0"}}"#, Carried),
    (r#"{"conversation": "conv_1"}"#, Refused(NOT_KEPT)),
    (r#"{"previous_response_id": "resp_1", "conversation": "conv_0"}"#, Invalid),
    (r#"{"prompt": {"id": "p"}}"#, Refused(PROVIDERS_STATE)),
    (r#"{"background": false}"#, Carried),
    (r#"{"background": true}"#, Refused(UNREAD_ANSWER)),
    (r#"{"truncation": "disabled"}"#, Carried),
    (r#"{"truncation": "auto"}"#, Passed(&["truncation"])),
    (r#"{"client_metadata": {"session_id": "s"}}"#, Carried),
    (r#"{"max_tool_calls": 3}"#, Passed(&["max_tool_calls"])),
    (r#"{"context_management": [{"type": "compaction"}]}"#, Passed(&["context_management"])),
    (r#"{"service_tier": "flex"}"#, Passed(&["service_tier"])),
    (r#"{"include": ["reasoning.encrypted_content"]}"#, Carried),
    (r#"{"include": ["message.output_text.logprobs"]}"#, Carried),
    (r#"{"include": ["web_search_call.action.sources", "file_search_call.results"]}"#, Carried),
    (r#"{"include": ["anything"]}"#, Invalid),
    (r#"{"text": {"verbosity": "medium"}}"#, Carried),
    (r#"{"text": {"verbosity": "low"}}"#, Passed(&["text"])),
    (r#"{"text": {"format": {"type": "text"}}}"#, Carried),
    (r#"{"text": {"format": {"type": "json_object"}}}"#, Passed(&["text"])),
    (r#"{"reasoning": {"effort": "low", "summary": "auto"}}"#, Carried),
    (r#"{"reasoning": {"effort": "xhigh"}}"#, Passed(&["reasoning"])),
    (r#"{"reasoning": {"effort": "low", "context": "auto"}}"#, Passed(&["reasoning"])),
    (r#"{"top_logprobs": 3}"#, Carried),
    // As Codex begins a session, beside its functions.
    (
        r#"{"stream": true, "tool_choice": "auto", "parallel_tool_calls": true, "reasoning": {"summary": "auto"}, "store": false, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k", "client_metadata": {"x-codex-installation-id": "i", "turn_id": "t"}}"#,
        Carried,
    ),
];

/// Tools and the choice among them.
const TOOLS: &[Probe] = &[
    (r#"{"tools": [{"type": "function", "name": "f", "parameters": {}, "strict": true}]}"#, Carried),
    (r#"{"tools": [{"type": "function", "name": "f", "parameters": {}, "defer_loading": true}]}"#, Passed(&["tools"])),
    (r#"{"tools": [{"type": "web_search", "external_web_access": false}]}"#, Carried),
    (r#"{"tools": [{"type": "web_search_preview"}]}"#, Carried),
    (r#"{"tools": [{"type": "file_search", "vector_store_ids": ["v"]}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "mcp", "server_label": "a"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "image_generation"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "custom", "name": "f"}]}"#, Carried),
    (
        r#"{"tools": [{"type": "custom", "name": "f", "description": "d", "format": {"type": "grammar", "syntax": "lark", "definition": "start: x"}}]}"#,
        Carried,
    ),
    (r#"{"tools": [{"type": "namespace", "name": "n", "tools": []}]}"#, Carried),
    (
        r#"{"tools": [{"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "f", "defer_loading": true}]}]}"#,
        Carried,
    ),
    (
        r#"{"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "code_interpreter"}]}]}"#,
        Refused(PROVIDERS_TOOL),
    ),
    // The provider would be offered its search with the other fields.
    (
        r#"{"tools": [{"type": "web_search"}, {"type": "function", "name": "f", "parameters": {}, "defer_loading": true}]}"#,
        Carried,
    ),
    (r#"{"tools": [{"type": "local_shell"}]}"#, Refused(UNREAD_ANSWER)),
    (r#"{"tools": [{"type": "computer_use_preview"}]}"#, Refused(UNREAD_ANSWER)),
    (r#"{"tool_choice": {"type": "function", "name": "f"}}"#, Carried),
    (r#"{"tool_choice": {"type": "custom", "name": "f"}}"#, Carried),
    (r#"{"tool_choice": {"type": "web_search_preview"}}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}"#, Passed(&["tool_choice"])),
    (r#"{"tool_choice": "required"}"#, Carried),
    (r#"{"tool_choice": "whichever"}"#, Invalid),
    (r#"{"parallel_tool_calls": true}"#, Carried),
];

/// Items of the conversation.
const ITEMS: &[Probe] = &[
    (r#"{"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]}"#, Carried),
    (
        r#"{"input": [{"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": [{"type": "output_text", "text": "x", "annotations": [], "logprobs": []}]}]}"#,
        Carried,
    ),
    (
        r#"{"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "https://h/x.png", "detail": "auto"}]}]}"#,
        Passed(&["input"]),
    ),
    (
        r#"{"instructions": "s", "input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]}"#,
        Passed(&["input", "instructions"]),
    ),
    (
        r#"{"input": [{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:"}]}]}"#,
        Passed(&["input"]),
    ),
    (r#"{"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}"#, Refused(PROVIDERS_STATE)),
    (r#"{"input": [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]}"#, Passed(&["input"])),
    (r#"{"input": [{"type": "item_reference", "id": "msg_1"}]}"#, Carried),
    (r#"{"input": [{"id": "msg_1"}]}"#, Carried),
    (r#"{"input": [{"type": "item_reference", "id": "msg_2"}]}"#, Refused(NOT_KEPT)),
    (r#"{"previous_response_id": "resp_1", "input": 1}"#, Invalid),
    (
        r#"{"input": [{"role": "user", "content": "x"}, {"type": "web_search_call", "id": "w", "status": "completed"}]}"#,
        Passed(&["input"]),
    ),
    (
        r#"{"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, {"type": "function_call_output", "call_id": "c", "output": "x"}]}"#,
        Carried,
    ),
    (
        r#"{"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "namespace": "n"}]}"#,
        Carried,
    ),
    (
        r#"{"input": [{"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}, {"type": "custom_tool_call_output", "call_id": "c", "output": "x"}]}"#,
        Carried,
    ),
    (
        r#"{"input": [{"type": "function_call_output", "call_id": "c", "output": [{"type": "input_image", "image_url": "data:"}]}]}"#,
        Passed(&["input"]),
    ),
    (
        r#"{"input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "a"}]}, {"type": "reasoning", "summary": [{"type": "summary_text", "text": "b"}]}, {"role": "assistant", "content": "x"}]}"#,
        Passed(&["input"]),
    ),
    (
        r#"{"input": [{"type": "reasoning", "summary": [], "encrypted_content": "s"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": [{"type": "input_image"}]}]}"#,
        Refused(SIGNED_THOUGHT),
    ),
    (r#"{"input": [{"role": "critic", "content": "x"}]}"#, Invalid),
    (r#"{"input": 1}"#, Invalid),
    (r#"{"input": []}"#, Invalid),
];

#[test]
fn fields_of_responses_cost_no_session() {
    for probes in [FIELDS, TOOLS, ITEMS] {
        hold(Format::Responses, PLAIN, probes);
    }
}
