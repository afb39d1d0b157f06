//! WorFBench: a model writes a workflow, which is compared with a gold workflow.
//!
//! Two evaluators share the texts and their similarities: [`official`] computes what the published code computes,
//! [`paper`] what the paper describes.

mod averages;
mod error;
mod official;
mod paper;
mod parse_official;
mod parse_paper;
mod python;
mod similarity;
mod task;

#[cfg(test)]
mod golden;
