//! Names that were misspelt, as far as it can be told which was meant.

/// Least likeness of a name that may have been meant, 0..=1.
const LIKE_MIN: f64 = 0.75;

/// The one of `known` that is most like `wanted`; `None` where none is like it.
#[must_use]
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        // A beginning that was left off or added is no misspelling, but as likely what was meant.
        let contains = !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(&name));
        strsim::jaro_winkler(&wanted, &name).max(if contains { LIKE_MIN } else { 0.0 })
    };
    let all = known.into_iter().filter(|name| !name.is_empty()).map(|name| (likeness(name), name));
    // Of several that are alike the first.
    let best = all.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    best.filter(|(like, _)| *like >= LIKE_MIN).map(|(_, name)| name)
}

/// The end of a message about the unknown name `wanted`: `; did you mean "worfbench"?`, or nothing.
#[must_use]
pub fn did_you_mean<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    nearest(wanted, known).map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["appbench", "autoslurp", "flowbench", "orchestrationbench", "worfbench"];

    #[test]
    fn a_misspelt_name_is_told_from_the_others() {
        assert_eq!(nearest("worfbnech", KNOWN), Some("worfbench"));
        assert_eq!(nearest("WorfBench", KNOWN), Some("worfbench"));
        assert_eq!(nearest("orchestration", KNOWN), Some("orchestrationbench"));
        assert_eq!(did_you_mean("appbnch", KNOWN), "; did you mean \"appbench\"?");
    }

    #[test]
    fn nothing_is_proposed_that_is_not_like_it() {
        assert_eq!(nearest("mmlu", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
        assert_eq!(did_you_mean("anything", []), "");
    }
}
