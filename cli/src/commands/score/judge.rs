//! A judge that is asked what predictions need, and whose answers are kept, so that the same command asks nothing twice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use regatta_backends::Blobs;
use regatta_benchmarks::{OpenQuestion, RecordedVerdicts};
use regatta_llm::{Answers, Build, Endpoint, Interrupted, Payer, Unanswered};
use regatta_proto::{
    AskedQuestion, CacheMode, CostSum, Digest, EndpointKind, EndpointSpec, Lane, ModelRef, ModelSpec, Question, Share,
    SweepId, Usage, counted, implied_endpoint, implied_endpoints,
};
use regatta_worker::CachedResponses;
use tokio_util::sync::CancellationToken;

use crate::args::ScoreArgs;
use crate::embedded::default_cache;
use crate::lone_endpoint::{self, Surroundings};
use crate::policy::of_person;
use crate::price_tables::{price_table, today};
use crate::spec;

/// Questions without an answer that are named.
const NAMED: usize = 5;

pub(super) struct Judge {
    endpoint: Endpoint,
    model: ModelSpec,
    sweep: SweepId,
    asked: u64,
    usage: Usage,
    cost: CostSum,
}

impl Judge {
    /// The judge of `--judge`, at an endpoint of `--endpoints` or at a provider that needs no entry.
    pub(super) fn open(id: &ModelRef, args: &ScoreArgs) -> anyhow::Result<Self> {
        let (endpoint, base_dir) = endpoint(id, args.endpoints.as_deref())?;
        Build::THIS.check(&id.endpoint, &endpoint)?;
        let policy = of_person(args.policy.file.as_deref())?;
        let cache = default_cache(&args.out.with_extension("cache"))?;
        let cache =
            Blobs::directory(&cache).with_context(|| format!("failed to open the cache {}", cache.display()))?;
        let mut model = ModelSpec::from(id.clone());
        model.price = price_table(None)?.resolve(&endpoint, &model, today()).0;
        let surroundings = Surroundings {
            command: "score",
            base_dir: &base_dir,
            answers: Arc::new(CachedResponses(cache)),
            policy: &policy,
        };
        Ok(Self {
            endpoint: lone_endpoint::open(&id.endpoint, &endpoint, surroundings)?,
            model,
            sweep: SweepId::new("score")?,
            asked: 0,
            usage: Usage::default(),
            cost: CostSum::default(),
        })
    }

    /// Asks all of `open`, and adds the answers to `verdicts`. Returns what is to be said if some have none.
    pub(super) async fn answer(&mut self, open: &[OpenQuestion], verdicts: &mut RecordedVerdicts) -> Option<String> {
        let questions: BTreeMap<Digest, &Question> =
            open.iter().map(|one| (one.question.digest(), &one.question)).collect();
        let asked: Vec<AskedQuestion> = questions
            .iter()
            .map(|(digest, question)| AskedQuestion { digest: *digest, question: (*question).clone() })
            .collect();
        let payer = Payer {
            sweep: &self.sweep,
            share: Share::default(),
            accounts: &[],
            price: self.model.price.as_ref(),
            cache: CacheMode::ReadWrite,
        };
        let interrupt = CancellationToken::new();
        // Nobody interrupts it but the end of the process.
        let (Ok(answers) | Err(Interrupted(answers))) =
            self.endpoint.answer(&self.model, &asked, payer, &interrupt).await;
        let Answers { verdicts: given, unanswered, usage, cost, .. } = answers;
        self.asked += asked.len() as u64;
        self.usage += usage;
        self.cost += cost;
        for (digest, verdict) in given {
            if let Some(question) = questions.get(&digest) {
                verdicts.add(question, verdict);
            }
        }
        (!unanswered.is_empty()).then(|| self.without_answer(&unanswered))
    }

    /// Says how much was asked, and for how much.
    pub(super) fn bill(&self) -> String {
        let questions = counted(self.asked, "question", "questions");
        let Usage { input, output, .. } = self.usage;
        format!("{} answered {questions}: {input} tokens in, {output} out, {}", self.model.id, self.cost)
    }

    fn without_answer(&self, unanswered: &[Unanswered]) -> String {
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for one in unanswered {
            *reasons.entry(&one.reason).or_default() += 1;
        }
        let told: Vec<String> =
            reasons.iter().take(NAMED).map(|(reason, count)| format!("\n  {count} × {reason}")).collect();
        let more = if reasons.len() > NAMED { "\n  …" } else { "" };
        let questions = counted(unanswered.len() as u64, "question has", "questions have");
        format!(
            "{questions} no answer of {}, so nothing is scored; the same command asks these again and no others:{}{more}",
            self.model.id,
            told.concat()
        )
    }
}

/// The endpoint of `id`, and the directory that its paths are relative to.
fn endpoint(id: &ModelRef, file: Option<&Path>) -> anyhow::Result<(EndpointSpec, PathBuf)> {
    let name = &id.endpoint;
    let named = match file {
        Some(file) => {
            let place = file.display();
            let text = std::fs::read_to_string(file).with_context(|| format!("failed to read the spec {place}"))?;
            let mut of_file = spec::parse(&text).with_context(|| place.to_string())?;
            let base_dir = file.parent().unwrap_or(Path::new(".")).to_owned();
            of_file.endpoints.remove(name).map(|endpoint| (endpoint, base_dir))
        }
        None => None,
    };
    let implied = || Some((implied_endpoint(name.as_str())?, PathBuf::from(".")));
    let (mut endpoint, base_dir) = named.or_else(implied).with_context(|| {
        let known: Vec<&str> = implied_endpoints().collect();
        format!(
            "--judge {id}: there is no endpoint {name}; give a spec that has it with --endpoints, or take one of {}",
            known.join(", ")
        )
    })?;
    if endpoint.kind == EndpointKind::Simulated && endpoint.base_url.is_none() {
        anyhow::bail!(
            "--judge {id}: only a run starts a simulated endpoint; start one with `regatta simulate llm`, and give its address as base_url of \
             endpoints.{name}"
        );
    }
    // Nobody waits for a batch here.
    endpoint.lane = Lane::Live;
    Ok((endpoint, base_dir))
}
