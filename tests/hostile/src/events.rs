//! Ways in which each event is said on each wire.

use crate::Wire;
use crate::answer::{Answer, Bill, Stop};
use crate::errors::Refusal;
use crate::event::Event;

/// One way to say an event on a wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// For people: the word or status by which it is told.
    pub name: &'static str,
    pub(crate) said: Said,
}

/// The answer that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    Answer(Answer),
    Refused(Refusal),
    /// In a shape of its own, whatever the wire.
    Raw {
        status: u16,
        body: &'static str,
    },
}

const fn answer(name: &'static str, answer: Answer) -> Way {
    Way { name, said: Said::Answer(answer) }
}

const fn stopped(word: &'static str) -> Way {
    answer(word, Answer { stop: Stop::Word(word), ..Answer::FINE })
}

const fn blocked(reason: &'static str) -> Way {
    answer(reason, Answer { stop: Stop::Blocked(reason), bill: Bill::Tokens(10, 0), ..Answer::FINE })
}

const fn refusal(status: u16, code: &'static str, message: &'static str) -> Way {
    Way { name: code, said: Said::Refused(Refusal { status, code, message }) }
}

const fn raw(name: &'static str, status: u16, body: &'static str) -> Way {
    Way { name, said: Said::Raw { status, body } }
}

/// A gateway's moderation, OpenRouter's for one.
const FLAGGED: Way = raw(
    "403 flagged",
    403,
    r#"{"error":{"code":403,"message":"This request was flagged.","metadata":{"reasons":["violence"],"flagged_input":"...","provider_name":"P"}}}"#,
);

/// The ways in which `event` is said on `wire`; none where the wire cannot say it.
#[must_use]
pub fn ways(event: Event, wire: Wire) -> Vec<Way> {
    match event {
        Event::PromptFiltered => prompt_filtered(wire),
        Event::AnswerFiltered => answer_filtered(wire),
        Event::Refused => refused(wire),
        Event::ContextOverflow => context_overflow(wire),
        Event::OutputLimitTooLarge => output_limit_too_large(wire),
        Event::RequestTooLarge => request_too_large(wire),
        Event::UnknownParameter => unknown_parameter(wire),
        Event::RequestRefused => vec![request_refused(wire)],
        Event::CredentialsRefused => credentials_refused(wire),
        Event::ModelUnknown => vec![model_unknown(wire), raw("a redirect", 307, "")],
        Event::OutOfCredit => out_of_credit(wire),
        Event::RateLimited => vec![rate_limited(wire)],
        Event::ServerTrouble => server_trouble(wire),
        Event::Unreadable => unreadable(),
        Event::AnswerCutOff => cut_off(wire),
        Event::AnswerMalformed => malformed(wire),
        Event::UsageUnknown => usage_unknown(),
        Event::TierTold => vec![answer("priority", Answer { tier: Some("priority"), ..Answer::FINE })],
        Event::Answered => vec![answer("fine", Answer::FINE), answer("standard tier", standard(wire))],
    }
}

/// Served as everybody is, in the provider's own word.
fn standard(wire: Wire) -> Answer {
    let tier = match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure | Wire::Bedrock => "default",
        Wire::Anthropic => "standard",
        Wire::Gemini => "STANDARD",
    };
    Answer { tier: Some(tier), ..Answer::FINE }
}

