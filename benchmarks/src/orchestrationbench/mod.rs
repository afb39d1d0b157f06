//! OrchestrationBench: plans of a main agent as graphs, and calls, questions and refusals of its sub agents, in English and Korean.
#![expect(dead_code, reason = "put together from its parts")]

mod aggregate;
mod data;
mod decision;
mod judge;
mod plan;
mod prompts;
mod protocol;
mod simulate;
