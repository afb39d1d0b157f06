mod documents;
mod ending;
mod harness;
