//! Official prompts of the judges in the official module: of two arguments, and of whole sessions. It has none for
//! the paper's judges of replies and of failures.

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;

use super::source::{built, has_function};
use super::template::Template;

/// Values in the prompt of the judge of two arguments.
const FUZZY: [&str; 6] = ["action", "ret_info", "time_info", "key", GOLD, PREDICTED];
const GOLD: &str = "gt_val";
const PREDICTED: &str = "pred_val";

/// Values in the prompt of the judge of a session.
const COMPLETION: [&str; 3] = [TARGET, "workflow_info", DIALOGUE];
const TARGET: &str = "target";
const DIALOGUE: &str = "dialog_str";

/// Official prompts of judges (docs/benchmarks/flowbench.md §8.1, §8.2); each is absent when the module lacks its
/// function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OfficialJudges {
    fuzzy: Option<Template>,
    completion: Option<Template>,
}

impl OfficialJudges {
    /// Extracts the prompts from the module's `source`.
    ///
    /// # Errors
    /// With the function that has an unexpected form.
    pub(super) fn read(file: &SourceLocation<'_>, source: &str) -> Result<Self, DataError> {
        let template = |function: &str, variable: &str, shown: &[&str]| {
            if !has_function(source, function) {
                return Ok(None);
            }
            let read = built(source, function, variable, shown).map(Template::of);
            let read = read.and_then(|template| match shown.iter().find(|name| !template.has_gap(name)) {
                Some(hidden) => Err(format!("adds {hidden} nowhere to {variable}")),
                None => Ok(Some(template)),
            });
            let expected = format!("expected: {variable} from literal texts, constants and {}", shown.join(", "));
            read.map_err(|problem| file.error(function, format!("{problem}; {expected}")))
        };
        Ok(Self {
            // Misspelt in the official module.
            fuzzy: template("contruct_eval_prompt", "return_prompt", &FUZZY)?,
            completion: template("construct_judge_prompt", "success_prompt", &COMPLETION)?,
        })
    }

    /// Asks whether two arguments mean the same. The tool's `block` includes the blank line that ends it.
    pub(crate) fn fuzzy(
        &self,
        tool: &str,
        block: Option<&str>,
        time: Option<&str>,
        parameter: &str,
        [one, other]: [&str; 2],
    ) -> Option<String> {
        let block = block.map(|block| format!("{block}\n\n")).unwrap_or_default();
        let [of_tool, of_block, of_time, of_parameter, ..] = FUZZY;
        Some(self.fuzzy.as_ref()?.fill(&[
            (of_tool, tool),
            (of_block, &block),
            (of_time, time.unwrap_or_default()),
            (of_parameter, parameter),
            (GOLD, one),
            (PREDICTED, other),
        ]))
    }

    /// Asks whether a session reached its goals.
    pub(crate) fn completion(&self, user_target: &str, workflow: &str, dialogue: &str) -> Option<String> {
        let [_, of_workflow, _] = COMPLETION;
        let values = [(TARGET, user_target), (of_workflow, workflow), (DIALOGUE, dialogue)];
        self.completion.as_ref().map(|template| template.fill(&values))
    }

    /// Parses the two inputs of a [`fuzzy`](Self::fuzzy) prompt; `None` for any other text.
    pub(crate) fn inputs_in<'p>(&self, prompt: &'p str) -> Option<(&'p str, &'p str)> {
        pair(self.fuzzy.as_ref()?, prompt, GOLD, PREDICTED)
    }

    /// Parses target and dialogue of a [`completion`](Self::completion) prompt; `None` for any other text.
    pub(crate) fn session_in<'p>(&self, prompt: &'p str) -> Option<(&'p str, &'p str)> {
        pair(self.completion.as_ref()?, prompt, TARGET, DIALOGUE)
    }
}

fn pair<'p>(template: &Template, prompt: &'p str, first: &str, second: &str) -> Option<(&'p str, &'p str)> {
    let values = template.values_in(prompt)?;
    let value = |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    Some((value(first)?, value(second)?))
}
