mod both;
mod dialogues;
mod documents;
mod ending;
mod filtered;
pub(crate) mod harness;
mod html;
mod judged;
mod partial;