fn prompt_filtered(wire: Wire) -> Vec<Way> {
    const POLICY: &str = "Invalid prompt: your prompt was flagged as potentially violating our usage policy.";
    match wire {
        Wire::OpenAi => vec![
            refusal(400, "content_policy_violation", "Your request was rejected by our safety system."),
            refusal(400, "invalid_prompt", POLICY),
            refusal(400, "cyber_policy", "This request was stopped for reasons of cyber security."),
            raw(
                "DeepSeek",
                400,
                r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            ),
            raw(
                "xAI",
                403,
                r#"{"code":"The caller does not have permission","error":"Content violates usage guidelines. Failed check: SAFETY"}"#,
            ),
            FLAGGED,
        ],
        Wire::Responses => vec![
            refusal(400, "invalid_prompt", POLICY),
            refusal(400, "cyber_policy", "This request was stopped for reasons of cyber security."),
            raw(
                "failed in a 200",
                200,
                r#"{"id":"resp_1","object":"response","status":"failed","error":{"code":"invalid_prompt","message":"flagged"},"output":[],"usage":null}"#,
            ),
            FLAGGED,
        ],
        Wire::Azure => vec![
            refusal(
                400,
                "content_filter",
                "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            ),
            FLAGGED,
        ],
        Wire::Anthropic => vec![
            refusal(400, "invalid_request_error", "Output blocked by content filtering policy"),
            refusal(403, "permission_error", "The model requires moderation and your input was flagged."),
        ],
        Wire::Gemini => {
            let reasons =
                ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "JAILBREAK", "MODEL_ARMOR"];
            reasons.map(blocked).into_iter().chain([FLAGGED]).collect()
        }
        Wire::Bedrock => vec![
            stopped("guardrail_intervened"),
            refusal(400, "ValidationException", "Output blocked by content filtering policy"),
            refusal(403, "AccessDeniedException", "The input was flagged by moderation."),
        ],
    }
}

fn answer_filtered(wire: Wire) -> Vec<Way> {
    match wire {
        Wire::OpenAi | Wire::Azure => vec![
            stopped("content_filter"),
            answer("nothing left", Answer { text: "", stop: Stop::Word("content_filter"), ..Answer::FINE }),
        ],
        Wire::Responses => vec![stopped("content_filter")],
        Wire::Anthropic => vec![refusal(400, "invalid_request_error", "Output blocked by content filtering policy")],
        Wire::Gemini => [
            "SAFETY",
            "RECITATION",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "MODEL_ARMOR",
            "IMAGE_SAFETY",
        ]
        .map(stopped)
        .to_vec(),
        Wire::Bedrock => vec![stopped("guardrail_intervened"), stopped("content_filtered")],
    }
}

fn refused(wire: Wire) -> Vec<Way> {
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => {
            vec![answer("refusal", Answer { stop: Stop::Refused, ..Answer::FINE })]
        }
        Wire::Anthropic | Wire::Bedrock => vec![stopped("refusal")],
        // It has no word for it: a model that declines does so in its answer.
        Wire::Gemini => Vec::new(),
    }
}

fn context_overflow(wire: Wire) -> Vec<Way> {
    const COUNTED: &str = "This model's maximum context length is 4096 tokens. However, you requested 5300 tokens (5000 in the messages, 300 in the completion). Please reduce the length of the messages or completion.";
    match wire {
        Wire::OpenAi => vec![
            refusal(400, "context_length_exceeded", COUNTED),
            refusal(
                400,
                "BadRequestError",
                "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
            ),
            refusal(413, "context_length_exceeded", "The context is exceeded."),
            raw(
                "text-generation-inference",
                422,
                r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}"#,
            ),
            raw(
                "llama.cpp",
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
            ),
            raw(
                "SGLang",
                400,
                r#"{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","code":400}"#,
            ),
        ],
        Wire::Responses | Wire::Azure => vec![refusal(400, "context_length_exceeded", COUNTED)],
        Wire::Anthropic => vec![
            refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            refusal(
                400,
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 210000 + 1000 > 200000, decrease input length or `max_tokens` and try again",
            ),
        ],
        Wire::Gemini => vec![refusal(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        )],
        Wire::Bedrock => vec![
            refusal(400, "ValidationException", "Input is too long for requested model."),
            refusal(400, "ValidationException", "prompt is too long: 210000 tokens > 200000 maximum"),
        ],
    }
}

