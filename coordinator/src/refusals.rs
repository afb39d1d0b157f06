//! Wishes of specs that a deployment, or a run in one process, refuses, each with the way that there is.

use regatta_proto::{EndpointKind, EndpointSpec, Lane};

use crate::{PlanError, Submission};

/// Refuses batches: a run in one process forgets its open ones when it is stopped, and would pay for them a second time.
pub(crate) fn refuse_batches(submission: &Submission) -> Result<(), PlanError> {
    let real = |endpoint: &EndpointSpec| endpoint.lane == Lane::Batch && endpoint.kind != EndpointKind::Simulated;
    match submission.spec.endpoints.iter().find(|(_, endpoint)| real(endpoint)) {
        Some((name, _)) => Err(PlanError::Field {
            field: format!("endpoints.{name}.lane"),
            problem: "batches take hours and must outlive this process: hand the sweep to a coordinator with `regatta submit`, or leave \
                      out lane: batch"
                .to_owned(),
        }),
        None => Ok(()),
    }
}

/// Refuses agents with commands: any client of the API could otherwise run any program on the workers.
pub(crate) fn refuse_commands(submission: &Submission) -> Result<(), PlanError> {
    match submission.spec.agents.iter().find(|(_, agent)| !agent.command.is_empty()) {
        Some((name, _)) => Err(PlanError::Field {
            field: format!("agents.{name}.command"),
            problem: format!(
                "workers of a deployment run no commands that specs bring: have their operator name it in their policy file (agents), \
                 and choose it here with registered: {name}"
            ),
        }),
        None => Ok(()),
    }
}

/// Refuses endpoints that name a file or a directory of a machine: the workers would read their own.
pub(crate) fn refuse_paths(submission: &Submission) -> Result<(), PlanError> {
    for (name, endpoint) in &submission.spec.endpoints {
        let problem = match endpoint.kind {
            EndpointKind::Recorded if !submission.recorded.contains_key(name) => {
                "workers of a deployment read no files that specs name: hand the sweep in with `regatta submit`, which stores the file and \
                 names its digest under `recorded`"
                    .to_owned()
            }
            EndpointKind::Encoder if endpoint.registered.is_none() => format!(
                "workers of a deployment read no directories that specs name: have their operator name it in their policy file (encoders), \
                 and write registered: {name} in place of path"
            ),
            EndpointKind::Recorded
            | EndpointKind::Encoder
            | EndpointKind::Openai
            | EndpointKind::OpenaiResponses
            | EndpointKind::Azure
            | EndpointKind::Anthropic
            | EndpointKind::Gemini
            | EndpointKind::Bedrock
            | EndpointKind::Simulated => continue,
        };
        return Err(PlanError::Field { field: format!("endpoints.{name}.path"), problem });
    }
    Ok(())
}

/// Refuses audits that grow: their rounds are runs of their own, which no process of a deployment makes.
pub(crate) fn refuse_growing_audits(submission: &Submission) -> Result<(), PlanError> {
    for (name, benchmark) in &submission.spec.benchmarks {
        if let Some(until) = benchmark.audit.as_ref().and_then(|audit| audit.until) {
            return Err(PlanError::Field {
                field: format!("benchmarks.{name}.audit.until"),
                problem: format!(
                    "a deployment makes the audit of `share` alone: leave out until and at_most, and once the sweep has ended, have \
                     `regatta rescore SWEEP --spec FILE --until {until}` audit as much as it takes"
                ),
            });
        }
    }
    Ok(())
}

/// Refuses simulated endpoints, which `regatta run` alone starts; a deployment's workers need an address they can all reach.
pub(crate) fn refuse_simulated(submission: &Submission) -> Result<(), PlanError> {
    for (name, endpoint) in &submission.spec.endpoints {
        if endpoint.kind == EndpointKind::Simulated {
            return Err(PlanError::Field {
                field: format!("endpoints.{name}.kind"),
                problem: "simulated endpoints are started by `regatta run` only; start `regatta simulate llm` where the workers can \
                          reach it, and write kind: openai with its base_url and identify_sessions: true"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
