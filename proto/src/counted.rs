//! Counts as people read them.

/// A count with its noun, which is `one` of a single thing and else `many`: `1 call`, `2 calls`.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let of = |count| counted(count, "try", "tries");
        assert_eq!([of(0), of(1), of(2)], ["0 tries", "1 try", "2 tries"]);
    }
}
