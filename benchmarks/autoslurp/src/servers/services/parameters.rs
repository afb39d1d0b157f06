//! Parameters of a request to a service.

use regatta_pycompat::{Json, parse, strip};

use super::super::query::parameters;

/// Most parameters that are looked at.
const PARAMETERS_MAX: usize = 256;

/// Names and values, blanks around both taken away: some prompts write `query = value`.
#[derive(Debug)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parameters of a query, and after them those of a body: a JSON object, or a form.
    pub(super) fn of(query: &str, body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body);
        let of_body = match parse(&body) {
            Some(Json::Object(object)) => {
                object.into_entries().filter_map(|(name, value)| Some((name, plain(&value)?))).collect()
            }
            Some(_) => Vec::new(),
            None => parameters(&body).collect::<Vec<_>>(),
        };
        let stripped = |(name, value): (String, String)| (strip(&name).to_owned(), strip(&value).to_owned());
        Self(parameters(query).chain(of_body).take(PARAMETERS_MAX).map(stripped).collect())
    }

    /// The first value of a name that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name that is not empty.
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, value)| given == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The parts of every value of a name, which commas separate: at most `most`, each once.
    pub(super) fn list(&self, name: &str, most: usize) -> Vec<&str> {
        let mut parts = Vec::new();
        for part in self.all(name).flat_map(|value| value.split(',')).map(strip) {
            if !part.is_empty() && !parts.contains(&part) && parts.len() < most {
                parts.push(part);
            }
        }
        parts
    }

    /// A whole number within bounds, or `default` where none is given.
    pub(super) fn number(&self, name: &str, default: usize, bounds: std::ops::RangeInclusive<usize>) -> Option<usize> {
        match self.get(name) {
            None => Some(default),
            Some(text) => text.parse().ok().filter(|number| bounds.contains(number)),
        }
    }
}

fn plain(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Int(int) => Some(int.decimal().to_owned()),
        Json::Float(float) => Some(float.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_around_names_and_values_do_not_count() {
        let given = Parameters::of("access_key = KEY& query = some  words &empty=", b"");
        assert_eq!(
            (given.get("access_key"), given.get("query"), given.get("empty")),
            (Some("KEY"), Some("some  words"), None)
        );
    }

    #[test]
    fn a_body_counts_where_the_query_does_not_say_it() {
        let given = Parameters::of("a=1", br#"{"a": "2", "b": 3, "c": 0.5, "d": [1], "e": null}"#);
        assert_eq!(
            ["a", "b", "c", "d", "e"].map(|name| given.get(name)),
            [Some("1"), Some("3"), Some("0.5"), None, None]
        );
        assert_eq!(Parameters::of("", b"a=x+y&b=%20z").get("a"), Some("x y"));
        assert_eq!(Parameters::of("", b"7").get("7"), None);
    }

    #[test]
    fn lists_and_numbers_are_bounded() {
        let given = Parameters::of("l=a,b,,a&l=c, d&n=5&m=x", b"");
        assert_eq!(given.list("l", 3), ["a", "b", "c"]);
        assert_eq!(
            (given.number("n", 1, 1..=9), given.number("n", 1, 1..=4), given.number("o", 1, 1..=4)),
            (Some(5), None, Some(1))
        );
        assert_eq!(given.number("m", 1, 0..=9), None);
    }
}
