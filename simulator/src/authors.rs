//! Chooses the author of an answer to a chat.

use hyper::HeaderMap;
use regatta_benchmarks::Persona;
use regatta_proto::{Digest, Reply, Role, SessionSeed, Simulation, Usage};
use regatta_serving::Format as ChatFormat;

use crate::api_error::ApiError;
use crate::draft::{Content, Draft};
use crate::endpoint::Endpoint;
use crate::formats::{ChatCall, Format};
use crate::identity::Identity;
use crate::model::ChatModel;
use crate::said::{logprobs, tokens, within};
use crate::session::Session;

/// The author of an answer.
enum Author {
    Suite(Session, Persona),
    /// The reply of a judge or of the script.
    Said(Option<Session>, Reply),
}

/// The seed of the answers of `model` in a session, at an endpoint with these settings. Models make their mistakes independently, although
/// a session has one seed for all of them.
#[must_use]
pub fn answer_seed(session: SessionSeed, simulation: &Simulation, model: &str) -> SessionSeed {
    let (session, endpoint) = (session.0.to_le_bytes(), simulation.seed.to_le_bytes());
    let parts = [b"regatta/simulated-answer/1".as_slice(), &session, &endpoint, model.as_bytes()];
    SessionSeed::of_digest(&Digest::of_parts(parts))
}

impl Endpoint {
    /// Writes the model's answer to `call`.
    pub(crate) async fn write(
        &self,
        format: ChatFormat,
        headers: &HeaderMap,
        call: ChatCall<'_>,
        digest: &Digest,
    ) -> Result<Draft, ApiError> {
        let author = self.author(format, headers, &call, digest)?;
        let (input, candidates) = (call.prompt_tokens(), call.logprobs(format)?);
        let ChatCall { model, mut request, streaming, .. } = call;
        let (reply, session) = match author {
            Author::Suite(session, persona) => {
                let served = &self.suites[session.suite];
                request.member.clone_from(&session.member);
                let seed = answer_seed(session.seed, &self.simulation, &model);
                let Session { item, setting, role, .. } = &session;
                let reply = {
                    let _turn = served.turn().await;
                    served.suite.try_simulate(*item, setting, *role, persona, seed, &request)
                };
                // Not worth a second try; and no reply, which would be kept in caches and scored.
                let reply = reply.map_err(|error| ApiError::bad_request(None, error.to_string()))?;
                (reply, Some(session))
            }
            Author::Said(session, reply) => (reply, session),
        };
        let mut reply = within(reply, request.sampling.max_tokens);
        if let (Some(candidates), Some(text)) = (candidates, &reply.text) {
            reply.logprobs = Some(logprobs(text, candidates));
        }
        Ok(Draft {
            format: Format::Chat(format),
            model: model.into_owned(),
            usage: Usage { input, cached_input: self.cached(input), output: tokens(&reply), ..Usage::default() },
            item: session.map(|session| (session.suite, session.item)),
            streaming,
            content: Content::Said { format, reply },
            keeping: None,
        })
    }

    fn author(
        &self,
        format: ChatFormat,
        headers: &HeaderMap,
        call: &ChatCall<'_>,
        digest: &Digest,
    ) -> Result<Author, ApiError> {
        let model = ChatModel::named(&call.model)?;
        let identity = Identity::read(headers, &call.metadata)?;
        if let ChatModel::Simulated(persona) = model {
            // A client without a session repeats a request if it wants another reply.
            let seed = || SessionSeed::of_digest(digest).of_part(Role::Judge, self.judged.count(*digest));
            if let Some(reply) = identity.judge(&self.suites, &call.request, persona, seed)? {
                return Ok(Author::Said(None, Reply::said(reply)));
            }
        }
        let session = identity.find(&self.suites, &call.request, digest);
        if identity.role == Some(Role::Judge) && matches!(model, ChatModel::Simulated(_)) {
            return Err(ApiError::bad_request(
                Some("messages"),
                "no served benchmark takes this for a prompt of its judges; a judge is asked with the benchmark's own prompt as the \
                 last message",
            ));
        }
        match model {
            ChatModel::Simulated(persona) => {
                if let Some(session) = session? {
                    return Ok(Author::Suite(session, persona));
                }
                // Nobody knows what is asked, but what the answer has to look like.
                call.made_up(format)?.map(|reply| Author::Said(None, reply)).ok_or_else(|| {
                    ApiError::bad_request(
                        Some("messages"),
                        "no item of the served benchmarks recognises these messages; send the benchmark's own prompts, or the headers \
                         x-regatta-benchmark and x-regatta-item, as `identify_sessions: true` of an endpoint in a spec does",
                    )
                })
            }
            ChatModel::Scripted => {
                let Some(script) = &self.script else {
                    let message = "this endpoint was started without a script; start it with one to ask `scripted`";
                    return Err(ApiError::unknown_model(message));
                };
                // A script may have items that no served benchmark has.
                let session = session.ok().flatten();
                let recognised = session
                    .as_ref()
                    .map(|session| self.suites[session.suite].suite.items()[session.item.0 as usize].id.as_str());
                let item = identity.item.as_deref().or(recognised);
                let reply = match script.reply(item, identity.trial, &call.request) {
                    Some(reply) => Some(reply),
                    None => call.made_up(format)?,
                };
                match reply {
                    Some(reply) => Ok(Author::Said(session, reply)),
                    None => Err(ApiError::bad_request(
                        Some("messages"),
                        format!(
                            "no rule of the script applies to item {:?}, trial {}; add a rule, or one without `match` at the end",
                            item.unwrap_or("(unknown)"),
                            identity.trial
                        ),
                    )),
                }
            }
        }
    }

    /// Number of the `input` prompt tokens that count as cached.
    fn cached(&self, input: u64) -> u64 {
        // Token counts are far below 2^53, so rounding the product down is exact enough.
        (input as f64 * self.simulation.cached_fraction) as u64
    }
}