fn output_limit_too_large(wire: Wire) -> Vec<Way> {
    const COUNTED: &str = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.";
    const SUM: &str = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again";
    match wire {
        Wire::OpenAi => vec![
            refusal(400, "context_length_exceeded", COUNTED),
            refusal(
                400,
                "invalid_value",
                "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999.",
            ),
            refusal(
                400,
                "BadRequestError",
                "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (4000 > 4096 - 1000).",
            ),
            raw(
                "text-generation-inference",
                422,
                r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 4000 `max_new_tokens`","error_type":"validation"}"#,
            ),
            raw(
                "SGLang",
                400,
                r#"{"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 1000 tokens from the input messages and 4000 tokens for the completion.","type":"BadRequestError","code":400}"#,
            ),
            raw(
                "OpenRouter",
                400,
                r#"{"error":{"code":400,"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (40000 of text input, 100000 in the output). Please reduce the length of either one."}}"#,
            ),
        ],
        Wire::Responses => vec![
            refusal(
                400,
                "integer_above_max_value",
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 99999 instead.",
            ),
            refusal(400, "context_length_exceeded", COUNTED),
        ],
        Wire::Azure => vec![
            refusal(400, "context_length_exceeded", COUNTED),
            refusal(
                400,
                "invalid_value",
                "max_tokens is too large: 99999. This model supports at most 16384 completion tokens, whereas you provided 99999.",
            ),
        ],
        Wire::Anthropic => vec![
            refusal(400, "invalid_request_error", SUM),
            refusal(
                400,
                "invalid_request_error",
                "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for m",
            ),
        ],
        Wire::Gemini => vec![refusal(
            400,
            "INVALID_ARGUMENT",
            "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.",
        )],
        Wire::Bedrock => vec![
            refusal(
                400,
                "ValidationException",
                "The maximum tokens you requested exceeds the model limit of 8192. Try again with a maximum tokens value that is lower than 8192.",
            ),
            refusal(400, "ValidationException", SUM),
        ],
    }
}

fn request_too_large(wire: Wire) -> Vec<Way> {
    let nginx = raw("413 of a proxy", 413, "<html><h1>413 Request Entity Too Large</h1></html>");
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => vec![nginx],
        Wire::Anthropic => vec![refusal(413, "request_too_large", "Request exceeds the maximum size"), nginx],
        Wire::Gemini => {
            vec![refusal(400, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes."), nginx]
        }
        Wire::Bedrock => vec![refusal(413, "RequestEntityTooLargeException", "The request is too large.")],
    }
}

fn unknown_parameter(wire: Wire) -> Vec<Way> {
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => vec![
            refusal(400, "unknown_parameter", "Unknown parameter: 'top_k'."),
            refusal(
                400,
                "unsupported_parameter",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            ),
            refusal(400, "unsupported_value", "Unsupported value: 'temperature' does not support 0 with this model."),
        ],
        Wire::Anthropic => vec![refusal(400, "invalid_request_error", "top_x: Extra inputs are not permitted")],
        Wire::Gemini => vec![refusal(
            400,
            "INVALID_ARGUMENT",
            "Invalid JSON payload received. Unknown name \"top_x\": Cannot find field.",
        )],
        Wire::Bedrock => vec![refusal(
            400,
            "ValidationException",
            "Malformed input request: #: extraneous key [top_x] is not permitted, please reformat your input and try again.",
        )],
    }
}

fn request_refused(wire: Wire) -> Way {
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => {
            refusal(422, "unprocessable", "The last message has no content that this model takes.")
        }
        Wire::Anthropic => refusal(400, "invalid_request_error", "messages: first message must use the user role"),
        Wire::Gemini => refusal(400, "INVALID_ARGUMENT", "Function calls and answers to them differ in number."),
        Wire::Bedrock => refusal(400, "ValidationException", "A conversation must start with a user message."),
    }
}

fn out_of_credit(wire: Wire) -> Vec<Way> {
    let gateway = raw("402 of a gateway", 402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#);
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => {
            vec![refusal(429, "insufficient_quota", "You exceeded your current quota."), gateway]
        }
        Wire::Anthropic => {
            vec![refusal(400, "invalid_request_error", "Your credit balance is too low to access the API."), gateway]
        }
        Wire::Gemini | Wire::Bedrock => vec![gateway],
    }
}

fn rate_limited(wire: Wire) -> Way {
    let code = match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => "rate_limit_exceeded",
        Wire::Anthropic => "rate_limit_error",
        Wire::Gemini => "RESOURCE_EXHAUSTED",
        Wire::Bedrock => "ThrottlingException",
    };
    refusal(429, code, "Too many requests.")
}

