//! Identifies the session of a request, by its headers or, if it has none (like a line of a batch), by the metadata in its body.
//!
//! | header | key of `metadata` | |
//! |---|---|---|
//! | `x-regatta-benchmark` | `regatta_benchmark` | name of the benchmark |
//! | `x-regatta-setting` | `regatta_setting` | setting of the session |
//! | `x-regatta-item` | `regatta_item` | id of the item, percent-encoded in the header only |
//! | `x-regatta-trial` | `regatta_trial` | number of the trial |
//! | `x-regatta-role` | `regatta_role` | `agent` (the default), `user`, `environment` or `judge` |
//! | `x-regatta-member` | `regatta_member` | member of the agent's team that speaks, where it is a team |
//! | `x-regatta-seed` | `regatta_seed` | seed of the answer |
//!
//! OpenAI's formats have the keys in `metadata` itself; Anthropic's have them as a JSON object, written as text into `metadata.user_id`,
//! its only field there. A header takes precedence over its key.

use hyper::HeaderMap;
use regatta_proto::{Digest, MemberName, Role, Setting};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::api_error::ApiError;

pub(crate) const BENCHMARK: &str = "x-regatta-benchmark";
pub(crate) const SETTING: &str = "x-regatta-setting";
pub(crate) const ITEM: &str = "x-regatta-item";
const TRIAL: &str = "x-regatta-trial";
const SEED: &str = "x-regatta-seed";
const ROLE: &str = "x-regatta-role";
const MEMBER: &str = "x-regatta-member";
/// Names of the session's headers.
const HEADERS: [&str; 5] = [BENCHMARK, SETTING, ITEM, TRIAL, SEED];
/// The field of a body that may replace them.
const METADATA: &str = "metadata";

/// The session as a request names it, decoded but not looked up yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) benchmark: Option<String>,
    pub(crate) setting: Option<Setting>,
    pub(crate) item: Option<String>,
    pub(crate) trial: u16,
    pub(crate) role: Option<Role>,
    pub(crate) member: Option<MemberName>,
    pub(crate) seed: Option<u64>,
}

/// The session as the body of a request names it.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    regatta_benchmark: Option<Field>,
    regatta_setting: Option<Field>,
    regatta_item: Option<Field>,
    regatta_trial: Option<Field>,
    regatta_role: Option<Field>,
    regatta_member: Option<Field>,
    regatta_seed: Option<Field>,
}

/// A text, or a number, because some clients write numbers.
#[derive(Debug, PartialEq, Eq)]
struct Field(String);

impl Metadata {
    /// Reads `metadata` as it was written: an object with our keys among others, or a text that may be such an object.
    pub(crate) fn from_json(json: &str) -> Result<Self, ApiError> {
        let failed = |error| {
            ApiError::bad_request(Some(METADATA), format!("failed to read `{METADATA}` of the request: {error}"))
        };
        if json.starts_with('{') {
            return serde_json::from_str(json).map_err(failed);
        }
        serde_json::from_str::<String>(json).map(|text| Self::from_text(&text)).map_err(failed)
    }

    /// Reads a text that may be a JSON object of ours; any other text names no session.
    pub(crate) fn from_text(text: &str) -> Self {
        if text.starts_with('{') { serde_json::from_str(text).unwrap_or_default() } else { Self::default() }
    }
}

impl Identity {
    /// Reads `headers` and `metadata`.
    pub(crate) fn read(headers: &HeaderMap, metadata: &Metadata) -> Result<Self, ApiError> {
        let item = match (text(headers, ITEM)?, &metadata.regatta_item) {
            (Some(encoded), _) => Some(percent_decoded(ITEM, encoded)?),
            (None, said) => said.as_ref().map(|Field(item)| item.clone()),
        };
        Ok(Self {
            benchmark: parsed(headers, BENCHMARK, metadata.regatta_benchmark.as_ref())?,
            setting: parsed(headers, SETTING, metadata.regatta_setting.as_ref())?,
            item,
            trial: parsed(headers, TRIAL, metadata.regatta_trial.as_ref())?.unwrap_or(0),
            role: parsed(headers, ROLE, metadata.regatta_role.as_ref())?,
            member: parsed(headers, MEMBER, metadata.regatta_member.as_ref())?,
            seed: parsed(headers, SEED, metadata.regatta_seed.as_ref())?,
        })
    }
}

