//! Answers of providers, and requests of clients of the bridge, in every wire format.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream;
use prometheus::Registry;
use regatta_llm::{
    BudgetLeases, CallError, CallMetrics, ChatCall, Encoders, Endpoint, Network, NoAnswer, OpenContext, OutboundPolicy,
    Payer, PermitStore, Standstill, StoreError,
};
use regatta_memory::ByteBudget;
use regatta_proto::{
    AccountReply, AccountRequest, CacheMode, Call, ChatMessage, ChatRequest, ChatRole, Digest, EndpointKind,
    EndpointSpec, Failing, Finish, Grant, ManualClock, ModelSpec, PoolReply, PoolRequest, Question, Reply, Retries,
    Role, Sampling, Share, SweepId, ToolCall, Usage,
};
use regatta_serving::{Answer, Format, Reading, Stamp, Streaming};
use regatta_worker::NoResponses;
use reqwest::{Request, Response};
use tokio_util::sync::CancellationToken;

use crate::batches;
use crate::input::Input;
use crate::runtime::block_on;

/// Stands for the key in inputs, so that a fuzzer can put it anywhere.
const KEY_MARK: u8 = 0x1d;
const KEY: &str = "sk-Zq7Wm9Xr2LpVt4Bn";
/// Characters of a key that are one part of it too many.
const KEY_PART: usize = 8;

const KINDS: [EndpointKind; 5] = [
    EndpointKind::Openai,
    EndpointKind::OpenaiResponses,
    EndpointKind::Azure,
    EndpointKind::Anthropic,
    EndpointKind::Gemini,
];

pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 5 {
        0 => answer(input),
        1 => similarity(input),
        2 => served(input.0),
        3 => relayed(input),
        _ => batches::run(input),
    }
}

/// An answer is the same however it is cut into pieces, and no failure shows the key.
fn answer(mut input: Input<'_>) {
    let kind = *input.choose(&KINDS);
    let is_stream = input.byte().is_multiple_of(2);
    let status = *input.choose(&[200, 200, 200, 400, 401, 404, 413, 429, 500, 529]);
    let cut = usize::from(input.byte()) + 1;
    let (retry_after, body) = input.halves();
    let body = with_key(body);
    let asked = |cut| {
        let answer = Scripted { status, retry_after: retry_after.to_vec(), is_stream, chunks: chunks(&body, cut) };
        ask(&EndpointSpec { stream: is_stream, ..spec(kind) }, answer)
    };
    let [pieces, whole] = [asked(cut), asked(body.len().max(1))];
    match (&pieces, &whole) {
        (Ok(pieces), Ok(whole)) => {
            assert_eq!(pieces.reply, whole.reply);
            assert_eq!((pieces.usage, &pieces.raw_usage), (whole.usage, &whole.raw_usage));
            // No key is kept with an answer; a part of one may be a word.
            let kept = serde_json::to_string(whole).unwrap();
            assert!(!kept.contains(KEY), "the key is in {kept}");
        }
        (Err(CallError::Failed(pieces)), Err(CallError::Failed(whole))) => {
            let told = |call: &regatta_proto::FailedCall| {
                let told =
                    call.tries.iter().map(|failed| (failed.class, failed.status, failed.detail.clone(), failed.usage));
                told.collect::<Vec<_>>()
            };
            assert_eq!(told(pieces), told(whole));
            for failed in &whole.tries {
                assert_hides_key(&failed.detail);
                assert!(
                    failed.detail.chars().count() <= 400,
                    "a detail of {} characters",
                    failed.detail.chars().count()
                );
            }
        }
        _ => panic!("in pieces of {cut}: {pieces:?}; whole: {whole:?}"),
    }
}

pub(crate) fn assert_hides_key(text: &str) {
    for begin in 0..=KEY.len() - KEY_PART {
        let part = &KEY[begin..begin + KEY_PART];
        assert!(!text.contains(part), "{part} of the key is in {text:?}");
    }
}

pub(crate) fn with_key(body: &[u8]) -> Bytes {
    let with_key = |byte: &u8| if *byte == KEY_MARK { KEY.as_bytes().to_vec() } else { vec![*byte] };
    body.iter().flat_map(with_key).collect::<Vec<_>>().into()
}

