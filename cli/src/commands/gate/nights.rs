//! Error control over many nights: each spends a part of alpha, and all parts together are at most alpha.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use regatta_proto::Digest;
use serde::{Deserialize, Serialize};

use super::verdict::Verdict;

/// The state file of a policy: every night that was judged, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NightLedger {
    pub(crate) v: u32,
    /// Probability of a false alarm that all nights together may spend.
    pub(crate) alpha: f64,
    pub(crate) nights: Vec<Night>,
}

/// A run that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Night {
    /// Digest of the summaries of run and baseline: to judge the same again spends nothing.
    pub(crate) judged: Digest,
    /// As the command line named it.
    pub(crate) run: String,
    pub(crate) spent: f64,
    pub(crate) verdict: Verdict,
}

/// The part of alpha that the `night`-th night spends, counted from 1: Σ 1/k² is π²/6, so that all nights together spend `alpha`.
pub(crate) fn spent(alpha: f64, night: usize) -> f64 {
    let night = night as f64;
    alpha * 6.0 / (std::f64::consts::PI * night).powi(2)
}

/// A ledger that nobody else reads or writes meanwhile: two gates that took the same night would both spend its part of alpha.
#[derive(Debug)]
pub(crate) struct OpenLedger {
    pub(crate) ledger: NightLedger,
    path: PathBuf,
    /// Released with the file, whatever ends the process. It lies beside the ledger, which is replaced when it is written.
    _lock: File,
}

impl OpenLedger {
    /// The ledger at `path`, or a new one. Waits while another gate has it.
    pub(crate) fn open(path: &Path, alpha: f64) -> anyhow::Result<Self> {
        let beside = lock_of(path);
        let failed = || format!("failed to lock the nights by {}", beside.display());
        let lock = regatta_files::open_lock(&beside).with_context(failed)?;
        lock.lock().with_context(failed)?;
        Ok(Self { ledger: NightLedger::read(path, alpha)?, path: path.to_path_buf(), _lock: lock })
    }

    /// Writes it, whole or not at all, and lets others have it.
    pub(crate) fn write(self) -> anyhow::Result<()> {
        let failed = || format!("failed to write the nights to {}", self.path.display());
        regatta_files::write(&self.path, serde_json::to_vec_pretty(&self.ledger)?).with_context(failed)
    }
}

fn lock_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

impl NightLedger {
    const VERSION: u32 = 1;

    pub(crate) const fn new(alpha: f64) -> Self {
        Self { v: Self::VERSION, alpha, nights: Vec::new() }
    }

    fn read(path: &Path, alpha: f64) -> anyhow::Result<Self> {
        if !path.exists() {
            return Ok(Self::new(alpha));
        }
        let failed = || format!("failed to read the nights in {}", path.display());
        let ledger: Self = serde_json::from_slice(&std::fs::read(path).with_context(failed)?).with_context(failed)?;
        if ledger.v != Self::VERSION {
            bail!("{} has version {}; this build reads {}", path.display(), ledger.v, Self::VERSION);
        }
        if ledger.alpha != alpha {
            bail!(
                "{} was begun with alpha {}, the policy has {alpha}; begin another ledger, or give the policy its alpha back",
                path.display(),
                ledger.alpha
            );
        }
        Ok(ledger)
    }

    /// The night of what was `judged`, counted from 1: its own if it was judged before, else the next.
    pub(crate) fn night(&self, judged: &Digest) -> usize {
        let known = self.nights.iter().position(|night| night.judged == *judged);
        known.unwrap_or(self.nights.len()) + 1
    }

    /// Notes the verdict of a night.
    pub(crate) fn note(&mut self, night: Night) {
        match self.nights.iter_mut().find(|known| known.judged == night.judged) {
            Some(known) => *known = night,
            None => self.nights.push(night),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::nearly;

    fn night(of: &str, verdict: Verdict) -> Night {
        Night { judged: Digest::of(of.as_bytes()), run: of.to_owned(), spent: 0.01, verdict }
    }

    #[test]
    fn all_nights_together_spend_alpha_and_no_more() {
        let all: f64 = (1..100_000).map(|night| spent(0.05, night)).sum();
        assert!(all < 0.05 && all > 0.049_999, "{all}");
    }

    #[test]
    fn to_judge_the_same_run_again_is_the_same_night() {
        let mut ledger = NightLedger::new(0.05);
        ledger.note(night("monday", Verdict::Go));
        ledger.note(night("tuesday", Verdict::Inconclusive));
        assert_eq!(ledger.night(&Digest::of(b"monday")), 1);
        assert_eq!(ledger.night(&Digest::of(b"wednesday")), 3);
        ledger.note(night("monday", Verdict::NoGo));
        assert_eq!((ledger.nights.len(), ledger.nights[0].verdict), (2, Verdict::NoGo));
    }

    #[test]
    fn a_ledger_is_read_back_and_belongs_to_its_alpha() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nights.json");
        let mut open = OpenLedger::open(&path, 0.05).unwrap();
        open.ledger.note(night("monday", Verdict::Go));
        let ledger = open.ledger.clone();
        open.write().unwrap();
        assert_eq!(OpenLedger::open(&path, 0.05).unwrap().ledger, ledger);
        assert!(OpenLedger::open(&path, 0.1).unwrap_err().to_string().contains("was begun with alpha 0.05"));
    }

    const KEPT: &str = r#"{"v": 1, "alpha": 0.05, "nights": [
        {"judged": "0000000000000000000000000000000000000000000000000000000000000000", "run": "monday", "spent": 0.03, "verdict": "go"},
        {"judged": "1111111111111111111111111111111111111111111111111111111111111111", "run": "tuesday", "spent": 0.007, "verdict": "no_go"}
    ]}"#;

    #[test]
    fn the_kept_nights_of_these_tests_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nights.json");
        std::fs::write(&path, KEPT).unwrap();
        assert_eq!(OpenLedger::open(&path, 0.05).unwrap().ledger.nights.len(), 2);
    }

    proptest! {
        #[test]
        fn a_ledger_is_kept_as_it_was_read_or_refused(bytes in nearly(KEPT.as_bytes())) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("nights.json");
            std::fs::write(&path, bytes).unwrap();
            if let Ok(open) = OpenLedger::open(&path, 0.05) {
                let ledger = open.ledger.clone();
                open.write().unwrap();
                prop_assert_eq!(OpenLedger::open(&path, 0.05).unwrap().ledger, ledger);
            }
        }
    }

    #[test]
    fn gates_at_the_same_time_are_different_nights() {
        const GATES: usize = 16;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nights.json");
        let gate = |name: String| {
            let mut open = OpenLedger::open(&path, 0.05).unwrap();
            let night = Night { run: name.clone(), ..night(&name, Verdict::Go) };
            let number = open.ledger.night(&night.judged);
            open.ledger.note(Night { spent: spent(0.05, number), ..night });
            open.write().unwrap();
            number
        };
        let mut numbers: Vec<usize> = std::thread::scope(|scope| {
            let gates: Vec<_> = (0..GATES)
                .map(|at| {
                    scope.spawn({
                        let gate = &gate;
                        move || gate(format!("run {at}"))
                    })
                })
                .collect();
            gates.into_iter().map(|gate| gate.join().unwrap()).collect()
        });
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=GATES).collect::<Vec<_>>());
        let nights = OpenLedger::open(&path, 0.05).unwrap().ledger.nights;
        assert!(nights.iter().map(|night| night.spent).sum::<f64>() < 0.05 && nights.len() == GATES);
    }
}
