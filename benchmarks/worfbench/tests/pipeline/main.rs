//! WorFBench as the pipeline sees it: through the benchmark's interface, on a miniature and on the official data.

#[cfg(test)]
mod data;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod harness;
mod judged;
#[cfg(test)]
mod predictions;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod session;
#[cfg(test)]
mod simulated;
