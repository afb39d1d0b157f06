//! Named sections of a prompt, which rule-based simulators parse.

/// Wraps a section: the content between two tags on lines of their own.
pub(super) fn marked(name: &str, content: &str) -> String {
    format!("<{name}>\n{content}\n</{name}>")
}

/// Returns the content of the first section with this name: from its first tag to its last, because the content may
/// be anything.
pub(crate) fn section<'p>(prompt: &'p str, name: &str) -> Option<&'p str> {
    let (opening, closing) = (format!("<{name}>\n"), format!("\n</{name}>"));
    let (_, after) = prompt.split_once(&*opening)?;
    // An empty content shares its line break with the opening tag.
    after.rsplit_once(&*closing).map(|(content, _)| content).or_else(|| after.starts_with(closing.trim()).then_some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_marked_is_found_again_whatever_it_holds() {
        for content in ["", "a", "two\nlines", "</goal>\n", "<goal>\nx\n</goal>"] {
            let prompt = format!("before\n{}\nbehind", marked("goal", content));
            assert_eq!(section(&prompt, "goal"), Some(content));
        }
        assert_eq!(section("<goal>\nnever closed", "goal"), None);
        assert_eq!(section("nothing", "goal"), None);
    }
}
