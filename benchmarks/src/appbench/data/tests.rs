//! The data as it was published, and what is said of files that are not as they should be.

use super::*;
use crate::appbench::vectors;

#[test]
fn the_published_data_has_801_items_and_15_apps() {
    let Some(data) = vectors::data() else { return };
    assert_eq!(Split::ALL.map(|split| data.of_split(split).count()), [200, 200, 201, 200]);
    assert_eq!(data.phone.apps().len(), 15);
    assert_eq!(data.phone.apps().iter().map(|app| app.apis.len()).sum::<usize>(), 33);
    assert_eq!(data.find("ms-200").map(|entry| entry.split), Some(Split::Ms));
    assert_eq!(data.entries.iter().map(|entry| entry.fixtures.len()).sum::<usize>(), 624);
    assert_eq!(data.templates.len(), 3);
    let app = data.phone.first_owner("findmovies").map(|(app, _)| &*app.name);
    assert_eq!(app, Some("Media"));
}
