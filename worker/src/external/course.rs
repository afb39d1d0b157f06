//! Ends of agents that say nothing about their models.

use regatta_proto::{Ended, HowEnded};

/// The requests of one start of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    /// None at all.
    None,
    /// Of tools, or such that were refused.
    Others,
    /// Of its model, and perhaps others.
    Model,
}

/// The requests of an agent up to its end, as far as they decide what that end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Course {
    /// Requests of this start.
    pub(super) requests: Requests,
    /// It has asked its model in an earlier turn of the conversation.
    pub(super) has_asked_earlier: bool,
    /// It asked for a route that the bridge does not have.
    pub(super) missed_route: bool,
}

impl Course {
    /// `true` if the agent came to nothing for reasons that say nothing about its model: it failed before it had asked its model for the first
    /// time, it missed a route of the bridge and failed or asked nothing else, or it ended without a request and without an answer, as a program
    /// that does not run as it should. One that asks nobody and answers all the same is scored, because it may have rules instead of a model.
    ///
    /// One that has asked its model in an earlier turn runs as it should. If it gives up in a later one, that is what it did: it has seen how
    /// the conversation goes, and could leave those that go badly.
    pub(super) fn is_lost(self, has_failed: bool, ended: &Ended) -> bool {
        let has_exited = matches!(ended.how, HowEnded::Exited(_));
        let has_asked = self.requests == Requests::Model;
        if self.missed_route && (has_failed || !has_asked) {
            return true;
        }
        if self.has_asked_earlier && (has_exited || ended.how == HowEnded::TooMuchOutput) {
            return false;
        }
        let is_silent = has_exited && ended.output.trim().is_empty();
        (has_failed && !has_asked) || (self.requests == Requests::None && is_silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Course = Course { requests: Requests::None, has_asked_earlier: false, missed_route: false };
    const ASKED: Course = Course { requests: Requests::Model, ..NOTHING };
    const EARLIER: Course = Course { has_asked_earlier: true, ..NOTHING };

    fn is_lost(course: Course, how: HowEnded, output: &str) -> bool {
        let ended = Ended { how, output: output.into(), is_cut: false, errors: "".into() };
        course.is_lost(how != HowEnded::Exited(0), &ended)
    }

    #[test]
    fn an_agent_that_failed_before_it_asked_or_did_and_said_nothing_is_lost() {
        for (course, how, output, expected) in [
            (NOTHING, HowEnded::Exited(1), "", true),
            (NOTHING, HowEnded::Exited(1), "some", true),
            (NOTHING, HowEnded::Deadline, "", true),
            (NOTHING, HowEnded::Exited(0), " \n", true),
            (NOTHING, HowEnded::Exited(0), "by a rule", false),
            (Course { requests: Requests::Others, ..NOTHING }, HowEnded::Exited(0), "", false),
            (ASKED, HowEnded::Exited(1), "", false),
            (ASKED, HowEnded::Deadline, "", false),
        ] {
            assert_eq!(is_lost(course, how, output), expected, "{course:?} {how:?} {output:?}");
        }
    }

    #[test]
    fn an_agent_that_missed_a_route_is_lost_if_it_failed_or_asked_nothing_else() {
        let missed = |course| Course { missed_route: true, ..course };
        assert!(is_lost(missed(NOTHING), HowEnded::Exited(0), "x"));
        assert!(is_lost(missed(ASKED), HowEnded::Exited(1), "x"));
        assert!(!is_lost(missed(ASKED), HowEnded::Exited(0), "x"));
    }

    #[test]
    fn an_agent_that_has_asked_in_an_earlier_turn_cannot_leave_the_conversation() {
        assert!(!is_lost(EARLIER, HowEnded::Exited(1), ""));
        assert!(!is_lost(EARLIER, HowEnded::Exited(0), ""));
        assert!(!is_lost(EARLIER, HowEnded::TooMuchOutput, "xxx"));
        assert!(is_lost(EARLIER, HowEnded::Deadline, ""), "its machine may be slow today");
    }
}
