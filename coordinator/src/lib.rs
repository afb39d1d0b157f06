//! Turns a sweep spec into cells, shards and jobs; dispatches, watches, finishes.
