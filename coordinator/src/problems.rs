//! Problems beside which a removal goes on, as texts for people.

/// Problems that are told: a bucket that is lost has one for each of its objects.
const TOLD_MAX: usize = 20;

/// Problems, each once, in the order in which they were met.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    told: Vec<String>,
    /// Number of those that are not told.
    more: usize,
}

impl Problems {
    pub(crate) fn note(&mut self, problem: String) {
        if self.told.contains(&problem) {
            return;
        }
        match self.told.len() {
            TOLD_MAX => self.more += 1,
            _ => self.told.push(problem),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    pub(crate) fn append(&mut self, others: Self) {
        others.told.into_iter().for_each(|problem| self.note(problem));
        self.more += others.more;
    }

    /// The texts, and as the last one how many more there are.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.told.into_iter().chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_problems_are_told_once_each_and_the_rest_is_counted() {
        let (mut some, mut others) = (Problems::default(), Problems::default());
        (0..15).for_each(|number| some.note(format!("problem {number}")));
        (10..30).for_each(|number| others.note(format!("problem {number}")));
        some.append(others);
        let texts = some.into_texts();
        assert_eq!((texts.len(), texts[19].as_str(), texts[20].as_str()), (21, "problem 19", "and 10 more"));
    }
}
