//! Probes of Anthropic's messages.

use super::Becomes::{Carried, Invalid, Passed, Refused};
use super::{Probe, hold};
use crate::Format;
use crate::refused::{DEARER, OTHER_LIMIT, PROVIDERS_STATE, PROVIDERS_TOOL, SIGNED_THOUGHT};

const PLAIN: &str = r#"{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}"#;

/// Fields of the request.
const FIELDS: &[Probe] = &[
    (r#"{"max_tokens": 0}"#, Invalid),
    (r#"{"temperature": 0.5, "top_p": 0.5}"#, Carried),
    (r#"{"top_k": 5}"#, Passed(&["top_k"])),
    (r#"{"stop_sequences": ["x"]}"#, Carried),
    (r#"{"stream": true}"#, Carried),
    (r#"{"metadata": {"user_id": "u"}}"#, Carried),
    (r#"{"system": "s"}"#, Carried),
    (r#"{"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]}"#, Carried),
    (r#"{"system": [{"type": "text", "text": "s", "extra": 1}]}"#, Passed(&["messages", "system"])),
    (r#"{"service_tier": "auto"}"#, Carried),
    (r#"{"service_tier": "priority"}"#, Passed(&["service_tier"])),
    (r#"{"speed": "fast"}"#, Refused(DEARER)),
    (r#"{"inference_geo": "eu"}"#, Refused(DEARER)),
    (r#"{"max_completion_tokens": 100000}"#, Refused(OTHER_LIMIT)),
    (r#"{"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}"#, Passed(&["context_management"])),
    (r#"{"cache_control": {"type": "ephemeral"}}"#, Carried),
    (r#"{"thinking": {"type": "enabled", "budget_tokens": 2000}}"#, Carried),
    (r#"{"thinking": {"type": "enabled"}}"#, Invalid),
    (r#"{"thinking": {"type": "disabled"}}"#, Carried),
    (r#"{"thinking": {"type": "adaptive", "display": "omitted"}}"#, Carried),
    (r#"{"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}"#, Carried),
    (
        r#"{"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}"#,
        Passed(&["output_config", "thinking"]),
    ),
    (
        r#"{"thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}}"#,
        Passed(&["output_config"]),
    ),
    (r#"{"thinking": {"type": "newer"}}"#, Passed(&["thinking"])),
    (r#"{"output_config": {"effort": "low"}}"#, Passed(&["output_config"])),
    (r#"{"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}"#, Carried),
    (r#"{"output_config": {"task_budget": {"type": "tokens", "total": 9}}}"#, Passed(&["output_config"])),
    (r#"{"output_format": {"type": "json_schema", "schema": {"type": "object"}}}"#, Carried),
    // As Claude Code begins a session, with and without its beta versions.
    (
        r#"{"stream": true, "metadata": {"user_id": "{}"}, "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"}, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}}"#,
        Passed(&["context_management"]),
    ),
    (
        r#"{"stream": true, "metadata": {"user_id": "{}"}, "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}"#,
        Carried,
    ),
    (r#"{"mcp_servers": [{"type": "url", "url": "https://h", "name": "a"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"container": "c"}"#, Refused(PROVIDERS_TOOL)),
];

/// Tools and the choice among them.
const TOOLS: &[Probe] = &[
    (r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}}]}"#, Carried),
    (r#"{"tools": [{"type": "custom", "name": "f", "input_schema": {"type": "object"}}]}"#, Carried),
    (
        r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}]}"#,
        Carried,
    ),
    (r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}, "defer_loading": true}]}"#, Passed(&["tools"])),
    (
        r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}, "eager_input_streaming": true}]}"#,
        Passed(&["tools"]),
    ),
    (
        r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}, "input_examples": [{"a": 1}]}]}"#,
        Passed(&["tools"]),
    ),
    (
        r#"{"tools": [{"name": "f", "input_schema": {"type": "object"}, "allowed_callers": ["direct"]}]}"#,
        Passed(&["tools"]),
    ),
    (r#"{"tools": [{"type": "bash_20250124", "name": "bash"}]}"#, Passed(&["tools"])),
    (r#"{"tools": [{"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}]}"#, Passed(&["tools"])),
    (
        r#"{"tools": [{"type": "computer_20250124", "name": "computer", "display_width_px": 9, "display_height_px": 9}]}"#,
        Passed(&["tools"]),
    ),
    (r#"{"tools": [{"type": "memory_20250818", "name": "memory"}]}"#, Passed(&["tools"])),
    (r#"{"tools": [{"type": "web_search_20250305", "name": "web_search"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tools": [{"type": "tool_search_tool_regex_20251119", "name": "t"}]}"#, Refused(PROVIDERS_TOOL)),
    (r#"{"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}"#, Carried),
    (r#"{"tool_choice": {"type": "any", "newer": true}}"#, Passed(&["tool_choice"])),
    (r#"{"tool_choice": {"type": "whichever"}}"#, Invalid),
];

/// Messages.
const MESSAGES: &[Probe] = &[
    (r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "x", "citations": []}]}]}"#, Carried),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://h/x.png"}}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}]}]}"#,
        Refused(PROVIDERS_STATE),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "search_result", "source": "s", "title": "t", "content": []}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "f"}]}]}"#,
        Refused(PROVIDERS_STATE),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x", "is_error": true}]}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "tool_reference", "tool_name": "f"}]}]}]}"#,
        Passed(&["messages"]),
    ),
    (
        r#"{"system": "s", "messages": [{"role": "assistant", "content": [{"type": "server_tool_use", "id": "c", "name": "web_search", "input": {}}]}]}"#,
        Passed(&["messages", "system"]),
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}]}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "thinking", "thinking": "b", "signature": "t"}]}]}"#,
        Carried,
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "{}"}, {"type": "thinking", "thinking": "b", "signature": "t"}]}]}"#,
        Refused(SIGNED_THOUGHT),
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}]}, {"role": "user", "content": [{"type": "image"}]}]}"#,
        Refused(SIGNED_THOUGHT),
    ),
    (
        r#"{"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}, "caller": {"type": "direct"}}]}]}"#,
        Carried,
    ),
    (r#"{"messages": [{"role": "user", "content": "x", "id": "m"}]}"#, Passed(&["messages"])),
    (r#"{"messages": [{"role": "user", "content": [{"text": "x"}]}]}"#, Invalid),
    (r#"{"messages": [{"role": "critic", "content": "x"}]}"#, Invalid),
];

#[test]
fn fields_of_messages_cost_no_session() {
    for probes in [FIELDS, TOOLS, MESSAGES] {
        hold(Format::Messages, PLAIN, probes);
    }
}
