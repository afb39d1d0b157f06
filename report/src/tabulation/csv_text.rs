//! Text in files for spreadsheets.

/// Beginnings of what spreadsheets compute, the wide forms of some locales among them.
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// `text` as a field that no spreadsheet takes for a formula. Numbers stay numbers.
pub(super) fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(FORMULA) && text.parse::<f64>().is_err();
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_compute_is_marked_as_text() {
        for formula in
            ["=HYPERLINK(\"http://x\")", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\n=1", "＝1", "＠SUM(1)"]
        {
            assert_eq!(harmless(formula), format!("'{formula}"));
        }
        for plain in ["sim/oracle", "-1.5", "two-shot", "", "a=b"] {
            assert_eq!(harmless(plain), plain);
        }
    }
}
