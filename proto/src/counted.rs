//! Counts and sizes as people read them.

/// A count with its noun, which is `one` of a single thing and else `many`: `1 call`, `2 calls`.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number of bytes in the largest binary unit of which there is one, with a decimal: `512 bytes`, `1.5 MiB`.
#[must_use]
pub fn binary_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return counted(bytes, "byte", "bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // What would be rounded to 1024.0 is one of the next unit.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_told_in_the_largest_unit_of_which_there_is_one() {
        let sizes = [0, 1, 1023, 1024, 1536, (1 << 20) - 1, 1 << 20, 3 << 29, 5 << 40, 1 << 60];
        let told = [
            "0 bytes",
            "1 byte",
            "1023 bytes",
            "1.0 KiB",
            "1.5 KiB",
            "1.0 MiB",
            "1.0 MiB",
            "1.5 GiB",
            "5.0 TiB",
            "1048576.0 TiB",
        ];
        assert_eq!(sizes.map(binary_size), told);
    }

    #[test]
    fn only_one_is_singular() {
        let of = |count| counted(count, "try", "tries");
        assert_eq!([of(0), of(1), of(2)], ["0 tries", "1 try", "2 tries"]);
    }
}
