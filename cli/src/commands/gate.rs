//! `regatta gate`: may this run go, held against a baseline?

mod decided;
mod judging;
mod limits;
mod nights;
mod policy;
mod rendering;
#[cfg(feature = "cluster")]
mod scheduled;
mod verdict;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use regatta_proto::{Digest, json_bytes};
use serde::Serialize;

#[cfg(feature = "cluster")]
pub(crate) use self::scheduled::{check_for_schedule, judge_night};

use self::judging::{Models, judge};
use self::nights::{Night, NightLedger, OpenLedger, spent};
use self::policy::{Method, Policy};
use self::verdict::{Check, Verdict, overall};
use crate::args::GateArgs;
use crate::ended_run::EndedRun;
use crate::exit::{BadConfiguration, NoVerdict, bad_configuration};
use crate::output;
use crate::paired_runs::{Chosen, MatchedCell, matched};

/// A verdict with its reasons.
#[derive(Debug, Serialize)]
struct Judgement {
    verdict: Verdict,
    run: String,
    baseline: String,
    alpha: f64,
    /// Probability of a false alarm that this night may spend.
    alpha_worse: f64,
    /// Counted from 1; absent where each judgement counts by itself.
    night: Option<usize>,
    /// Probability that all answers of the run's own question are right, where it was judged by these.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    checks: Vec<Check>,
}

/// Subject of a judgement.
struct Question<'a> {
    policy: &'a Policy,
    baseline: &'a EndedRun,
    run: &'a EndedRun,
    cells: &'a [MatchedCell],
    models: Models,
}

pub(crate) async fn run(args: GateArgs) -> anyhow::Result<ExitCode> {
    // Exit code 1 says NO-GO, so what broke must have another.
    gate(args).await.map_err(|error| match error.downcast_ref::<BadConfiguration>() {
        Some(_) => error,
        None => NoVerdict(format!("{error:#}")).into(),
    })
}

async fn gate(args: GateArgs) -> anyhow::Result<ExitCode> {
    let judgement = match args.decided {
        true => decided::judge(&EndedRun::open(&args.run, &args.client).await.map_err(bad_configuration)?)?,
        false => by_policy(&args).await?,
    };
    for (path, content) in [
        (&args.junit, rendering::junit as fn(&Judgement) -> String),
        (&args.markdown, rendering::markdown as fn(&Judgement) -> String),
    ] {
        if let Some(path) = path {
            regatta_files::write(path, content(&judgement))
                .with_context(|| format!("failed to write {}", path.display()))?;
        }
    }
    if args.json {
        output::line(&serde_json::to_string_pretty(&judgement)?);
    } else {
        output::line(&rendering::text(&judgement));
    }
    Ok(ExitCode::from(judgement.verdict.exit_code()))
}

/// Holds the run against a baseline, by a policy.
async fn by_policy(args: &GateArgs) -> anyhow::Result<Judgement> {
    let (Some(baseline), Some(file)) = (&args.baseline, &args.policy) else {
        let problem = "--baseline and --policy are missing; --decided judges a run by its own question";
        return Err(BadConfiguration(problem.to_owned()).into());
    };
    let policy = Policy::read(file).map_err(bad_configuration)?;
    let baseline = EndedRun::open(baseline, &args.client).await.map_err(bad_configuration)?;
    let run = EndedRun::open(&args.run, &args.client).await.map_err(bad_configuration)?;
    let chosen = Chosen { a: args.baseline_model.clone(), b: args.model.clone() };
    let models = if chosen.a.is_some() || chosen.b.is_some() { Models::Named } else { Models::All };
    let cells = matched(&baseline, &run, &chosen)?;
    let question = Question { policy: &policy, baseline: &baseline, run: &run, cells: &cells, models };
    match &policy.nights {
        None => question.judge(None),
        Some(nights) => {
            let Method::AlphaSpending = nights.method;
            let ledger = nights.ledger.as_deref().ok_or_else(|| {
                BadConfiguration(
                    "the policy's nights have no ledger; name its file, as `ledger: nights.json`".to_owned(),
                )
            })?;
            let path = beside(file, ledger);
            let mut open = OpenLedger::open(&path, policy.alpha).map_err(bad_configuration)?;
            let judgement = question.judge_in(&mut open.ledger)?;
            open.write()?;
            Ok(judgement)
        }
    }
}

fn beside(policy: &Path, ledger: &Path) -> PathBuf {
    policy.parent().unwrap_or(Path::new("")).join(ledger)
}

impl Question<'_> {
    /// Judges as the given night, or by itself.
    fn judge(&self, night: Option<usize>) -> anyhow::Result<Judgement> {
        let alpha = self.policy.alpha;
        let alpha_worse = night.map_or(alpha, |night| spent(alpha, night));
        let checks = judge(self.policy, self.baseline, self.run, self.cells, self.models, alpha_worse)?;
        Ok(Judgement {
            verdict: overall(&checks),
            run: self.run.name.clone(),
            baseline: self.baseline.name.clone(),
            alpha,
            alpha_worse,
            night,
            confidence: None,
            checks,
        })
    }

    /// Judges as the next night of `ledger`, or again as the night that it already is.
    fn judge_in(&self, ledger: &mut NightLedger) -> anyhow::Result<Judgement> {
        // A night's spec, and so its sweep's name, is that of every other; when it ran is in its summary.
        let judged = Digest::of(&json_bytes(&(&self.run.summary, &self.baseline.summary)));
        let judgement = self.judge(Some(ledger.night(&judged)))?;
        ledger.note(Night {
            judged,
            run: judgement.run.clone(),
            spent: judgement.alpha_worse,
            verdict: judgement.verdict,
        });
        Ok(judgement)
    }
}

#[cfg(test)]
mod tests;
