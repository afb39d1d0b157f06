//! The interface of every benchmark: four pure functions, and a fifth that simulates models.
//!
//! No I/O, no clock, no async, no randomness except from seeds. A session is a function of its transcript: calling
//! [`Suite::next`] with the transcript so far continues it on any machine, and calling [`Suite::score`] scores it
//! again.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use regatta_proto::{
    BenchmarkName, ChatRequest, Digest, Evaluator, FileSet, Image, ItemIndex, MemberName, Question, Reply, Role,
    SessionSeed, Setting, Transcript,
};

use crate::{
    CellResult, DataError, Drawing, Item, Metric, PaperTable, Persona, Picture, RatedScore, RemoteFile, SampledBy,
    Score, Scores, Scoring, SelectError, Step, Table, ToolAnswer, ToolRequest, Verdicts,
};

/// A benchmark: its name, settings and evaluators, and the function that loads a data set.
pub trait Benchmark: Send + Sync {
    /// Name in specs, paths and tables, such as `appbench`.
    fn name(&self) -> BenchmarkName;

    /// Returns `true` if the file at `path` (relative to the data directory) belongs to the data set. Other files are
    /// neither read nor stored.
    fn wants(&self, path: &str) -> bool;

    /// Returns further files of the data set that are named in `files`, as relative paths within the data directory. The first
    /// time these are the [wanted](Self::wants) ones; it is asked once more when there are also the files that it named,
    /// and the [remote](Self::remote_files) ones, which may name files themselves.
    ///
    /// # Errors
    /// When `files` cannot be parsed, or name a path outside of the directory.
    fn further_files(&self, files: &FileSet) -> Result<Vec<String>, DataError> {
        let _ = files;
        Ok(Vec::new())
    }

    /// Returns the files of the data set that the [wanted](Self::wants) ones name by their addresses.
    ///
    /// # Errors
    /// As [`further_files`](Self::further_files)'.
    fn remote_files(&self, files: &FileSet) -> Result<Vec<RemoteFile>, DataError> {
        let _ = files;
        Ok(Vec::new())
    }

    /// Returns what the data set has of a further file at `path` whose content is `content`: of a format that only its owner's machine
    /// should read, another one.
    ///
    /// # Errors
    /// When the content cannot be read.
    fn as_stored(&self, files: &FileSet, path: &str, content: Vec<u8>) -> Result<Vec<u8>, DataError> {
        let _ = (files, path);
        Ok(content)
    }

    /// Returns the official files of the data set, with repository, commit, sizes and digests (`sources.yaml`); `None`
    /// where nobody publishes one.
    fn sources(&self) -> Option<&'static str> {
        None
    }

    /// Returns the settings that the benchmark can run in, the default first; empty where each data set declares its
    /// own ([`Suite::declared_settings`]).
    fn settings(&self) -> Vec<Setting>;

    /// Returns the benchmark's evaluators, the default first.
    fn evaluators(&self) -> Vec<Evaluator>;

    /// Returns the evaluators that are used when a spec names none.
    fn usual_evaluators(&self) -> Vec<Evaluator> {
        self.evaluators()
    }

    /// Reads the data set.
    ///
    /// # Errors
    /// With the file, record and field of the first malformed value; no record is skipped.
    fn load(&self, files: &FileSet) -> Result<Arc<dyn Suite>, DataError>;

    /// Scores one golden case from `case.json` and its inputs. The expected files are never read.
    ///
    /// # Errors
    /// When the case or an input cannot be read.
    fn score_case(&self, case: &FileSet, data: &FileSet) -> Result<BTreeMap<String, serde_json::Value>, DataError>;
}

/// A loaded data set.
pub trait Suite: Send + Sync {
    /// Returns the items in the order of the data set; the position of an item is its [`ItemIndex`].
    fn items(&self) -> &[Item];

    /// Returns the bytes that the data set has beyond those of its files, as those of unpacked archives do. Processes
    /// keep as many data sets as fit.
    fn unpacked_bytes(&self) -> u64 {
        0
    }

