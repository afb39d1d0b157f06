//! Problems in data sets, and in requests for items of them.

/// A problem in a benchmark's files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// A required file is missing.
    #[error("{origin}: {path} is missing: {hint}")]
    MissingFile {
        /// Origin of the files, such as a folder or an archive.
        origin: String,
        /// Path of the file.
        path: String,
        /// Hint for the user: what the file is and where to get it.
        hint: String,
    },
    /// A record could not be read.
    #[error("{origin}: {path}, {place}: {problem}")]
    Malformed {
        /// Origin of the files, such as a folder or an archive.
        origin: String,
        /// Path of the file.
        path: String,
        /// Record, line or field.
        place: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// Several lines of a file cannot be used.
    #[error("{origin}: {path}: {problem}")]
    BadLines {
        /// Origin of the file.
        origin: String,
        /// Path of the file.
        path: String,
        /// Number of the lines, by kind, and the first of each.
        problem: String,
    },
}

impl DataError {
    /// The error for a list of errors that are all of one file.
    pub(crate) fn without_file(&self) -> String {
        match self {
            Self::Malformed { place, problem, .. } => format!("{place}: {problem}"),
            Self::MissingFile { .. } | Self::BadLines { .. } => self.to_string(),
        }
    }
}

/// Reasons why items could not be selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The setting does not exist.
    #[error("unknown setting {setting:?}; known: {known}")]
    UnknownSetting {
        /// The requested setting.
        setting: String,
        /// List of the known settings.
        known: String,
    },
    /// The task does not exist in the data.
    #[error("unknown task {task:?}; the data has: {known}")]
    UnknownTask {
        /// The requested task.
        task: String,
        /// List of the tasks in the data.
        known: String,
    },
    /// The task cannot be run in the setting.
    #[error("task {task:?} cannot be run {setting}: {reason}")]
    NotInSetting {
        /// The task.
        task: String,
        /// The setting.
        setting: String,
        /// The reason and the remedy.
        reason: String,
    },
}
