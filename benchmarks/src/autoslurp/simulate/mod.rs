//! Simulated models in the roles of every agent and judge.
