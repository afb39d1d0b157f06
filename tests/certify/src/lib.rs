//! The crash certificate: a real deployment is started, hurt by a seeded plan, and audited against the endpoint's own books.
//!
//! | module | holds |
//! |---|---|
//! | `plan` | which faults, when, of a seed |
//! | `fleet` | the processes, each behind proxies of its own |
//! | `endpoint` | the model endpoint, with books of every call |
//! | `pace` | how slowly the endpoint answers, and the requests in a minute that a spec allows |
//! | `workload` | the sweeps, and what they give undisturbed |
//! | `ledger` | what PostgreSQL says, read past the proxies |
//! | `broker` | what is left in queues |
//! | `faults` | how each fault is done and undone |
//! | `history` | one seed, from start to evidence |
//! | `storm`, `embedded` | kills at random moments for a time, of a deployment and of one process |
//! | `evidence` | what was seen, as plain data |
//! | `checks` | what must hold of it; each check names the item that fails it |
//! | `repeats` | calls that were made again, with the fault that explains each |
//! | `waste` | calls that were made again, by the fault that explains them |
//! | `certificate` | the result of all seeds, as JSON and Markdown |

mod broker;
mod certificate;
mod checks;
mod embedded;
mod endpoint;
mod error;
mod evidence;
mod faults;
mod fleet;
mod history;
mod ledger;
mod pace;
mod plan;
mod repeats;
mod storm;
mod waste;
mod workload;

pub use certificate::{Certificate, SeedReport, Survived};
pub use checks::Finding;
pub use error::CertifyError;
pub use evidence::{InFlight, Struck};
pub use history::{Options, certify};
pub use plan::Fault;
pub use waste::Waste;
