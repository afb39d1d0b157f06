//! Labels and annotations by which agents' pods are selected and cleaned up.

use std::collections::BTreeMap;

use regatta_proto::{Digest, SessionKey};

use crate::policy::{Image, PodRules};

/// Label of all of them, and its value.
pub(super) const ROLE: (&str, &str) = ("regatta/role", "agent");
/// Label with the worker's own pod.
pub(super) const WORKER: &str = "regatta/worker";
/// Label with the worker's process: one that was started again in the same pod is another.
pub(super) const PROCESS: &str = "regatta/process";
const SWEEP: &str = "regatta/sweep";
const SESSION: &str = "regatta/session";
/// Label with the `network` of an agent, for network policies.
const NETWORK: &str = "regatta/network";
/// Longest value of a label.
const LABEL_MAX: usize = 63;
/// Digits of a digest in place of what does not fit.
const DIGITS: usize = 12;

/// The process that makes pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// Name of its own pod.
    pub(super) pod: String,
    pub(super) process: String,
}

/// Labels of the pod of `session`.
pub(super) fn labels(rules: &PodRules, owner: &Owner, image: &Image, session: &SessionKey) -> BTreeMap<String, String> {
    let mut labels = rules.labels.clone();
    let own = [
        (ROLE.0, ROLE.1),
        (WORKER, owner.pod.as_str()),
        (PROCESS, owner.process.as_str()),
        (SWEEP, session.sweep.as_str()),
    ];
    labels.extend(own.map(|(name, text)| (name.to_owned(), value(text))));
    labels.extend(image.network.as_ref().map(|network| (NETWORK.to_owned(), value(network))));
    labels
}

/// Annotations: what people want to know of a pod and no label can hold.
pub(super) fn annotations(session: &SessionKey) -> BTreeMap<String, String> {
    BTreeMap::from([(SESSION.to_owned(), session.to_string())])
}

/// `text` as the value of a label; where it cannot be one, its beginning and a digest.
pub(super) fn value(text: &str) -> String {
    let is_end = |sign: Option<char>| sign.is_some_and(|c| c.is_ascii_alphanumeric());
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let fits = text.len() <= LABEL_MAX && text.chars().all(is_sign);
    if fits && is_end(text.chars().next()) && is_end(text.chars().last()) {
        return text.to_owned();
    }
    let digest = Digest::of(text.as_bytes()).to_string();
    let beginning: String = text.chars().filter(|c| is_sign(*c)).take(LABEL_MAX - DIGITS - 2).collect();
    format!("x{beginning}-{}", &digest[digest.len() - DIGITS..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_label_can_hold_is_shortened_and_stays_apart() {
        assert_eq!(value("nightly.2026-01-01"), "nightly.2026-01-01");
        let (one, other) = ("a".repeat(70) + "1", "a".repeat(70) + "2");
        assert_ne!(value(&one), value(&other));
        for odd in [one.as_str(), "ends-with-a-", "", "ä/b", "a b"] {
            let value = value(odd);
            assert!(value.len() <= LABEL_MAX && value.starts_with('x'), "{odd}: {value}");
            assert!(value.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c)), "{odd}: {value}");
        }
    }
}
