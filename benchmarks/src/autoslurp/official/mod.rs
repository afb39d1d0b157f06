//! The eight official evaluators (SPEC, sections 7 and 8).
