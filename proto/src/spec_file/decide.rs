//! Checks of the question that a sweep is to answer.

use super::SpecError;
use super::bounds::TRIALS_MAX;
use crate::decide::ROUNDS_MAX;
use crate::{Decide, DecideOver, DecideQuestion, SweepSpec, did_you_mean};

/// Largest confidence: sequences at a higher one find nothing within any budget.
const CONFIDENCE_MAX: f64 = 0.999_999;

/// Checks `decide` against the rest of `spec`.
pub(super) fn check_decide(decide: &Decide, spec: &SweepSpec) -> Result<(), SpecError> {
    let field = |name: &str, problem: String| Err(SpecError::Field { field: format!("decide.{name}"), problem });
    if !(0.5..=CONFIDENCE_MAX).contains(&decide.confidence) {
        return field("confidence", format!("must be 0.5 to {CONFIDENCE_MAX}, is {}", decide.confidence));
    }
    if decide.rounds == 0 || decide.rounds > ROUNDS_MAX {
        return field("rounds", format!("must be 1 to {ROUNDS_MAX}, is {}", decide.rounds));
    }
    match &decide.question {
        DecideQuestion::Against(baseline) if !spec.models.iter().any(|model| model.id == *baseline) => {
            let models: Vec<String> = spec.models.iter().map(|model| model.id.to_string()).collect();
            let meant = did_you_mean(&baseline.to_string(), models.iter().map(String::as_str));
            return field("question", format!("compares with {baseline}, which `models` does not list{meant}"));
        }
        DecideQuestion::Interval if decide.margin.part() == 0.0 => {
            return field("margin", "must be above 0pp: no interval is ever narrower".into());
        }
        DecideQuestion::Interval => {}
        DecideQuestion::Ranking | DecideQuestion::Best | DecideQuestion::Against(_) if spec.models.len() < 2 => {
            return field("question", format!("{} is about several models; list them in `models`", decide.question));
        }
        DecideQuestion::Ranking | DecideQuestion::Best | DecideQuestion::Against(_) => {}
    }
    let most = decide.trials_max(spec.trials);
    if most < spec.trials || most > TRIALS_MAX {
        return field("at_most.trials", format!("must be {} (trials) to {TRIALS_MAX}, is {most}", spec.trials));
    }
    if decide.over == DecideOver::Grid && most > spec.trials {
        return field(
            "at_most.trials",
            "says nothing with over: grid, whose answer is known when every item has its trials; write trials instead"
                .into(),
        );
    }
    Ok(())
}
