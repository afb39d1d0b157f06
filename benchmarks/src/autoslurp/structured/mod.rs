//! The evaluator that reads requests and answers, not logs (SPEC, section 11).
