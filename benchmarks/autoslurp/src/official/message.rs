//! A completion message as it is printed: the Python `repr` of OpenAI's class, on one line.

use regatta_pycompat::repr_text;

/// Beginning of every line that holds a verdict.
pub(super) const NAME: &str = "ChatCompletionMessage";

/// The line, without its end.
pub(super) fn printed(content: Option<&str>, refusal: Option<&str>) -> String {
    let [content, refusal] = [content, refusal].map(|text| text.map_or_else(|| "None".to_owned(), repr_text));
    format!(
        "{NAME}(content={content}, refusal={refusal}, role='assistant', annotations=None, audio=None, function_call=None, \
         tool_calls=None)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_whatever_it_says() {
        assert_eq!(
            printed(Some("It's\nright"), None),
            "ChatCompletionMessage(content=\"It's\\nright\", refusal=None, role='assistant', annotations=None, audio=None, \
             function_call=None, tool_calls=None)"
        );
        assert!(printed(None, Some("no")).starts_with("ChatCompletionMessage(content=None, refusal='no', "));
    }
}
