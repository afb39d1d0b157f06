//! Drives one session: asks the benchmark what comes next, does it, until it is over.

use regatta_benchmarks::{Step, Suite};
use regatta_catalog::Sweep;
use regatta_llm::{CallError, ChatCall, Endpoint, Payer, SessionTag};
use regatta_proto::{
    AccountId, Cell, ChatRequest, Event, ItemIndex, ModelRef, ModelSpec, Money, Outcome, Price, Transcript,
};
use tokio_util::sync::CancellationToken;

use crate::attempts::OpenGuard;

/// How driving a session ended here.
pub(crate) enum Ended {
    /// It is over.
    Over(Outcome),
    /// It has to go on elsewhere; the transcript holds everything so far.
    Interrupted,
}

/// One session with everything it needs.
pub(crate) struct Session<'a> {
    pub(crate) sweep: &'a Sweep,
    pub(crate) cell: &'a Cell,
    pub(crate) suite: &'a dyn Suite,
    pub(crate) item: ItemIndex,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) tag: SessionTag<'a>,
    pub(crate) attempt: &'a OpenGuard<'a>,
    /// Accounts that its calls are paid from.
    pub(crate) accounts: Vec<AccountId>,
    /// Fires when no further call may begin.
    pub(crate) interrupt: &'a CancellationToken,
}

impl Session<'_> {
    /// Appends to `transcript` until the session is over or interrupted. A call in flight is awaited, never thrown away: it is paid.
    pub(crate) async fn drive(&self, transcript: &mut Transcript) -> Ended {
        loop {
            let (role, mut request) = match self.suite.next(self.item, &self.cell.setting, transcript) {
                Step::Done => return Ended::Over(Outcome::Measured),
                Step::Ask(role, request) => (role, request),
            };
            if self.interrupt.is_cancelled() {
                return Ended::Interrupted;
            }
            let model = self.sweep.lock.model(&self.cell.model);
            if let Some(model) = model {
                override_sampling(&mut request, model);
            }
            let price = model.and_then(|model| model.price.as_ref());
            self.report_in_flight(transcript, &request, price);
            let call = ChatCall {
                model: &self.cell.model.model,
                role,
                attempt: self.attempt.number(),
                request: &request,
                payer: payer(self.sweep, &self.accounts, price),
                session: Some(self.tag),
                interrupt: self.interrupt,
            };
            match self.endpoint.chat(call).await {
                Ok(call) => transcript.events.push(Event::Call(Box::new(call))),
                Err(CallError::Interrupted(failed)) => {
                    if !failed.tries.is_empty() {
                        transcript.events.push(Event::Failed(failed));
                    }
                    return Ended::Interrupted;
                }
                Err(CallError::Failed(failed)) => {
                    let class = failed.tries.last().map(|last| last.class);
                    transcript.events.push(Event::Failed(failed));
                    let internal = Outcome::NotMeasured { cause: regatta_proto::Cause::Internal };
                    return Ended::Over(class.map_or(internal, Outcome::of_failure));
                }
            }
        }
    }

    fn report_in_flight(&self, transcript: &Transcript, request: &ChatRequest, price: Option<&Price>) {
        let (usage, cost) = transcript.spent_by(self.attempt.number());
        let doubtful = transcript.at_most_by(self.attempt.number());
        self.attempt.spent(usage, cost, price.map(|price| doubtful + worst_case(request, price)));
    }
}

/// On whose behalf models are called for `sweep`.
pub(crate) fn payer<'a>(sweep: &'a Sweep, accounts: &'a [AccountId], price: Option<&'a Price>) -> Payer<'a> {
    Payer { sweep: &sweep.id, share: sweep.lock.share, accounts, price, cache: sweep.lock.cache }
}

/// The accounts that calls of `sweep` are paid from: its own, and that of the model under test, as far as they have budgets.
pub(crate) fn accounts(sweep: &Sweep, model: Option<&ModelRef>) -> Vec<AccountId> {
    let of_sweep = sweep.lock.budget_usd.map(|_| AccountId { sweep: sweep.id.clone(), model: None });
    let budgeted = model.filter(|model| sweep.lock.model(model).is_some_and(|spec| spec.budget_usd.is_some()));
    let of_model = budgeted.map(|model| AccountId { sweep: sweep.id.clone(), model: Some(model.clone()) });
    of_sweep.into_iter().chain(of_model).collect()
}

pub(crate) fn override_sampling(request: &mut ChatRequest, model: &ModelSpec) {
    let sampling = &mut request.sampling;
    sampling.temperature = model.temperature.or(sampling.temperature);
    sampling.top_p = model.top_p.or(sampling.top_p);
    sampling.max_tokens = model.max_tokens.or(sampling.max_tokens);
    request.thinking = model.thinking.or(request.thinking);
}

/// What one try of `request` can cost at most: a token is at least one byte of the prompt, and the answer fills its limit.
fn worst_case(request: &ChatRequest, price: &Price) -> Money {
    /// Assumed when a benchmark sets no limit.
    const OUTPUT_TOKENS_MAX: u32 = 16_384;
    price.at_most(request.prompt_bytes(), u64::from(request.sampling.max_tokens.unwrap_or(OUTPUT_TOKENS_MAX)))
}
