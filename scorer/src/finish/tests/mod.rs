mod both;
mod dialogues;
mod documents;
mod ending;
mod filtered;
mod harness;
