//! Selection of apps by an answer of the first step, and the meaning of names in a plan after it (docs/benchmarks/appbench.md §3.2).

use regatta_pycompat::{decimal_digit, is_space, lower};

use crate::data::Phone;

/// Most attempts at the first step before the item is left out.
pub(crate) const ATTEMPTS_MAX: usize = 5;

/// The apps whose names occur in an answer, in phone order.
pub(crate) fn named<'p>(phone: &'p Phone, answer: &str) -> Vec<&'p str> {
    phone.apps().iter().map(|app| &*app.name).filter(|name| answer.contains(name)).collect()
}

/// The apps that an answer selects, some of them perhaps more than once; none: the attempt has failed. Where an answer names none, the
/// official code iterates over a text as if it were a list: each of its characters stands for the apps that have it in their names.
pub(crate) fn selected<'p>(phone: &'p Phone, answer: &str) -> impl Iterator<Item = &'p str> {
    let named = named(phone, answer);
    let letters = if named.is_empty() { answer } else { "" };
    let of = move |c: char| phone.apps().iter().map(|app| &*app.name).filter(move |name| name.contains(c));
    named.into_iter().chain(letters.chars().flat_map(of))
}

/// The apps of [`selected`], each once, in phone order. That list is not made: it has several apps for every character of a long answer.
fn distinct<'p>(phone: &'p Phone, answer: &str, named: &[&'p str]) -> Vec<&'p str> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let has_letter = |name: &&str| name.chars().any(|c| answer.contains(c));
    phone.apps().iter().map(|app| &*app.name).filter(has_letter).collect()
}

/// Result of the first step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection<'p> {
    /// Number of answers that were read.
    pub(crate) attempts: usize,
    /// Apps that the last answer selects, each once, in phone order: those whose APIs the second step shows. Empty when the item is left out.
    pub(crate) apps: Vec<&'p str>,
    /// Apps that the last answer names.
    pub(crate) named: Vec<&'p str>,
}

impl<'p> Selection<'p> {
    /// Looks at successive answers until one selects something.
    pub(crate) fn of<S: AsRef<str>>(phone: &'p Phone, answers: impl IntoIterator<Item = S>) -> Self {
        let mut attempts = 0;
        for answer in answers.into_iter().take(ATTEMPTS_MAX) {
            attempts += 1;
            let named = named(phone, answer.as_ref());
            let apps = distinct(phone, answer.as_ref(), &named);
            if !apps.is_empty() {
                return Self { attempts, apps, named };
            }
        }
        Self { attempts, apps: Vec::new(), named: Vec::new() }
    }

    /// True if the official code leaves the item out.
    pub(crate) fn is_dropped(&self) -> bool {
        self.apps.is_empty()
    }

    /// The apps of a plan, where names like `app2` are replaced by the selected app of that number, or dropped.
    pub(crate) fn revise<'a>(&self, apps: &[&'a str]) -> Vec<&'a str>
    where
        'p: 'a,
    {
        apps.iter().filter_map(|app| self.revised(app)).collect()
    }

    fn revised<'a>(&self, app: &'a str) -> Option<&'a str>
    where
        'p: 'a,
    {
        let name = lower(app);
        if !name.starts_with("app") {
            return Some(app);
        }
        let number = name.replace("app", "");
        let at = int(number.split('_').next()?)?.checked_sub(1)?;
        // Python counts negative positions from the end.
        let at = if at < 0 { at.checked_add(self.named.len() as i64)? } else { at };
        self.named.get(usize::try_from(at).ok()?).copied()
    }
}

/// Python's `int` of a text without underscores. Numbers too large for any list are none.
fn int(text: &str) -> Option<i64> {
    // In a text that is ASCII alone, or as one of its ASCII characters, an information separator is no white space here.
    let is_space = |c: char| is_space(c) && !('\u{1c}'..='\u{1f}').contains(&c);
    let text = text.trim_matches(is_space);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.chars().count() > 4300 {
        return None;
    }
    let mut number: i64 = 0;
    for c in digits.chars() {
        // Saturated is as good as exact: such a position is out of every list.
        number = number.saturating_mul(10).saturating_add(decimal_digit(c)?.into());
    }
    Some(if is_negative { -number } else { number })
}
