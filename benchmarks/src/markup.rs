//! Escaping of untrusted texts, above all those of models, in HTML, XML and Markdown documents.

/// Escapes a text for content and attribute values of HTML and XML. Characters that XML does not allow are replaced.
#[must_use]
pub fn markup_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Escapes a text for one cell of a Markdown table. HTML is escaped too, because Markdown passes it through.
#[must_use]
pub fn markdown_cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            // No remote pictures, since loading them tells their server who reads the report, and no links; intervals
            // keep their brackets.
            '!' if chars.peek() == Some(&'[') => out += "\\!",
            ']' if matches!(chars.peek(), Some('(' | '[' | ':')) => out += "\\]",
            '\\' | '`' | '*' | '|' => out.extend(['\\', c]),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_in_a_document_is_text() {
        assert_eq!(
            markup_text("<a b='\"'>&\u{1b}[1m\r\n\u{ffff}"),
            "&lt;a b=&#39;&quot;&#39;&gt;&amp;\u{fffd}[1m\u{fffd}\n\u{fffd}"
        );
        assert_eq!(markdown_cell("a|b\n*c* `d` \\ <e> & f"), "a\\|b \\*c\\* \\`d\\` \\\\ &lt;e> &amp; f");
    }

    #[test]
    fn no_text_loads_a_picture_or_hides_where_a_link_leads() {
        let text = "![x](http://evil.example/p.png) [here](http://evil.example) [a][b] [b]: http://evil.example [0.1, 0.2] (n)";
        assert_eq!(
            markdown_cell(text),
            "\\![x\\](http://evil.example/p.png) [here\\](http://evil.example) [a\\][b] [b\\]: http://evil.example [0.1, 0.2] (n)"
        );
    }
}