    /// Returns the settings that the data set itself declares, the default first; empty where the benchmark defines
    /// them ([`Benchmark::settings`]).
    fn declared_settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    /// Returns the items of `setting` in ascending order, restricted to `tasks` (all when empty) and to the first
    /// `limit` of each task.
    ///
    /// # Errors
    /// When a task or the setting is unknown, or a task cannot be run in that setting.
    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError>;

    /// The unit that samples of the items are drawn in.
    fn sampled_by(&self) -> SampledBy {
        SampledBy::Item
    }

    /// Returns the number of calls of [`next`](Self::next), [`score`](Self::score) and similar functions that can run
    /// at once, where these wait for something, such as a process of a pool; `None` where they only compute.
    fn calls_at_once(&self) -> Option<NonZeroUsize> {
        None
    }

    /// Returns the roles that sessions of `setting` call: the agent, and any other role that needs a model of its own.
    fn roles(&self, setting: &Setting) -> Vec<Role> {
        let _ = setting;
        vec![Role::Agent]
    }

    /// Returns the team members in sessions of `setting`; a cast may assign a model to each.
    fn members(&self, setting: &Setting) -> Vec<MemberName> {
        let _ = setting;
        Vec::new()
    }

    /// Returns the next step of the session of `item` after `transcript`.
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step;

    /// Answers a request of an external agent to the benchmark's tool servers in the session of `item`.
    fn serve(&self, item: ItemIndex, setting: &Setting, request: &ToolRequest) -> ToolAnswer {
        let _ = (item, setting, request);
        ToolAnswer::not_found()
    }

