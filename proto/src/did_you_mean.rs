//! Suggestions for misspelt names.

/// Least similarity, 0 to 1, of a suggested name.
const LIKE_MIN: f64 = 0.75;
/// Longest name, in bytes, that is looked at: comparing takes time, and a longer one is not misspelt.
const NAME_BYTES: usize = 256;
/// Shortest name, in bytes, in which one letter may be wrong: of two letters, each is like every other.
const SLIPPED_BYTES: usize = 3;

/// The name in `known` that is most similar to `wanted`; `None` if none is similar.
#[must_use]
pub fn nearest<'k>(wanted: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if wanted.len() > NAME_BYTES {
        return None;
    }
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        // A missing or additional prefix is not a misspelling, but as likely the name that was meant.
        let contains = !wanted.is_empty() && (name.contains(&wanted) || wanted.contains(&name));
        // In a short name one slip of the fingers, as `smi` for `sim`, changes most of what is compared.
        let slipped = wanted.len() >= SLIPPED_BYTES && strsim::osa_distance(&wanted, &name) <= 1;
        strsim::jaro_winkler(&wanted, &name).max(if contains || slipped { LIKE_MIN } else { 0.0 })
    };
    let all = known.into_iter().filter(|name| !name.is_empty()).map(|name| (likeness(name), name));
    // The first of several with the same similarity.
    let best = all.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    // One letter is in half of all names.
    let least = if wanted.len() > 1 { LIKE_MIN } else { 1.0 };
    best.filter(|(like, _)| *like >= least).map(|(_, name)| name)
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
        assert_eq!(nearest("smi", ["openai", "sim"]), Some("sim"));
        assert_eq!(nearest("ab", ["cb"]), None);
        assert_eq!(did_you_mean("appbnch", KNOWN), "; did you mean \"appbench\"?");
    }

    #[test]
    fn nothing_is_proposed_that_is_not_like_it() {
        assert_eq!(nearest("mmlu", KNOWN), None);
        assert_eq!(nearest("", KNOWN), None);
        assert_eq!(nearest(&"worfbench ".repeat(100), KNOWN), None);
        assert_eq!((nearest("a", ["data", "cap"]), nearest("A", ["data", "a"])), (None, Some("a")));
        assert_eq!(did_you_mean("anything", []), "");
    }
}
