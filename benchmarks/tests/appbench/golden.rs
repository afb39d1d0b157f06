//! Every golden case through the same door as the command line.

use regatta_benchmarks::score_case;
use serde_json::Value;

use crate::differences::differences;
use crate::harness::{case_files, shared, shared_files};

#[test]
fn every_golden_case_is_scored_as_expected() {
    let Some(shared) = shared() else { return };
    let data = shared_files(&shared);
    let (mut files, mut problems) = (0, Vec::new());
    for entry in std::fs::read_dir(shared.join("golden")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let case = case_files(&shared, &name);
        for (file, found) in score_case(&case, &data).unwrap() {
            let expected: Value = serde_json::from_slice(case.get(&file).unwrap()).unwrap();
            let out = differences(&expected, &found);
            if !out.is_empty() {
                problems.push(format!("{name}/{file}: {} differences, as {:#?}", out.len(), &out[..out.len().min(5)]));
            }
            files += 1;
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(files, 11);
}
