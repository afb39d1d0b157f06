//! The policy file of a coordinator: channels of schedules, issuers of tokens, quotas of owners, programs of coded benchmarks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use regatta_backends::{Quota, StorageQuota};
use regatta_coordinator::{BearerVerifier, CertificateRules, OwnerQuotas, Quotas};
use regatta_declared::CodedRules;
use regatta_proto::{Clock, Money, OwnerName, read_yaml};
use serde::Deserialize;

use super::certificates;
use super::channels::{Channels, DeclaredCommand, DeclaredWebhook};
use super::oidc::{DeclaredIssuer, Issuers};
use crate::exit::bad_configuration;

/// Largest policy file read, in bytes.
const POLICY_BYTES_MAX: u64 = 1 << 20;
/// Most issuers of a policy.
const ISSUERS_MAX: usize = 20;
/// The quota of owners that are not named.
const OTHERS: &str = "others";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PolicyFile {
    webhooks: BTreeMap<String, DeclaredWebhook>,
    commands: BTreeMap<String, DeclaredCommand>,
    oidc: Vec<DeclaredIssuer>,
    certificates: Option<certificates::Declared>,
    owners: BTreeMap<String, DeclaredQuota>,
    /// Programs of coded benchmarks, which a plan loads.
    coded: CodedRules,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredQuota {
    budget_usd: Option<f64>,
    sessions: Option<u64>,
    stored_gib: Option<f64>,
}

/// Permissions and limits of a coordinator.
#[derive(Default)]
pub(crate) struct CoordinatorPolicy {
    pub(crate) channels: Channels,
    pub(crate) verifier: Option<Arc<dyn BearerVerifier>>,
    /// Rights of client certificates; where the policy says nothing of them, they have none.
    pub(crate) certificates: CertificateRules,
    pub(crate) quotas: Quotas,
    /// Programs of coded benchmarks that may be started.
    pub(crate) coded: CodedRules,
}

impl CoordinatorPolicy {
    /// The policy in `file`, with the secrets that it names; without a file there are no channels, issuers or quotas.
    pub(crate) fn read(file: Option<&Path>, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let Some(path) = file else { return Ok(Self::default()) };
        let read = || -> anyhow::Result<Self> {
            let size = std::fs::metadata(path)?.len();
            ensure!(size <= POLICY_BYTES_MAX, "it has {size} bytes, at most {POLICY_BYTES_MAX} are read");
            Self::parse(&std::fs::read_to_string(path)?, &|name| std::env::var(name).ok(), clock)
        };
        read()
            .with_context(|| format!("failed to read the coordinator's policy {}", path.display()))
            .map_err(bad_configuration)
    }

    fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let file: PolicyFile = read_yaml(text).map_err(anyhow::Error::msg)?;
        ensure!(file.oidc.len() <= ISSUERS_MAX, "oidc: {} issuers, at most {ISSUERS_MAX} are allowed", file.oidc.len());
        let verifier: Option<Arc<dyn BearerVerifier>> = match file.oidc.is_empty() {
            true => None,
            false => Some(Arc::new(Issuers::new(file.oidc, clock)?)),
        };
        Ok(Self {
            channels: Channels::new(file.webhooks, file.commands, variable)?,
            verifier,
            certificates: file.certificates.map(certificates::Declared::rules).transpose()?.unwrap_or_default(),
            quotas: quotas(file.owners)?,
            coded: file.coded,
        })
    }
}