fn server_trouble(wire: Wire) -> Vec<Way> {
    let proxy = raw("502 of a proxy", 502, "<html><h1>502 Bad Gateway</h1></html>");
    let own = match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => refusal(500, "server_error", "The server had an error."),
        Wire::Anthropic => refusal(529, "overloaded_error", "Overloaded"),
        Wire::Gemini => refusal(503, "UNAVAILABLE", "The model is overloaded."),
        Wire::Bedrock => refusal(503, "ServiceUnavailableException", "The service is unavailable."),
    };
    let ways = [own, proxy, raw("408 of a proxy", 408, ""), raw("409 of a gateway", 409, "{}")];
    ways.into_iter().chain(overloaded_in_a_200(wire)).collect()
}

/// Headers had been sent when the trouble came. AWS has no such answer.
fn overloaded_in_a_200(wire: Wire) -> Option<Way> {
    let body = match wire {
        Wire::OpenAi | Wire::Azure => r#"{"error":{"code":503,"message":"The provider is overloaded."}}"#,
        Wire::Responses => {
            r#"{"id":"resp_1","object":"response","status":"failed","error":{"code":"server_error","message":"The server had an error."},"output":[],"usage":null}"#
        }
        Wire::Anthropic => r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Wire::Gemini => r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#,
        Wire::Bedrock => return None,
    };
    Some(raw("overloaded in a 200", 200, body))
}

fn cut_off(wire: Wire) -> Vec<Way> {
    let by_limit = answer("cut off", Answer { stop: Stop::Cut, ..Answer::FINE });
    match wire {
        Wire::Anthropic | Wire::Bedrock => vec![by_limit, stopped("model_context_window_exceeded")],
        Wire::OpenAi | Wire::Responses | Wire::Azure | Wire::Gemini => vec![by_limit],
    }
}

/// Other wires hand on what the model wrote.
fn malformed(wire: Wire) -> Vec<Way> {
    match wire {
        Wire::Gemini => ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"].map(stopped).to_vec(),
        Wire::Bedrock => ["malformed_model_output", "malformed_tool_use"].map(stopped).to_vec(),
        Wire::OpenAi | Wire::Responses | Wire::Azure | Wire::Anthropic => Vec::new(),
    }
}

fn unreadable() -> Vec<Way> {
    vec![
        raw("a page", 200, "<html><h1>Welcome</h1></html>"),
        raw("an empty object", 200, "{}"),
        raw("broken off", 200, r#"{"id":"1","choices":[{"index":0,"mess"#),
    ]
}

fn credentials_refused(wire: Wire) -> Vec<Way> {
    match wire {
        Wire::OpenAi | Wire::Responses | Wire::Azure => vec![
            refusal(401, "invalid_api_key", "Incorrect API key provided."),
            refusal(403, "unsupported_country_region_territory", "Not available in your country."),
        ],
        Wire::Anthropic => {
            vec![
                refusal(401, "authentication_error", "invalid x-api-key"),
                refusal(403, "permission_error", "No permission."),
            ]
        }
        Wire::Gemini => vec![
            refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            refusal(403, "PERMISSION_DENIED", "The caller does not have permission"),
        ],
        Wire::Bedrock => vec![
            refusal(403, "UnrecognizedClientException", "The security token included in the request is invalid."),
            refusal(403, "AccessDeniedException", "You don't have access to the model with the specified model ID."),
        ],
    }
}

const fn model_unknown(wire: Wire) -> Way {
    match wire {
        Wire::OpenAi | Wire::Responses => refusal(404, "model_not_found", "The model `m` does not exist."),
        Wire::Azure => refusal(404, "DeploymentNotFound", "The API deployment for this resource does not exist."),
        Wire::Anthropic => refusal(404, "not_found_error", "model: m"),
        Wire::Gemini => refusal(404, "NOT_FOUND", "models/m is not found for API version v1beta."),
        Wire::Bedrock => refusal(404, "ResourceNotFoundException", "Could not resolve the foundation model."),
    }
}

fn usage_unknown() -> Vec<Way> {
    let bill = |name, bill| answer(name, Answer { bill, ..Answer::FINE });
    vec![
        bill("no usage", Bill::Absent),
        bill("0 / 0", Bill::Tokens(0, 0)),
        // LiteLLM's stream of Gemini.
        bill("0 / 2", Bill::Tokens(0, 2)),
        bill("10 / 0 with a text", Bill::Tokens(10, 0)),
    ]
}