fn chunks(body: &Bytes, length: usize) -> Vec<Bytes> {
    (0..body.len()).step_by(length).map(|begin| body.slice(begin..(begin + length).min(body.len()))).collect()
}

/// Vectors of an endpoint for embeddings: there are similarities or there are none, and they are in range.
fn similarity(input: Input<'_>) {
    let body = with_key(input.0);
    let answer = Scripted { status: 200, retry_after: Vec::new(), is_stream: false, chunks: vec![body] };
    let question = Question::Similarity { left: vec!["a".to_owned(), "b".to_owned()], right: vec!["c".to_owned()] };
    let questions = [regatta_proto::AskedQuestion { digest: question.digest(), question }];
    let judge: ModelSpec = serde_json::from_value(serde_json::json!({"id": "main/m"})).unwrap();
    let sweep: SweepId = "sweep".parse().unwrap();
    block_on(async {
        let endpoint = open(&EndpointSpec { stream: false, ..spec(EndpointKind::Openai) }, answer);
        let answers = endpoint.answer(&judge, &questions, payer(&sweep), &CancellationToken::new()).await;
        assert!(answers.is_ok(), "it was interrupted by nobody");
    });
}

/// Requests to the bridge are read or refused by a sentence.
fn served(body: &[u8]) {
    for format in Format::ALL {
        for reading in [Reading::Whole, Reading::Gist] {
            match regatta_serving::ChatCall::parse(format, body, reading) {
                Ok(call) => drop(call),
                Err(error) => assert_eq!(error.status, 400),
            }
        }
    }
}

/// An answer that our server writes, whole or as a stream, is read by our client as what it was.
fn relayed(mut input: Input<'_>) {
    let (format, kind) = *input.choose(&[
        (Format::Chat, EndpointKind::Openai),
        (Format::Messages, EndpointKind::Anthropic),
        (Format::Responses, EndpointKind::OpenaiResponses),
    ]);
    let cut = usize::from(input.byte()) + 1;
    let mut texts = input.texts();
    let text = texts.next().unwrap_or_default();
    // Arguments that are no object are another matter: Anthropic's format cannot carry them as they are.
    let call = |(number, arguments): (usize, std::borrow::Cow<'_, str>)| {
        let arguments = serde_json::json!({ "said": arguments }).to_string();
        ToolCall { id: format!("call_{number}").into(), name: "find".into(), arguments: arguments.into() }
    };
    let tool_calls: Vec<ToolCall> = texts.take(4).enumerate().map(call).collect();
    let finish = if tool_calls.is_empty() { Finish::Stop } else { Finish::ToolCalls };
    let reply = Reply { tool_calls, ..Reply::of_text((!text.is_empty()).then_some(&*text), finish) };
    if reply.answer_bytes() == 0 {
        return;
    }
    let usage = Usage { input: 3, output: 5, ..Usage::default() };
    let stamp = Stamp { id: "1".to_owned(), created: 1, cost: None, fingerprint: None };
    // Of our own server no key is kept: what a model says, though it look like one in some encoding, is what it said.
    let keyless = EndpointSpec { api_key_env: Some("none".to_owned()), ..spec(kind) };
    let told = Answer { model: "m", reply: &reply, usage: &usage, stamp: &stamp, forms: None };
    let read = |is_stream: bool, body: Bytes| {
        let answer = Scripted { status: 200, retry_after: Vec::new(), is_stream, chunks: chunks(&body, cut) };
        let spec = EndpointSpec { stream: is_stream, ..keyless.clone() };
        let call = ask(&spec, answer).unwrap_or_else(|error| panic!("{error:?} of {body:?}"));
        (call.reply.text, call.reply.finish, call.reply.tool_calls, call.usage)
    };
    let expected = (reply.text.clone(), reply.finish, reply.tool_calls.clone(), usage);
    assert_eq!(read(false, told.whole(format)), expected);
    assert_eq!(read(true, told.streamed(format, Streaming { include_usage: true })), expected);
}

fn ask(spec: &EndpointSpec, answer: Scripted) -> Result<Call, CallError> {
    let request = ChatRequest::new(vec![ChatMessage::new(ChatRole::User, "hi")], Sampling::default());
    let sweep: SweepId = "sweep".parse().unwrap();
    let interrupt = CancellationToken::new();
    let call = ChatCall {
        model: "m",
        role: Role::Agent,
        attempt: 1,
        request: &request,
        payer: payer(&sweep),
        session: None,
        repeat: 0,
        interrupt: &interrupt,
        meter: None,
        holder: None,
    };
    block_on(async { open(spec, answer).chat(call).await })
}

