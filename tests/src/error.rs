//! Errors of bringing up a service.

use std::io;
use std::time::Duration;

/// Reason why a private service could not be started, used or stopped.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The service's programs are not on this machine.
    #[error("failed to find {service} on this machine: run `scripts/services-install`, or set {variable}")]
    NotInstalled {
        /// Name of the service, as people know it.
        service: &'static str,
        /// Environment variable that names a running instance instead.
        variable: &'static str,
    },
    /// The operating system refused something.
    #[error("failed to {action}")]
    Io {
        /// The action, as a verb phrase.
        action: String,
        /// Answer of the operating system.
        #[source]
        source: io::Error,
    },
    /// A program that prepares or runs a service ended, or did not answer in time.
    #[error("failed to start {service}: {reason}; the end of its output:\n{output}")]
    NotReady {
        /// Name of the service.
        service: &'static str,
        /// The problem, as a clause.
        reason: String,
        /// The last lines that the service wrote.
        output: String,
    },
    /// The binary under test could not be built, or did not do what a test waits for.
    #[error("failed to run regatta: {0}")]
    Binary(String),
    /// Something that a test waits for did not come about.
    #[error("failed to see {awaited} within {} s; the last look saw: {seen}", waited.as_secs())]
    TooLate {
        /// The event that was waited for, as a noun phrase.
        awaited: String,
        /// Time of the wait.
        waited: Duration,
        /// State at the last look.
        seen: String,
    },
    /// A running service refused a request.
    #[error("failed to {action}")]
    Refused {
        /// The refused request, as a verb phrase.
        action: String,
        /// Answer of the service.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl HarnessError {
    /// Turns an I/O error into ours, for `map_err`.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }

    /// Turns a client's error into ours, for `map_err`.
    pub(crate) fn refused<E>(action: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let action = action.into();
        move |source| Self::Refused { action, source: Box::new(source) }
    }
}
