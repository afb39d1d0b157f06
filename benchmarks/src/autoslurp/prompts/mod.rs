//! What each agent is told (SPEC, section 5), in our own words.
