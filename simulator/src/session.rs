//! Finds the session of a request: the one that it names, or the one whose item recognises its messages.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use regatta_benchmarks::{Persona, Simulated};
use regatta_proto::{
    BenchmarkName, ChatMessage, ChatRequest, ChatRole, Digest, ItemIndex, MemberName, Role, SessionSeed, Setting,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::api_error::ApiError;
use crate::identity::{BENCHMARK, ITEM, Identity, SETTING};

/// A benchmark that the endpoint can answer.
pub(crate) struct ServedSuite {
    pub(crate) benchmark: BenchmarkName,
    pub(crate) default_setting: Option<Setting>,
    pub(crate) suite: Arc<dyn Simulated>,
    items: HashMap<String, ItemIndex>,
    /// As many as calls of the suite that are answered at once; `None` where calls do not wait.
    turns: Option<Semaphore>,
}

impl ServedSuite {
    pub(crate) fn new(SimulatedSuite { benchmark, default_setting, suite }: SimulatedSuite) -> Self {
        let items = (0..).map(ItemIndex).zip(suite.items()).map(|(index, item)| (item.id.to_string(), index)).collect();
        let turns = suite.calls_at_once().map(NonZeroUsize::get).map(Semaphore::new);
        Self { benchmark, default_setting, suite, items, turns }
    }

    /// Waits until a call of the suite would be answered at once, so that requests occupy no threads while they wait.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.turns.as_ref()?.acquire().await.ok()
    }
}

/// The session of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    /// Position of the suite among those that are served.
    pub(crate) suite: usize,
    pub(crate) item: ItemIndex,
    pub(crate) setting: Setting,
    /// Role that the model speaks in.
    pub(crate) role: Role,
    /// Member of its team; `None` if it is no team.
    pub(crate) member: Option<MemberName>,
    pub(crate) seed: SessionSeed,
}

impl Identity {
    /// The session that the request names, or the one whose item recognises `request`; `None` if there is neither.
    pub(crate) fn find(
        &self,
        suites: &[ServedSuite],
        request: &ChatRequest,
        digest: &Digest,
    ) -> Result<Option<Session>, ApiError> {
        let found = match &self.item {
            Some(item) => Some(self.look_up(suites, item)?),
            None => self.recognise(suites, request)?,
        };
        let Some((position, item)) = found else {
            return Ok(None);
        };
        let ServedSuite { benchmark, default_setting, .. } = &suites[position];
        let Some(setting) = self.setting.as_ref().or(default_setting.as_ref()) else {
            let message = format!("{benchmark} has no default setting; name one in `{SETTING}`");
            return Err(ApiError::bad_request(Some(SETTING), message));
        };
        let seed = self.seed.map_or_else(|| SessionSeed::of_digest(digest), SessionSeed);
        Ok(Some(Session {
            suite: position,
            item,
            setting: setting.clone(),
            role: self.role.unwrap_or(Role::Agent),
            member: self.member.clone(),
            seed,
        }))
    }

    fn look_up(&self, suites: &[ServedSuite], item: &str) -> Result<(usize, ItemIndex), ApiError> {
        let position = match (self.position(suites)?, suites) {
            (Some(position), _) => position,
            (None, [_]) => 0,
            (None, _) => {
                let message = format!("`{ITEM}` needs `{BENCHMARK}` beside it: this endpoint serves {}", names(suites));
                return Err(ApiError::bad_request(Some(BENCHMARK), message));
            }
        };
        let served = &suites[position];
        match served.items.get(item) {
            Some(index) => Ok((position, *index)),
            None => Err(ApiError::bad_request(
                Some(ITEM),
                format!("{} has no item {item:?} in the data this endpoint was started with", served.benchmark),
            )),
        }
    }

    fn recognise(&self, suites: &[ServedSuite], request: &ChatRequest) -> Result<Option<(usize, ItemIndex)>, ApiError> {
        let only = self.position(suites)?;
        let mut candidates =
            suites.iter().enumerate().filter(|(position, _)| only.is_none_or(|only| only == *position));
        Ok(candidates.find_map(|(position, served)| served.suite.recognise(request).map(|item| (position, item))))
    }

    /// The reply of the judge `persona` to `request`; `None` unless a benchmark (the named one, if there is one) recognises the last
    /// message as a prompt of its judges, and the request names no item. Instructions and a conversation may precede it.
    pub(crate) fn judge(
        &self,
        suites: &[ServedSuite],
        request: &ChatRequest,
        persona: Persona,
        seed: impl FnOnce() -> SessionSeed,
    ) -> Result<Option<String>, ApiError> {
        let may_be = self.role.is_none_or(|role| role == Role::Judge) && self.item.is_none();
        let Some(ChatMessage { role: ChatRole::User, content, .. }) = request.messages.last() else { return Ok(None) };
        if !may_be {
            return Ok(None);
        }
        let only = self.position(suites)?;
        let mut candidates =
            suites.iter().enumerate().filter(|(position, _)| only.is_none_or(|only| only == *position));
        let seed = self.seed.map_or_else(seed, SessionSeed);
        Ok(candidates.find_map(|(_, served)| served.suite.simulate_judge(content, persona, seed)))
    }

    /// Position of the named suite.
    fn position(&self, suites: &[ServedSuite]) -> Result<Option<usize>, ApiError> {
        let Some(name) = &self.benchmark else {
            return Ok(None);
        };
        match suites.iter().position(|served| served.benchmark.as_str() == name) {
            Some(position) => Ok(Some(position)),
            None => Err(ApiError::bad_request(
                Some(BENCHMARK),
                format!("unknown benchmark {name:?}; this endpoint serves {}", names(suites)),
            )),
        }
    }
}

fn names(suites: &[ServedSuite]) -> String {
    if suites.is_empty() {
        return "no benchmark".to_owned();
    }
    suites.iter().map(|served| served.benchmark.as_str()).collect::<Vec<_>>().join(", ")
}

/// The item of an answer: positions of the suite and of the item.
pub(crate) type AnsweredItem = (usize, ItemIndex);

/// A benchmark whose models are simulated.
#[derive(Clone)]
pub struct SimulatedSuite {
    /// Name of the benchmark.
    pub benchmark: BenchmarkName,
    /// The setting of requests that name none; without one, such requests are refused.
    pub default_setting: Option<Setting>,
    /// Loaded data set of the benchmark.
    pub suite: Arc<dyn Simulated>,
}
