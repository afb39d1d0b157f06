//! Statistics of sweeps that stop when their question is answered. Pure: no I/O, no clock, no randomness that is not a seed.
//!
//! `sequence` bounds a mean at any number of looks, `rounds` says when to look, `contest` replays the rounds of one benchmark and setting
//! from the scores bought so far and says what is decided and what to buy next, by the `rules` that the sweep was planned by. `audit` corrects
//! a cheap judge by an expensive one. `subset` chooses items that estimate the whole from the `responses` of models in earlier runs.
//! `simulation` plays whole sweeps. `docs/adaptive.md` has the definitions and what the simulations found, `docs/subsets.md` those of subsets.

mod anchors;
mod audit;
mod capital;
mod contest;
mod interval;
mod medoids;
mod population;
mod question;
mod responses;
mod rounds;
mod rules;
mod sequence;
pub mod simulation;
mod subset;
mod thin_history;
mod track;
mod unit;

pub use anchors::weighted_mean;
pub use audit::{Audit, AuditError, Corrected, Figure, audited_mean, further_audits};
pub use capital::log_capital;
pub use contest::{Contest, Path, Scores, State};
pub use interval::Interval;
pub use population::Population;
pub use question::{Over, Question};
pub use responses::{LEAST_MODELS, MOST_UNMEASURED, Responses, Sessions, mean_score};
pub use rounds::{Round, rounds};
pub use rules::Rules;
pub use sequence::bounds;
pub use subset::{Anchor, HeldOut, Subset};
pub use thin_history::ThinHistory;
pub use track::{Closing, Estimand, Relation, Track};
pub use unit::{Unit, UnitScore};