    /// Scores the finished session of `item` in `setting` with `evaluators`, or returns the questions whose verdicts
    /// are missing. Most benchmarks ignore the setting.
    fn score_session(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring {
        let _ = setting;
        self.score(item, evaluators, transcript, verdicts)
    }

    /// Scores as [`score_session`](Self::score_session) does, for the default setting and for predictions whose
    /// setting is unknown.
    fn score(
        &self,
        item: ItemIndex,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Scoring;

    /// Returns the worst scores, for a session that failed because of the model. They hold every value that a session
    /// of the item can have: a value that is absent here is absent in every session of the item. Empty for an item that
    /// is none, whose session is then unfit and has no scores.
    fn score_failure(&self, item: ItemIndex, evaluators: &[Evaluator]) -> Scores;

    /// Returns `true` if the benchmark's own parser found an answer of the agent unreadable: no workflow, no plan, or
    /// no call in it. Always `false` where every text is a valid answer.
    fn is_invalid_format(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> bool {
        let _ = (item, setting, transcript);
        false
    }

    /// Aggregates trials into the shape of the golden files (`aggregate`) and the columns that tables show. It is
    /// called for each trial alone and once for all trials of a setting and model, because official code may pool
    /// these in its own way. Each trial has its scores by ascending item. [`Score::detail`] may be `null` here:
    /// tables need flat values alone.
    fn tabulate(&self, evaluator: Evaluator, trials: &[Vec<(ItemIndex, &Score)>]) -> Table;

    /// Returns the metrics of `setting`. The default: the means of all flat values, each in 0..=1.
    fn metrics(&self, setting: &Setting, evaluator: Evaluator) -> Vec<Metric> {
        let _ = setting;
        // Assumes that all items have the same values, which the default is for.
        let mut failure = self.score_failure(ItemIndex(0), &[evaluator]);
        let values = failure.remove(&evaluator).map(|score| score.values).unwrap_or_default();
        values.keys().map(|name| Metric::mean(name)).collect()
    }

    /// Returns `true` if a judge's verdict can change the value `value` of a session's score by `evaluator`.
    fn is_judged(&self, evaluator: Evaluator, value: &str) -> bool;

    /// Returns `true` if a judge's verdict can change `metric`, one of `evaluator`.
    fn is_judged_metric(&self, evaluator: Evaluator, metric: &Metric) -> bool {
        metric.depends_on(|value| self.is_judged(evaluator, value))
    }

    /// Returns the least and greatest possible value of the number at the JSON pointer `pointer` in an aggregate; the
    /// greatest is infinite where there is no limit.
    ///
    /// Returns `None` for everything but averages and ratios over sessions, for counts for example. Only averages and
    /// ratios estimate the result on new items, so only they get an interval.
    fn aggregate_range(&self, evaluator: Evaluator, pointer: &str) -> Option<(f64, f64)> {
        let _ = (evaluator, pointer);
        None
    }

    /// Returns the parts of the data set, besides its task, that `item` belongs to and that tables need metrics of.
    fn parts(&self, item: ItemIndex) -> Vec<Arc<str>> {
        let _ = item;
        Vec::new()
    }

    /// Makes the tables of the benchmark's paper from all settings and models of a sweep, in the order of its grid.
    fn paper_tables(&self, evaluator: Evaluator, cells: &[CellResult<'_>]) -> Vec<PaperTable> {
        let _ = (evaluator, cells);
        Vec::new()
    }

    /// Returns the image of the data set with this digest, with its bytes: what is written down of a question to a judge has none.
    fn image(&self, digest: &Digest) -> Option<Image> {
        let _ = digest;
        None
    }

    /// Draws the session of `item` so far for people who inspect it.
    fn pictures(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Vec<Picture> {
        let _ = (item, setting, transcript);
        Vec::new()
    }

    /// Draws the picture at `number` of [`Self::pictures`] alone, which together may take many times its memory.
    fn picture(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript, number: usize) -> Option<Picture> {
        self.pictures(item, setting, transcript).into_iter().nth(number)
    }

    /// Returns graphs of the answers in the session of `item` so far over the gold; empty where answers are not
    /// graphs. `verdicts` come from a scoring with `evaluators`; without them, nodes with equal texts are partners.
    fn drawings(
        &self,
        item: ItemIndex,
        setting: &Setting,
        evaluators: &[Evaluator],
        transcript: &Transcript,
        verdicts: &dyn Verdicts,
    ) -> Vec<Drawing> {
        let _ = (item, setting, evaluators, transcript, verdicts);
        Vec::new()
    }

    /// Returns the score of a judge in sessions of `setting` that people may rate too, so that their ratings are
    /// compared with the judge's. `None` where no judge gives such a score.
    fn rated_score(&self, setting: &Setting) -> Option<RatedScore> {
        let _ = setting;
        None
    }

    /// Returns a correct reply of the agent to `request` in the session of `item`, for people who inspect the
    /// session; others may be correct too. `None` where none is known.
    fn right_reply(&self, item: ItemIndex, setting: &Setting, request: &ChatRequest) -> Option<Reply> {
        // The oracle draws random numbers for the ids of its calls alone, so any seed will do.
        let seed = SessionSeed(0);
        let reply = self.simulate(item, setting, Role::Agent, Persona::Oracle, seed, request);
        (reply.answer_bytes() > 0).then_some(reply)
    }

    /// Converts predictions of other systems (formats: section on predictions of the benchmark's page in
    /// docs/benchmarks) to transcripts by item.
    ///
    /// # Errors
    /// With the file and line of a prediction that cannot be parsed or names an unknown item.
    fn read_predictions(&self, file: &str, content: &[u8]) -> Result<Vec<(ItemIndex, Transcript)>, DataError>;

    /// Returns the reply of a simulated model that plays `role` to `request` in the session of `item`: a text, tool
    /// calls, or both. The id of each call is unique in the session. Simulated replies have no reasoning and no log
    /// probabilities.
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Reply;

    /// Finds the item whose session `request` belongs to, for callers that do not name it; the first one when several
    /// match.
    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex>;

    /// Returns an example of the questions that `evaluators` ask, so that a plan knows that a judge is required.
    /// `None` where that shows only in the first sessions.
    fn example_question(&self, evaluators: &[Evaluator]) -> Option<Question> {
        let _ = evaluators;
        None
    }

    /// Returns a simulated judge's reply to `prompt`, the last message of the judge's request. `None` if `prompt` is
    /// not one of this benchmark's.
    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        let _ = (prompt, persona, seed);
        None
    }
}
