//! Time of one forward pass on one core, by length of the text.
fn main() {}
