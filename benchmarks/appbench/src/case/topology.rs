//! Cases of kind `topology`: shapes of plans that were made up.

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, lines};
use serde_json::{Map, Value, json};

use crate::topology::Topology;

/// `aggregate` and `items` of the lines `{"id", "used_app", "api_results"}`.
pub(super) fn score(file: &SourceLocation<'_>, content: &[u8]) -> Result<(Value, Map<String, Value>), DataError> {
    let mut items = Map::new();
    let mut sums = Sums::default();
    for line in lines(file, content) {
        let (place, line) = line?;
        let texts = |field: &str| -> Result<Vec<&str>, DataError> {
            place.array(&line, field)?.iter().map(|text| place.text_at(Some(text), field)).collect()
        };
        let topology = Topology::of(texts("used_app")?.len(), &texts("api_results")?);
        sums.n += 1;
        let detail = match topology {
            Ok(topology) => {
                let (sizes, weak_sizes) = (topology.sizes(), topology.weak_sizes());
                sums.add(&sizes, &weak_sizes);
                json!({
                    "components": sizes.len(),
                    "sizes": sizes,
                    "edges": topology.edges(),
                    "weak_sizes": weak_sizes,
                })
            }
            Err(error) => {
                sums.errors += 1;
                json!({ "error": error.name() })
            }
        };
        items.insert(place.text(&line, "id")?.to_owned(), detail);
    }
    Ok((sums.to_json(), items))
}

#[derive(Default)]
struct Sums {
    n: u64,
    errors: u64,
    /// Plans with calls.
    plans: u64,
    max_components: usize,
    max_size: usize,
    components: usize,
    mean_sizes: f64,
    differs_from_weak: u64,
}

impl Sums {
    fn add(&mut self, sizes: &[usize], weak_sizes: &[usize]) {
        if sizes.is_empty() {
            return;
        }
        self.plans += 1;
        self.max_components = self.max_components.max(sizes.len());
        self.max_size = sizes.iter().copied().fold(self.max_size, usize::max);
        self.components += sizes.len();
        self.mean_sizes += sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
        let mut sorted = sizes.to_vec();
        sorted.sort_unstable_by(|one, other| other.cmp(one));
        self.differs_from_weak += u64::from(sorted != weak_sizes);
    }

    fn to_json(&self) -> Value {
        let mean = |sum: f64| (self.plans > 0).then(|| sum / self.plans as f64);
        json!({
            "n": self.n,
            "errors": self.errors,
            "max_components": self.max_components,
            "max_size": self.max_size,
            "avg_components": mean(self.components as f64),
            "avg_mean_size": mean(self.mean_sizes),
            "differs_from_weak": self.differs_from_weak,
        })
    }
}
