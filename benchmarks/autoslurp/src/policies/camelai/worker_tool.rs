//! Tools of workers.

/// A tool of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerTool {
    /// Tells today's date.
    GetDate,
    /// Fetches a URL.
    Req,
}

impl WorkerTool {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::GetDate => "getdate",
            Self::Req => "req",
        }
    }
}
