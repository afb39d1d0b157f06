//! The official data and the miniature set, for unit tests.

use std::path::PathBuf;
use std::sync::OnceLock;

use regatta_benchmark_testing::published;

use super::{Data, Prompts, load};
use crate::OrchestrationBench;

/// Returns the folder with the published data and golden cases, if it exists.
pub(crate) fn shared() -> Option<PathBuf> {
    regatta_benchmark_testing::shared("orchestrationbench")
}

/// Returns the official data with the official prompts, loaded once.
pub(crate) fn official() -> Option<&'static Data> {
    static DATA: OnceLock<Option<Data>> = OnceLock::new();
    DATA.get_or_init(|| Some(load(&published(&OrchestrationBench)?).unwrap())).as_ref()
}

/// Returns the miniature set with our own prompts, loaded once.
pub(crate) fn miniature() -> &'static Data {
    static DATA: OnceLock<Data> = OnceLock::new();
    DATA.get_or_init(|| {
        let data = load(&regatta_benchmark_testing::miniature(&OrchestrationBench)).unwrap();
        assert_eq!(data.prompts, Prompts::default(), "it has no prompts");
        data
    })
}

impl Data {
    /// Finds a scenario by its name, such as `EN/1`.
    pub(crate) fn named(&self, name: &str) -> &super::Scenario {
        self.scenarios.iter().find(|scenario| scenario.name() == name).unwrap()
    }
}
