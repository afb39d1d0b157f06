//! Programs of others as processes: limited in what they may use, in a group that ends with whoever holds it, as a user of their own.
//!
//! External agents (`worker`) and programs of coded benchmarks (`benchmarks/coded`) are started by these rules.

mod account;
mod cgroup;
mod clearing;
mod group;
mod home;
mod launcher;
mod limits;
mod linked;
mod namespaces;
mod open_files;
mod pod;
mod privacy;
mod relay;
mod running;
mod survivors;

pub use account::Account;
pub use cgroup::{Cgroup, Cgroups};
pub use group::Group;
pub use home::{Home, Place, home};
pub use launcher::{Launch, check};
pub use limits::{Cpus, Limits};
pub use linked::LinkedProgram;
pub use namespaces::Namespaces;
pub use open_files::{open_files_limit, raise_open_files_limit};
pub use pod::{become_arguments, install_arguments};
pub use privacy::{gain_nothing, keep_to_ourselves};
pub use relay::{be_relay, relay_arguments};
pub use survivors::end as end_survivors;
