//! Consumes jobs, drives sessions, reports outcomes and usage.
