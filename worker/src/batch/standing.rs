//! State of a batch: known by its message and the number of its deliveries, since nothing else keeps it.

use jiff::{SignedDuration, Timestamp};
use regatta_llm::SUBMIT_WITHIN;
use regatta_proto::BatchJob;

use super::following::Step;

/// State of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// Nobody has handed it in; only its message is there.
    Intended,
    /// It may have been handed in, and nobody knows: a worker had its message before, or the time to hand it in is over.
    InDoubt,
    /// The provider has it: its id there is in the message.
    HandedIn,
    /// Every answer is reported, or others took its place; its message is gone.
    Over,
}

impl Standing {
    /// All of them, in the order of a life.
    #[cfg(test)]
    pub(super) const ALL: [Self; 4] = [Self::Intended, Self::InDoubt, Self::HandedIn, Self::Over];

    /// State of the batch of `job` at `now`, when it was delivered `redeliveries` times before.
    pub(super) fn of(job: &BatchJob, redeliveries: u32, now: Timestamp) -> Self {
        let age = now.duration_since(job.intended_at);
        match job.provider_id {
            Some(_) => Self::HandedIn,
            None if redeliveries > 0
                || age > SignedDuration::try_from(SUBMIT_WITHIN).unwrap_or(SignedDuration::MAX) =>
            {
                Self::InDoubt
            }
            None => Self::Intended,
        }
    }

    /// State after `step`.
    pub(super) fn after(self, step: &Step) -> Self {
        match (step, self) {
            (Step::Next(next, _), _) if next.provider_id.is_some() => Self::HandedIn,
            (Step::Next(..), _) => Self::Intended,
            (Step::Split(_) | Step::Over(..) | Step::Void, _) => Self::Over,
            // What is delivered again without an id is in doubt.
            (Step::HandBack, Self::Intended) => Self::InDoubt,
            (Step::HandBack, here) => here,
        }
    }

    /// `true` if `to` may follow; a step that leads elsewhere is not taken. Only what is known not to have been handed in may be intended
    /// again, and nothing is handed in twice.
    pub(super) const fn may_become(self, to: Self) -> bool {
        match self {
            Self::Intended => matches!(to, Self::Intended | Self::InDoubt | Self::HandedIn | Self::Over),
            Self::InDoubt => matches!(to, Self::InDoubt | Self::Intended | Self::HandedIn | Self::Over),
            Self::HandedIn => matches!(to, Self::HandedIn | Self::Over),
            Self::Over => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use regatta_proto::Digest;
    use regatta_tests::drawing::{Transitions, drawn};

    use super::*;

    /// Name in the drawing.
    fn name(standing: Standing) -> &'static str {
        match standing {
            Standing::Intended => "intended",
            Standing::InDoubt => "in doubt",
            Standing::HandedIn => "handed in",
            Standing::Over => "over",
        }
    }

    fn job(provider_id: Option<&str>) -> BatchJob {
        BatchJob {
            sweep: "s".parse().unwrap(),
            lock: Digest::of(b""),
            model: "a/m".parse().unwrap(),
            id: "0a".to_owned(),
            provider_id: provider_id.map(str::to_owned),
            intended_at: Timestamp::UNIX_EPOCH,
            since: None,
            sessions: Vec::new(),
        }
    }

    #[test]
    fn a_batch_takes_the_drawn_steps_and_no_others() {
        let pairs = Standing::ALL.iter().flat_map(|from| Standing::ALL.iter().map(move |to| (*from, *to)));
        let possible = pairs.filter(|(from, to)| from != to && from.may_become(*to));
        let named: Transitions = possible.map(|(from, to)| (name(from).to_owned(), name(to).to_owned())).collect();
        assert_eq!(named, drawn("batch").unwrap());
        assert!(!Standing::Over.may_become(Standing::Over), "what is over has no message");
    }

    #[test]
    fn each_step_leads_from_everywhere_to_where_it_says_or_is_refused() {
        let next = |id| Step::Next(Box::new(job(id)), Vec::new());
        let steps = [next(Some("b")), next(None), Step::Split(Vec::new()), Step::HandBack, Step::Void];
        let steps = steps.into_iter().chain([Step::Over(Vec::new(), Vec::new(), None)]);
        let led: Vec<[Option<Standing>; 4]> = steps
            .map(|step| Standing::ALL.map(|from| Some(from.after(&step)).filter(|to| from.may_become(*to))))
            .collect();
        use Standing::{HandedIn, InDoubt, Intended, Over};
        let over = [Some(Over), Some(Over), Some(Over), None];
        let expected = [
            [Some(HandedIn), Some(HandedIn), Some(HandedIn), None],
            [Some(Intended), Some(Intended), None, None],
            over,
            [Some(InDoubt), Some(InDoubt), Some(HandedIn), None],
            over,
            over,
        ];
        assert_eq!(led, expected);
    }

    #[test]
    fn an_intent_is_in_doubt_when_it_is_delivered_again_or_too_old_and_an_id_is_beyond_doubt() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let of = |id, redeliveries, seconds| Standing::of(&job(id), redeliveries, at(seconds));
        let found = [of(None, 0, 60), of(None, 0, 61), of(None, 1, 0), of(Some("b"), 3, 600)];
        assert_eq!(found, [Standing::Intended, Standing::InDoubt, Standing::InDoubt, Standing::HandedIn]);
    }
}
