//! Answers of the chat models.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::{HeaderMap, Response};
use regatta_benchmarks::Persona;
use regatta_proto::{ChatRequest, Digest, Finish, Usage};
use serde::Serialize;

use crate::answer_body::AnswerBody;
use crate::api_error::{ApiError, json_bytes};
use crate::chat_request::ChatCall;
use crate::delivery::{Answer, Dropped};
use crate::model::ChatModel;
use crate::routes::Endpoint;
use crate::session::{Session, SessionHeaders, request_digest};
use crate::tokens::{count_tokens, cut};

/// Route of this module, without the version.
pub(crate) const ROUTE: &str = "/v1/chat/completions";

#[derive(Serialize)]
struct Completion<'a> {
    id: String,
    object: &'a str,
    created: i64,
    model: &'a str,
    system_fingerprint: &'a str,
    choices: [Choice<'a>; 1],
    usage: WireUsage,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    finish_reason: Finish,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
}

/// Where the text of an answer comes from.
enum Author<'a> {
    Suite(Session, Persona),
    Script(Option<Session>, &'a str),
}

impl Endpoint {
    /// Answers one chat request.
    pub(crate) async fn chat(&self, headers: &HeaderMap, body: &Bytes) -> Result<Response<AnswerBody>, Dropped> {
        let digest = request_digest(ROUTE, headers, body);
        let prepared = ChatCall::parse(body).and_then(|call| Ok((self.author(headers, &call, &digest)?, call)));
        let (author, call) = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => return Ok(self.refuse(refusal)),
        };
        self.deliver(&call.model, &digest, |id| self.complete(id, &call, &author)).await
    }

    fn author<'s>(&'s self, headers: &HeaderMap, call: &ChatCall<'_>, digest: &Digest) -> Result<Author<'s>, ApiError> {
        let model = ChatModel::named(&call.model)?;
        let headers = SessionHeaders::read(headers)?;
        let session = headers.find(&self.suites, &call.request, digest);
        match model {
            ChatModel::Simulated(persona) => session?.map(|session| Author::Suite(session, persona)).ok_or_else(|| {
                ApiError::bad_request(
                    Some("messages"),
                    "no item of the served benchmarks recognises these messages; send the headers x-regatta-benchmark and \
                     x-regatta-item, or the benchmark's own prompts",
                )
            }),
            ChatModel::Scripted => {
                let Some(script) = &self.script else {
                    let message = "this endpoint was started without a script; start it with one to ask `scripted`";
                    return Err(ApiError::unknown_model(message));
                };
                // A script may speak of items that no served benchmark has.
                let session = session.ok().flatten();
                let recognised =
                    session.as_ref().map(|session| self.suites[session.suite].suite.items()[session.item.0 as usize].id.as_str());
                let item = headers.item.as_deref().or(recognised);
                match script.reply(item, headers.trial, &call.request) {
                    Some(reply) => Ok(Author::Script(session, reply)),
                    None => Err(ApiError::bad_request(
                        Some("messages"),
                        format!(
                            "no rule of the script applies to item {:?}, trial {}; add a rule, or one without `match` at the end",
                            item.unwrap_or("(unknown)"),
                            headers.trial
                        ),
                    )),
                }
            }
        }
    }

    fn complete(&self, id: &str, call: &ChatCall<'_>, author: &Author<'_>) -> Answer {
        let ChatCall { model, request } = call;
        let (text, session) = match author {
            Author::Suite(session, persona) => {
                let suite = &self.suites[session.suite].suite;
                let text = suite.simulate(session.item, &session.setting, *persona, session.seed, request);
                (Cow::Owned(text), Some(session))
            }
            Author::Script(session, reply) => (Cow::Borrowed(*reply), session.as_ref()),
        };
        let (content, finish_reason) = cut(&text, request.sampling.max_tokens);
        let usage = Usage { input: prompt_tokens(request), output: count_tokens(content), ..Usage::default() };
        let body = json_bytes(&Completion {
            id: format!("chatcmpl-{id}"),
            object: "chat.completion",
            created: self.created,
            model,
            system_fingerprint: "regatta-simulated",
            choices: [Choice { index: 0, message: Message { role: "assistant", content }, finish_reason }],
            usage: WireUsage {
                prompt_tokens: usage.input,
                completion_tokens: usage.output,
                total_tokens: usage.input + usage.output,
            },
        });
        Answer { body, usage, item: session.map(|session| (session.suite, session.item)) }
    }
}

fn prompt_tokens(request: &ChatRequest) -> u64 {
    request.messages.iter().map(|message| count_tokens(&message.content)).sum()
}