fn quotas(declared: BTreeMap<String, DeclaredQuota>) -> anyhow::Result<Quotas> {
    let mut quotas = Quotas::default();
    for (name, DeclaredQuota { budget_usd, sessions, stored_gib }) in declared {
        let place = format!("owners.{name}");
        let budget = budget_usd
            .map(|dollars| Money::from_dollars(dollars).with_context(|| format!("{dollars} is no amount of dollars")));
        let granted = Quota { budget: budget.transpose().with_context(|| format!("{place}.budget_usd"))?, sessions };
        let storage = stored_gib
            .map(|gib| {
                StorageQuota::from_gib(gib).with_context(|| format!("{place}.stored_gib: {gib} is no amount of GiB"))
            })
            .transpose()?
            // Without limit.
            .unwrap_or_default();
        let owner = OwnerQuotas { granted, storage };
        if name == OTHERS {
            quotas.others = owner;
        } else {
            quotas.named.insert(OwnerName::new(&name).with_context(|| place)?, owner);
        }
    }
    Ok(quotas)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regatta_coordinator::Messenger as _;
    use regatta_proto::SystemClock;

    use super::*;
    use crate::hostile::nearly_text;

    fn parsed(text: &str) -> anyhow::Result<CoordinatorPolicy> {
        crate::embedded::install_tls();
        CoordinatorPolicy::parse(text, &|_| None, Arc::new(SystemClock))
    }

    #[test]
    fn a_policy_names_channels_issuers_and_quotas() {
        let policy = parsed(
            "commands: { page: { command: [/bin/page] } }
oidc:
  - { issuer: 'https://login.example', audience: regatta, everybody: [read] }
owners:
  alice@example.com: { budget_usd: 100, sessions: 5000 }
  others: { budget_usd: 0, stored_gib: 0.5 }",
        )
        .unwrap();
        assert!(policy.verifier.is_some() && policy.channels.knows("command/page").is_ok());
        let quota = |name: &str| policy.quotas.of(Some(&name.parse().unwrap()));
        let granted = Quota { budget: Money::from_dollars(100.0), sessions: Some(5000) };
        assert_eq!(quota("alice@example.com"), OwnerQuotas { granted, storage: StorageQuota::default() });
        let granted = Quota { budget: Some(Money::ZERO), sessions: None };
        assert_eq!(quota("bob"), OwnerQuotas { granted, storage: StorageQuota { bytes: Some(1 << 29) } });
    }

    const EVERYTHING: &str = "webhooks: { ci: { url: 'https://ci.example/hook', secret_env: HOOK } }
commands: { page: { command: [/bin/page, now], timeout_s: 30 } }
oidc:
  - issuer: https://login.example
    audience: regatta
    algorithms: [ES256]
    grants: { admins: [admin], people: [read, submit] }
    clock_skew_s: 60
certificates: { names: { ci.example.com: { scopes: [submit], owner: ci } }, everybody: [read] }
owners: { alice: { budget_usd: 100, sessions: 5000 }, others: { budget_usd: 0, stored_gib: 20 } }
";

    fn with_hook(text: &str) -> anyhow::Result<CoordinatorPolicy> {
        crate::embedded::install_tls();
        let variable = |name: &str| (name == "HOOK").then(|| "0123456789abcdef".to_owned());
        CoordinatorPolicy::parse(text, &variable, Arc::new(SystemClock))
    }

    #[test]
    fn a_policy_with_everything_is_read() {
        assert!(with_hook(EVERYTHING).unwrap().channels.knows("webhook/ci").is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
        #[test]
        fn a_policy_is_read_or_refused_with_a_sentence(text in nearly_text(EVERYTHING)) {
            if let Err(error) = with_hook(&text) {
                prop_assert!(!format!("{error:#}").contains("0123456789abcdef"), "{:#}", error);
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_policy_is_said_with_its_place() {
        let refused = |text: &str| format!("{:#}", parsed(text).err().unwrap());
        let errors = [
            refused("owners: { 'a b': { sessions: 1 } }"),
            refused("owners: { alice: { budget_usd: -1 } }"),
            refused("owners: { alice: { stored_gib: -1 } }"),
            refused("owners: { alice: { session: 1 } }"),
            refused("owners: { alice: { sessions: 1 }, alice: { sessions: 2 } }"),
            refused("oidc: [{ issuer: 'http://login.example', audience: regatta, everybody: [read] }]"),
            refused("webhook: {}"),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}
