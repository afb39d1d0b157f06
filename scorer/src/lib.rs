//! Consumes outcomes, scores them, aggregates, writes ledger, blobs and reports.
