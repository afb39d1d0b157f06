//! Codes of currencies by what people call them.

use super::Slot;

/// Words that name a currency or its country, most telling first: "canadian dollar" is no US dollar. The services know few others.
const NAMES: [(&str, &str); 34] = [
    ("canad", "CAD"),
    ("cad", "CAD"),
    ("austral", "AUD"),
    ("aud", "AUD"),
    ("zealand", "NZD"),
    ("nzd", "NZD"),
    ("pound", "GBP"),
    ("sterling", "GBP"),
    ("gbp", "GBP"),
    ("uk", "GBP"),
    ("engl", "GBP"),
    ("british", "GBP"),
    ("euro", "EUR"),
    ("peso", "MXN"),
    ("mex", "MXN"),
    ("yen", "JPY"),
    ("japan", "JPY"),
    ("jpy", "JPY"),
    ("rup", "INR"),
    ("inr", "INR"),
    ("india", "INR"),
    ("yuan", "CNY"),
    ("chin", "CNY"),
    ("switzerland", "CHF"),
    ("franc", "CHF"),
    ("chf", "CHF"),
    ("czk", "CZK"),
    ("krona", "SEK"),
    ("won", "KRW"),
    ("real", "BRL"),
    ("usd", "USD"),
    ("us", "USD"),
    ("united states", "USD"),
    ("dollar", "USD"),
];

/// From which currency to which. What is not said is the US dollar, or the euro where that is the other one.
pub(super) fn codes(slots: &[Slot]) -> (String, String) {
    let mut codes = slots.iter().filter(|(name, _)| name.starts_with("currency_name")).map(|(_, value)| code(value));
    let (first, second) = (codes.next().unwrap_or("USD"), codes.next());
    let other = if first == "USD" { "EUR" } else { "USD" };
    // A currency has no rate to itself worth telling.
    let second = second.filter(|&second| second != first).unwrap_or(other);
    (first.to_owned(), second.to_owned())
}

fn code(name: &str) -> &'static str {
    // "u. s. d." is one word.
    let name: String = name.to_lowercase().replace(". ", "").replace('.', "");
    NAMES.iter().find(|(word, _)| name.contains(word)).map_or("USD", |&(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> (String, String) {
        codes(&names.iter().map(|&name| ("currency_name".to_owned(), name.to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn spelled_letters_countries_and_coins_are_codes() {
        assert_eq!(of(&["u. s. d.", "euros"]), ("USD".to_owned(), "EUR".to_owned()));
        assert_eq!(of(&["canadian dollar", "us dollar"]), ("CAD".to_owned(), "USD".to_owned()));
        assert_eq!(of(&["mexico"]), ("MXN".to_owned(), "USD".to_owned()));
    }

    #[test]
    fn two_different_codes_come_out_whatever_is_said() {
        for names in [&[][..], &["dollar"], &["dollar", "u. s. d."], &["shells", "beads"]] {
            let (from, to) = of(names);
            assert_ne!(from, to, "{names:?}");
        }
    }
}
