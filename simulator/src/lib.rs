//! Simulated endpoints that answer every benchmark without a network.
