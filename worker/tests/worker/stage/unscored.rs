//! Data sets of which workers drive sessions and nobody scores these.

/// Implements all parts of a suite that no worker touches: it scores no session, and has the defaults for the rest.
macro_rules! unscored {
    ($suite:ty) => {
        impl regatta_benchmarks::Evaluation for $suite {
            fn score(
                &self,
                item: regatta_proto::ItemIndex,
                _: &[regatta_proto::Evaluator],
                _: &regatta_proto::Transcript,
                _: &dyn regatta_benchmarks::Verdicts,
            ) -> regatta_benchmarks::Scoring {
                regatta_benchmarks::Scoring::not_selected(item)
            }

            fn score_failure(
                &self,
                _: regatta_proto::ItemIndex,
                _: &[regatta_proto::Evaluator],
            ) -> regatta_benchmarks::Scores {
                regatta_benchmarks::Scores::new()
            }

            fn is_judged(&self, _: regatta_proto::Evaluator, _: &str) -> bool {
                false
            }
        }

        impl regatta_benchmarks::Tables for $suite {}
        impl regatta_benchmarks::Predictions for $suite {}
        impl regatta_benchmarks::Pictures for $suite {}
    };
}

pub(crate) use unscored;
