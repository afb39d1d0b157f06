//! OrchestrationBench as the pipeline sees it: through the benchmark's interface, on a miniature and on the published data.

#[cfg(test)]
mod external;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod harness;
mod judged;
#[cfg(test)]
mod sessions;