fn payer(sweep: &SweepId) -> Payer<'_> {
    Payer { sweep, share: Share::default(), accounts: &[], price: None, cache: CacheMode::Off }
}

/// An endpoint of its own for every call: none is held because of the answers before.
fn open(spec: &EndpointSpec, answer: Scripted) -> Endpoint {
    with_context(answer, |context| Endpoint::open(&"main".parse().unwrap(), spec, context).unwrap())
}

/// An endpoint that nothing is tried at again.
pub(crate) fn spec(kind: EndpointKind) -> EndpointSpec {
    EndpointSpec {
        base_url: Some("http://127.0.0.1:9".to_owned()),
        api_key_env: Some("KEY".to_owned()),
        api_version: (kind == EndpointKind::Azure).then(|| "2024-10-21".to_owned()),
        retries: Retries { attempts: 1, ..Retries::default() },
        ..EndpointSpec::of_kind(kind)
    }
}

/// Opens something whose only network is `network`.
pub(crate) fn with_context<T>(network: impl Network + 'static, open: impl FnOnce(&OpenContext<'_>) -> T) -> T {
    let metrics = Arc::new(CallMetrics::register(&Registry::new()).unwrap());
    let permits: Arc<dyn PermitStore> = Arc::new(Generous);
    let holder: regatta_proto::WorkerId = "worker".parse().unwrap();
    open(&OpenContext {
        env: &|name: &str| (name == "KEY").then(|| KEY.to_owned()),
        base_dir: Path::new("/nowhere"),
        recorded: None,
        encoders: Encoders::default(),
        budget_leases: BudgetLeases::new(Arc::clone(&permits), holder.clone(), Arc::clone(&metrics)),
        metrics,
        clock: Arc::new(ManualClock::at("2026-01-01T00:00:00Z".parse().unwrap())),
        seed: 1,
        permits,
        holder,
        pool: "pool".into(),
        bytes: ByteBudget::default(),
        answers: Arc::new(NoResponses),
        policy: Arc::new(OutboundPolicy::trusting()),
        network: Some(Arc::new(network)),
        standstill: Standstill::watch(),
    })
}

/// A network that always answers the same.
struct Scripted {
    status: u16,
    retry_after: Vec<u8>,
    is_stream: bool,
    chunks: Vec<Bytes>,
}

impl Network for Scripted {
    fn answer(&self, _: Request) -> BoxFuture<'_, Result<Response, NoAnswer>> {
        let body = stream::iter(self.chunks.clone().into_iter().map(Ok::<_, std::io::Error>));
        let kind = if self.is_stream { "text/event-stream" } else { "application/json" };
        let mut response = hyper::Response::builder().status(self.status).header("content-type", kind);
        if let Ok(value) = hyper::header::HeaderValue::from_bytes(&self.retry_after) {
            response = response.header("retry-after", value);
        }
        let response = response.body(reqwest::Body::wrap_stream(body)).unwrap();
        async move { Ok(Response::from(response)) }.boxed()
    }
}

/// Grants whatever is asked for.
struct Generous;

impl PermitStore for Generous {
    fn lease<'a>(&'a self, request: &'a PoolRequest) -> BoxFuture<'a, Result<PoolReply, StoreError>> {
        let grant = Grant { slots: 100, requests: 100, tokens: 1 << 40 };
        let grants = request.parties.iter().map(|_| grant).collect();
        async move { Ok(PoolReply { grants, valid_ms: 60_000, retry_ms: 1000, factor: 1.0 }) }.boxed()
    }

    fn settle<'a>(&'a self, _: &'a AccountRequest) -> BoxFuture<'a, Result<AccountReply, StoreError>> {
        async { Err(StoreError("no account is used here".to_owned())) }.boxed()
    }

    fn failing<'a>(&'a self, _: &'a Failing) -> BoxFuture<'a, Result<u32, StoreError>> {
        async { Ok(1) }.boxed()
    }

    fn failures<'a>(&'a self, _: &'a Digest) -> BoxFuture<'a, Result<u32, StoreError>> {
        async { Ok(0) }.boxed()
    }
}
