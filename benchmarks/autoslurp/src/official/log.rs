//! The log as the scripts read it (docs/benchmarks/autoslurp.md §4.2).

use regatta_pycompat::decimal_digit;

/// Lines that a script does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    /// It reads all.
    Nothing,
    /// Lines that announce the input of AgentLite's manager.
    Packages,
    /// Lines that the libraries below CamelAI log: they begin with a date, which may stand behind the end of a result.
    LibraryLines,
}

/// The lines that are read, joined with another newline each: a newline of the log becomes two. Universal newlines: `\r\n` and a lone `\r`
/// end lines, and nothing else does. In one pass.
pub(super) fn content(dropped: Dropped, log: &str) -> String {
    let mut content = String::with_capacity(log.len() + log.len() / 16);
    let mut is_first = true;
    let mut rest = log;
    while !rest.is_empty() {
        let (line, ended, after) = split_line(rest);
        rest = after;
        if is_dropped(dropped, line) {
            continue;
        }
        if !is_first {
            content.push('\n');
        }
        is_first = false;
        content.push_str(line);
        if ended {
            content.push('\n');
        }
    }
    content
}

/// The first line without its end, whether it has one, and what follows.
pub(super) fn split_line(text: &str) -> (&str, bool, &str) {
    let Some((line, after)) = text.find(['\n', '\r']).and_then(|at| text.split_at_checked(at)) else {
        return (text, false, "");
    };
    let after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix(['\n', '\r'])).unwrap_or_default();
    (line, true, after)
}

fn is_dropped(dropped: Dropped, line: &str) -> bool {
    match dropped {
        Dropped::Nothing => false,
        Dropped::Packages => line.contains("whole_manager") && line.contains("receives the following"),
        Dropped::LibraryLines => begins_with_date(line.trim_start_matches("======")),
    }
}

/// A day of 2024 or 2025; digits of any script, and no look at the calendar.
fn begins_with_date(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("202").and_then(|rest| rest.strip_prefix(['4', '5'])) else { return false };
    let mut rest = rest.chars();
    ['-', 'd', 'd', '-', 'd', 'd'].into_iter().all(|expected| {
        rest.next().is_some_and(|c| if expected == '-' { c == '-' } else { decimal_digit(c).is_some() })
    })
}

/// The last `count` characters.
pub(super) fn tail(text: &str, count: usize) -> &str {
    let start = count.checked_sub(1).and_then(|before| text.char_indices().rev().nth(before));
    match start {
        Some((start, _)) => text.get(start..).unwrap_or_default(),
        None if count == 0 => "",
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_newline_becomes_two_but_the_last() {
        assert_eq!(content(Dropped::Nothing, "a\nb"), "a\n\nb");
        assert_eq!(content(Dropped::Nothing, "a\n\nb\n"), "a\n\n\n\nb\n");
        assert_eq!(content(Dropped::Nothing, ""), "");
    }

    #[test]
    fn carriage_returns_end_lines_and_other_separators_do_not() {
        assert_eq!(content(Dropped::Nothing, "a\r\nb\rc\r\r\nd"), "a\n\nb\n\nc\n\n\n\nd");
        assert_eq!(content(Dropped::Nothing, "a\u{2028}b\u{c}c\u{85}d"), "a\u{2028}b\u{c}c\u{85}d");
    }

    #[test]
    fn what_the_manager_of_agentlite_receives_is_not_read() {
        let log = "Agent whole_manager receives the following TaskPackage:\nwhole_manager\nx receives the following\n";
        assert_eq!(content(Dropped::Packages, log), "whole_manager\n\nx receives the following\n");
    }

    #[test]
    fn lines_of_libraries_begin_with_a_date_wherever_the_result_before_them_ended() {
        let log = "2024-01-02 a\n============2025-99-٣9 b\n=====2025-01-02 c\n2023-01-02 d\n======x\n2025-1-02\n";
        assert_eq!(content(Dropped::LibraryLines, log), "=====2025-01-02 c\n\n2023-01-02 d\n\n======x\n\n2025-1-02\n");
    }

    #[test]
    fn the_tail_is_counted_in_characters() {
        assert_eq!(
            [tail("aé好z", 2), tail("aé好z", 4), tail("aé好z", 9), tail("aé", 0)],
            ["好z", "aé好z", "aé好z", ""]
        );
    }
}