/// Identifies a request by route, session and body; equal requests have equal digests.
pub(crate) fn request_digest(route: &str, headers: &HeaderMap, body: &[u8]) -> Digest {
    let session = HEADERS.iter().map(|name| headers.get(*name).map_or(&[][..], |value| value.as_bytes()));
    // Included only if it is not the agent or if it is a member of a team, so that other requests draw the same faults as without it.
    let speaker = [ROLE, MEMBER].into_iter().filter_map(|name| headers.get(name)).map(|value| value.as_bytes());
    Digest::of_parts([route.as_bytes()].into_iter().chain(session).chain(speaker).chain([body]))
}

/// The value of a header or, without one, of the metadata.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(
    headers: &HeaderMap,
    name: &'static str,
    said: Option<&Field>,
) -> Result<Option<T>, ApiError> {
    match (text(headers, name)?, said) {
        (Some(text), _) => text.parse().map(Some).map_err(|error| malformed(name, error)),
        (None, Some(Field(text))) => text.parse().map(Some).map_err(|error| {
            let message = format!("failed to read what `{METADATA}` says in place of the header {name}: {error}");
            ApiError::bad_request(Some(METADATA), message)
        }),
        (None, None) => Ok(None),
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Option<&'h str>, ApiError> {
    headers
        .get(name)
        .map(|value| value.to_str().map_err(|_| malformed(name, "not printable ASCII; percent-encode it")))
        .transpose()
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

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;

        impl Visitor<'_> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Field, E> {
                Ok(Field(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Field, E> {
                Ok(Field(number.to_string()))
            }
        }

        deserializer.deserialize_any(FieldVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pairs: &[(&'static str, &'static str)]) -> Result<Identity, ApiError> {
        let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        Identity::read(&headers, &Metadata::default())
    }

    #[test]
    fn headers_are_decoded() {
        let pairs = [
            (ITEM, "caf%C3%A9%20%25"),
            (SETTING, "turn/single"),
            (TRIAL, "3"),
            (ROLE, "environment"),
            (MEMBER, "intent"),
            (SEED, "99"),
        ];
        let headers = read(&pairs).unwrap();
        assert_eq!(headers.role, Some(Role::Environment));
        assert_eq!(headers.member, Some("intent".parse().unwrap()));
        assert_eq!(headers.item.as_deref(), Some("café %"));
        assert_eq!(headers.setting, Some("turn/single".parse().unwrap()));
        assert_eq!((headers.trial, headers.seed), (3, Some(99)));
    }

    #[test]
    fn a_header_that_cannot_be_read_is_named() {
        for (name, value) in [
            (ITEM, "%4"),
            (ITEM, "%zz"),
            (ITEM, "%FF"),
            (TRIAL, "-1"),
            (ROLE, "boss"),
            (MEMBER, "a b"),
            (SEED, "x"),
            (SETTING, "a b"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert_eq!(error.param.as_deref(), Some(name), "{value}");
            assert!(error.message.contains(name), "{}", error.message);
        }
    }

    #[test]
    fn metadata_says_the_same_unless_a_header_does() {
        let metadata = Metadata::from_text(
            r#"{"regatta_benchmark": "b", "regatta_setting": "turn/single", "regatta_item": "café %41", "regatta_trial": "3",
                "regatta_member": "intent", "regatta_seed": 99, "team": ["x"]}"#,
        );
        let identity = Identity::read(&HeaderMap::new(), &metadata).unwrap();
        assert_eq!(identity.benchmark.as_deref(), Some("b"));
        assert_eq!(identity.setting, Some("turn/single".parse().unwrap()));
        assert_eq!(identity.item.as_deref(), Some("café %41"));
        assert_eq!((identity.trial, identity.seed), (3, Some(99)));
        assert_eq!(identity.member, Some("intent".parse().unwrap()));
        let headers = HeaderMap::from_iter([(TRIAL.parse().unwrap(), "4".parse().unwrap())]);
        assert_eq!(Identity::read(&headers, &metadata).unwrap().trial, 4);
    }

    #[test]
    fn a_users_own_name_is_no_metadata_and_malformed_metadata_is_named() {
        assert_eq!(Metadata::from_text("somebody"), Metadata::default());
        assert_eq!(Metadata::from_text("{somebody}"), Metadata::default());
        let error = Identity::read(&HeaderMap::new(), &Metadata::from_text(r#"{"regatta_trial": "x"}"#)).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("metadata"));
        assert!(error.message.contains(TRIAL), "{}", error.message);
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
