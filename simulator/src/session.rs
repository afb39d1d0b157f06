//! Which session a request belongs to: said by headers, or recognised by its messages.

use std::collections::HashMap;
use std::sync::Arc;

use hyper::HeaderMap;
use regatta_benchmarks::Suite;
use regatta_proto::{BenchmarkName, ChatRequest, Digest, ItemIndex, SessionSeed, Setting};

use crate::api_error::ApiError;

const BENCHMARK: &str = "x-regatta-benchmark";
const SETTING: &str = "x-regatta-setting";
const ITEM: &str = "x-regatta-item";
const TRIAL: &str = "x-regatta-trial";
const SEED: &str = "x-regatta-seed";
/// What a session's headers are called.
const HEADERS: [&str; 5] = [BENCHMARK, SETTING, ITEM, TRIAL, SEED];

/// A benchmark that the endpoint can answer.
pub(crate) struct ServedSuite {
    pub(crate) benchmark: BenchmarkName,
    /// For requests that name no setting; a benchmark that is not one of ours has none.
    pub(crate) default_setting: Option<Setting>,
    pub(crate) suite: Arc<dyn Suite>,
    items: HashMap<String, ItemIndex>,
}

impl ServedSuite {
    pub(crate) fn new(benchmark: BenchmarkName, default_setting: Option<Setting>, suite: Arc<dyn Suite>) -> Self {
        let items = (0..).map(ItemIndex).zip(suite.items()).map(|(index, item)| (item.id.to_string(), index)).collect();
        Self { benchmark, default_setting, suite, items }
    }
}

/// What the headers of one request say, decoded but not yet looked up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionHeaders {
    benchmark: Option<String>,
    setting: Option<Setting>,
    pub(crate) item: Option<String>,
    pub(crate) trial: u16,
    seed: Option<u64>,
}

/// The session of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Session {
    /// Position of the suite.
    pub(crate) suite: usize,
    pub(crate) item: ItemIndex,
    pub(crate) setting: Setting,
    pub(crate) seed: SessionSeed,
}

impl SessionHeaders {
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        Ok(Self {
            benchmark: text(headers, BENCHMARK)?.map(str::to_owned),
            setting: parsed(headers, SETTING)?,
            item: text(headers, ITEM)?.map(|encoded| percent_decoded(ITEM, encoded)).transpose()?,
            trial: parsed(headers, TRIAL)?.unwrap_or(0),
            seed: parsed(headers, SEED)?,
        })
    }

    /// The session that the headers name, or whose item recognises `request`; `None` when neither tells.
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
        let seed = self.seed.map_or_else(|| seed_of(digest), SessionSeed);
        Ok(Some(Session { suite: position, item, setting: setting.clone(), seed }))
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

    /// Position of the suite that the header names.
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

/// Everything that makes two requests the same one: route, session and body.
pub(crate) fn request_digest(route: &str, headers: &HeaderMap, body: &[u8]) -> Digest {
    let session = HEADERS.iter().map(|name| headers.get(*name).map_or(&[][..], |value| value.as_bytes()));
    Digest::of_parts([route.as_bytes()].into_iter().chain(session).chain([body]))
}

fn seed_of(digest: &Digest) -> SessionSeed {
    let mut first = [0; 8];
    first.copy_from_slice(&digest.bytes()[..8]);
    // 63 bits, as every session seed.
    SessionSeed(u64::from_le_bytes(first) >> 1)
}

fn names(suites: &[ServedSuite]) -> String {
    if suites.is_empty() {
        return "no benchmark".to_owned();
    }
    suites.iter().map(|served| served.benchmark.as_str()).collect::<Vec<_>>().join(", ")
}

fn text<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Option<&'h str>, ApiError> {
    headers
        .get(name)
        .map(|value| value.to_str().map_err(|_| malformed(name, "not printable ASCII; percent-encode it")))
        .transpose()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    headers: &HeaderMap,
    name: &'static str,
) -> Result<Option<T>, ApiError> {
    text(headers, name)?.map(|text| text.parse().map_err(|error: T::Err| malformed(name, error))).transpose()
}

fn malformed(name: &'static str, problem: impl std::fmt::Display) -> ApiError {
    ApiError::bad_request(Some(name), format!("failed to read the header {name}: {problem}"))
}

fn percent_decoded(name: &'static str, encoded: &str) -> Result<String, ApiError> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let (Some(high), Some(low)) = (tail.first().and_then(digit), tail.get(1).and_then(digit)) else {
            return Err(malformed(name, "`%` without two hexadecimal digits"));
        };
        bytes.extend(u8::try_from(high * 16 + low));
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| malformed(name, "not UTF-8 once percent-decoded"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<SessionHeaders, ApiError> {
        SessionHeaders::read(
            &pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect(),
        )
    }

    #[test]
    fn headers_are_decoded() {
        let headers = read(&[(ITEM, "caf%C3%A9%20%25"), (SETTING, "turn/single"), (TRIAL, "3"), (SEED, "99")]).unwrap();
        assert_eq!(headers.item.as_deref(), Some("café %"));
        assert_eq!(headers.setting, Some("turn/single".parse().unwrap()));
        assert_eq!((headers.trial, headers.seed), (3, Some(99)));
    }

    #[test]
    fn a_header_that_cannot_be_read_is_named() {
        for (name, value) in [(ITEM, "%4"), (ITEM, "%zz"), (ITEM, "%FF"), (TRIAL, "-1"), (SEED, "x"), (SETTING, "a b")]
        {
            let error = read(&[(name, value)]).unwrap_err();
            assert_eq!(error.param, Some(name), "{value}");
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn a_request_is_the_same_only_with_the_same_session_and_body() {
        let with = |trial: &'static str, body: &[u8]| {
            request_digest("chat", &HeaderMap::from_iter([(TRIAL.parse().unwrap(), trial.parse().unwrap())]), body)
        };
        assert_eq!(with("0", b"x"), with("0", b"x"));
        assert_ne!(with("0", b"x"), with("1", b"x"));
        assert_ne!(with("0", b"x"), with("0", b"y"));
    }

    proptest! {
        #[test]
        fn percent_decoding_undoes_percent_encoding(text in "\\PC{0,30}") {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            prop_assert_eq!(percent_decoded(ITEM, &encoded).unwrap(), text);
        }
    }
}
