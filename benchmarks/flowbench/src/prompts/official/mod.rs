//! Official prompts of simulators and judges, read from the user's own copy of the official repository.
//!
//! They are in its `utils/eval_utils.py`: those of the simulators as constants of the module, to one of which a
//! function adds the rule about listed calls; each prompt of a judge is built by a function. The module is parsed and
//! never run. Forms other than literals are refused rather than guessed.

mod judges;
mod source;
mod template;

pub(crate) use self::judges::OfficialJudges;
use self::source::{built, constant};
use self::template::Template;
use super::user::{DONE, lines};
use crate::data::{Function, one_line};
use crate::protocol::HistoryLine;
use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;

/// Name under which the function of [`ENVIRONMENT`] inserts the gold calls with their results.
const CALLS: &str = "self.func_prompt";

/// Official prompts of all roles except the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfficialPrompts {
    /// Prompts of the user and tool simulators.
    pub(crate) simulators: OfficialSimulators,
    /// Prompts of the judges.
    pub(crate) judges: OfficialJudges,
}

impl OfficialPrompts {
    /// Extracts the prompts from the module's `content`.
    ///
    /// # Errors
    /// With the constant or function that has an unexpected form, or is missing although every session needs it.
    pub(crate) fn read(file: &SourceLocation<'_>, content: &[u8]) -> Result<Self, DataError> {
        let text = std::str::from_utf8(content).map_err(|error| file.problem(format!("is not UTF-8: {error}")))?;
        // Python treats all line endings alike.
        let source = text.replace("\r\n", "\n").replace('\r', "\n");
        Ok(Self { simulators: OfficialSimulators::read(file, &source)?, judges: OfficialJudges::read(file, &source)? })
    }
}

/// Official prompts of the user and tool simulators (docs/benchmarks/flowbench.md §3.6, §3.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfficialSimulators {
    user_system: Template,
    persona: Template,
    user_text: Template,
    environment_system: Template,
    environment_text: Template,
}

impl OfficialSimulators {
    /// Extracts the prompts from the module's `source`.
    ///
    /// # Errors
    /// With the constant or function that is missing or has an unexpected form.
    fn read(file: &SourceLocation<'_>, source: &str) -> Result<Self, DataError> {
        let template = |name: &str, known: &[&str]| {
            let read = constant(source, name).and_then(|text| Template::read(&text, known));
            read.map_err(|problem| file.error(name, problem))
        };
        Ok(Self {
            user_system: template("USER_PROMPT_INSTRUCTION_IN", &["instruction", "datetime", "done"])?,
            persona: template("USER_INSTRUCTION_HINT", &["hint"])?,
            user_text: template("USER_PROMPT_CONTEXT", &["context", "instruction"])?,
            environment_system: built(source, "prepare_prompt", "prompt_system", &[CALLS])
                .map(Template::of)
                .map_err(|problem| file.error("prepare_prompt", problem))?,
            environment_text: template(
                "PROMPT_FUNCTION_INPUT",
                &["name", "param_def", "resp_def", "args", "dial", "datetime"],
            )?,
        })
    }

    /// Renders the system text of the user simulator.
    pub(crate) fn user_system(&self, first_turn_hint: &str, datetime: &str) -> String {
        self.user_system.fill(&[("instruction", first_turn_hint), ("datetime", datetime), ("done", DONE)])
    }

    /// Renders the user text of the user simulator.
    pub(crate) fn user_text(&self, every_turn_hint: &str, history: &[HistoryLine<'_>]) -> String {
        let persona = self.persona.fill(&[("hint", every_turn_hint)]);
        self.user_text.fill(&[("instruction", &persona), ("context", &lines(history))])
    }

    /// Renders the system text of the tool simulator.
    pub(crate) fn environment_system(&self, function_prompt: &str) -> String {
        self.environment_system.fill(&[(CALLS, function_prompt)])
    }

    /// Renders the user text of the tool simulator. A call without arguments is rendered as Python's `None`.
    pub(crate) fn environment_text(
        &self,
        function: &Function,
        datetime: &str,
        history: &[HistoryLine<'_>],
        arguments: Option<&str>,
    ) -> String {
        self.environment_text.fill(&[
            ("name", &function.name),
            ("param_def", &one_line(&function.parameters)),
            ("resp_def", &one_line(&function.result)),
            ("args", arguments.unwrap_or("None")),
            ("dial", &lines(history)),
            ("datetime", datetime),
        ])
    }
}

#[cfg(test)]
pub(crate) mod tests;
