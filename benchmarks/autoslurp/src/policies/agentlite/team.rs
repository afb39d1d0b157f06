//! Members of the team, with their actions.

use crate::members;

/// An action of an agent besides calling others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Tells today's date.
    CurDate,
    /// Gives back what it gets.
    Time,
    /// Sends a request.
    Request,
    /// Thinks, which changes nothing.
    Think,
    /// Ends the task with an answer.
    Finish,
}

/// An agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agent {
    /// Name of the agent and of the manager's action that calls it.
    pub(super) name: &'static str,
    /// Member of the team that the agent is.
    pub(super) member: &'static str,
    /// Actions of the agent, besides calling others.
    pub(super) deeds: &'static [Deed],
    /// Agents that it can call.
    pub(super) team: &'static [Agent],
}

impl Deed {
    /// Name of the action.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::CurDate => "CurDate_Act",
            Self::Time => "Time_Act",
            Self::Request => "request",
            Self::Think => "Think",
            Self::Finish => "Finish",
        }
    }

    /// Description of the action for models.
    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::CurDate => "Tells today's date.",
            Self::Time => "Notes down a time or a date that was worked out.",
            Self::Request => "Sends a request to a server and returns its answer.",
            Self::Think => "Think about the task, its state and what comes next.",
            Self::Finish => "End the task and give its answer.",
        }
    }

    /// Parameters of the action, with their descriptions for models.
    pub(super) const fn parameters(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::CurDate => &[("query", "what the date is needed for, in a few words")],
            Self::Time => &[("query", "the time or date, in a few words")],
            Self::Request => &[
                ("url", "the URL of the server"),
                (
                    "query",
                    "a JSON text with intent and slots for a server of the house, as {\"intent\": \"alarm_set\", \"time\": \"07:30\"}; an empty \
                     text for all other services",
                ),
            ],
            Self::Think => &[("response", "what you think, to the point")],
            Self::Finish => &[("response", "the answer to the task")],
        }
    }
}

const INNER: &[Deed] = &[Deed::Think, Deed::Finish];

/// The whole team: its manager.
pub(super) const MANAGER: Agent = Agent { name: "whole_manager", member: members::MANAGER, deeds: INNER, team: &TEAM };

const TEAM: [Agent; 4] = [
    Agent { name: "IntentAgent", member: members::INTENT, deeds: INNER, team: &[] },
    Agent {
        name: "TimeAgent",
        member: members::TIME,
        deeds: &[Deed::Time, Deed::CurDate, Deed::Think, Deed::Finish],
        team: &[],
    },
    Agent { name: "LocationAgent", member: members::LOCATION, deeds: INNER, team: &[] },
    Agent {
        name: "ExecAgent",
        member: members::REQUEST,
        deeds: &[Deed::Request, Deed::Think, Deed::Finish],
        team: &[],
    },
];
