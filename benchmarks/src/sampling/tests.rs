use proptest::prelude::*;

use super::*;

/// Items of tasks with these sizes, in groups of three.
fn items(sizes: &[u32]) -> Vec<Item> {
    let mut items = Vec::new();
    for (task, size) in sizes.iter().enumerate() {
        for number in 0..*size {
            items.push(Item {
                id: format!("{task}-{number}").parse().unwrap(),
                task: format!("task {task}").into(),
                group: Some(format!("group {task}-{}", number / 3).into()),
            });
        }
    }
    items
}

fn all(items: &[Item]) -> Vec<ItemIndex> {
    (0..items.len() as u32).map(ItemIndex).collect()
}

fn draw(items: &[Item], from: &[ItemIndex], unit: SampledBy, count: u32, seed: u64) -> Vec<ItemIndex> {
    Urn { benchmark: &"made-up".parse().unwrap(), seed }.draw(items, from, unit, count)
}

fn by_task(items: &[Item], drawn: &[ItemIndex]) -> Vec<usize> {
    let mut counts: BTreeMap<&str, usize> = items.iter().map(|item| (&*item.task, 0)).collect();
    for index in drawn {
        *counts.get_mut(&*items[index.0 as usize].task).unwrap() += 1;
    }
    counts.into_values().collect()
}

#[test]
fn a_sample_of_twenty_has_the_tasks_in_the_weights_of_the_data() {
    let items = items(&[50, 30, 20]);
    let drawn = draw(&items, &all(&items), SampledBy::Item, 20, 7);
    assert_eq!(by_task(&items, &drawn), [10, 6, 4]);
    assert_ne!(drawn, (0..10).chain(50..56).chain(80..84).map(ItemIndex).collect::<Vec<_>>(), "not the first ones");
}

#[test]
fn another_seed_draws_other_items_and_the_same_seed_the_same() {
    let items = items(&[50, 30, 20]);
    let with = |seed| draw(&items, &all(&items), SampledBy::Item, 20, seed);
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
    let other: BenchmarkName = "other".parse().unwrap();
    assert_ne!(Urn { benchmark: &other, seed: 1 }.draw(&items, &all(&items), SampledBy::Item, 20), with(1));
}

#[test]
fn every_item_is_drawn_about_as_often_as_every_other() {
    let items = items(&[12, 6]);
    let mut times = [0; 18];
    for seed in 0..600 {
        draw(&items, &all(&items), SampledBy::Item, 6, seed).iter().for_each(|index| times[index.0 as usize] += 1);
    }
    // Each count has expectation 200 and standard deviation 11.5.
    assert!(times.iter().all(|count| (150..=250).contains(count)), "{times:?}");
}

#[test]
fn where_groups_must_stay_whole_so_many_groups_are_drawn() {
    let items = items(&[30, 15]);
    let drawn = draw(&items, &all(&items), SampledBy::Group, 6, 3);
    assert_eq!(by_task(&items, &drawn), [12, 6], "four groups and two, of three items each");
    for group in drawn.chunks(3) {
        assert!(group.iter().all(|index| items[index.0 as usize].group == items[group[0].0 as usize].group));
    }
}

#[test]
fn settings_that_have_a_part_of_the_items_get_the_same_ones_of_these() {
    let items = items(&[40]);
    let whole = draw(&items, &all(&items), SampledBy::Item, 20, 5);
    let half: Vec<ItemIndex> = (0..20).map(ItemIndex).collect();
    let of_half = draw(&items, &half, SampledBy::Item, 10, 5);
    let both = of_half.iter().filter(|index| whole.contains(index)).count();
    assert!(both >= 7, "{both} of 10");
}

#[test]
fn the_listed_items_of_a_selection_are_run_in_whatever_order_they_are_listed() {
    let items = items(&[3, 2]);
    let id = |text: &str| text.parse::<ItemId>().unwrap();
    let selected = vec![ItemIndex(0), ItemIndex(2), ItemIndex(4)];
    let run = |listed: &[ItemId]| listed_items(&items, selected.clone(), listed);
    assert_eq!(run(&[id("1-1"), id("0-2")]), [ItemIndex(2), ItemIndex(4)]);
    assert_eq!(run(&[id("0-2"), id("1-1")]), run(&[id("1-1"), id("0-2")]));
    assert!(run(&[id("1-0")]).is_empty(), "the selection does not have it");
    assert_eq!(run(&[]), selected, "no list is no restriction");
}

#[test]
fn canaries_are_asked_beside_any_selection_and_once_each() {
    let canaries = BTreeSet::from([ItemIndex(4), ItemIndex(1)]);
    let selected = vec![ItemIndex(0), ItemIndex(1)];
    assert_eq!(with_canaries(selected.clone(), &canaries), [ItemIndex(0), ItemIndex(1), ItemIndex(4)]);
    assert_eq!(with_canaries(selected.clone(), &BTreeSet::new()), selected);
}

proptest! {
    #[test]
    fn no_task_is_a_whole_item_away_from_its_share(
        sizes in prop::collection::vec(1u32..40, 1..8), count in 1u32..200, seed: u64,
    ) {
        let items = items(&sizes);
        let drawn = draw(&items, &all(&items), SampledBy::Item, count, seed);
        let total: u32 = sizes.iter().sum();
        prop_assert_eq!(drawn.len() as u32, count.min(total));
        prop_assert!(drawn.is_sorted());
        for (found, size) in by_task(&items, &drawn).into_iter().zip(&sizes) {
            let share = f64::from(*size) * f64::from(count.min(total)) / f64::from(total);
            prop_assert!((found as f64 - share).abs() < 1.0);
        }
    }
}
