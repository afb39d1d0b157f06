//! Choice of example records: drawn by a seed, the same on every machine and in every version.

use regatta_proto::Digest;

use crate::definition::{Choose, FewShot};

/// Positions of `count` of the `there` records of the split, in the order in which they are shown; never `own`, the position of the item
/// itself where it is of that split. Fewer only where there are fewer.
pub(crate) fn positions(few_shot: &FewShot, count: usize, there: usize, item: &str, own: Option<usize>) -> Vec<usize> {
    let count = count.min(there - usize::from(own.is_some()));
    let of_item = match few_shot.choose {
        Choose::First => return (0..there).filter(|at| Some(*at) != own).take(count).collect(),
        Choose::Same => "",
        Choose::EachItem => item,
    };
    let mut drawn: Vec<usize> = Vec::new();
    let mut draw: u64 = 0;
    while drawn.len() < count {
        let at = number(few_shot.seed, of_item, draw) % there as u64;
        let at = usize::try_from(at).unwrap_or(0);
        if Some(at) != own && !drawn.contains(&at) {
            drawn.push(at);
        }
        draw += 1;
    }
    drawn
}

fn number(seed: u64, item: &str, draw: u64) -> u64 {
    let (seed, draw) = (seed.to_le_bytes(), draw.to_le_bytes());
    let digest = Digest::of_parts([b"regatta/few-shot/1".as_slice(), &seed, item.as_bytes(), &draw]);
    digest.bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Count;

    fn few_shot(choose: Choose, seed: u64) -> FewShot {
        FewShot { split: "train".to_owned(), count: Count::Fixed(3), choose, seed, turns: Vec::new() }
    }

    #[test]
    fn examples_are_drawn_by_the_seed_and_never_the_item_itself() {
        let same = few_shot(Choose::Same, 1);
        assert_eq!(positions(&same, 3, 10, "a", None), positions(&same, 3, 10, "b", None));
        assert_ne!(positions(&same, 3, 10, "a", None), positions(&few_shot(Choose::Same, 3), 3, 10, "a", None));
        let each = few_shot(Choose::EachItem, 1);
        assert_ne!(positions(&each, 3, 10, "a", None), positions(&each, 3, 10, "b", None));
        for own in 0..4 {
            let mut all = positions(&each, 9, 4, "a", Some(own));
            all.sort_unstable();
            assert_eq!(all, (0..4).filter(|at| *at != own).collect::<Vec<_>>());
        }
        assert_eq!(positions(&few_shot(Choose::First, 9), 2, 5, "a", Some(0)), [1, 2]);
    }

    #[test]
    fn the_draw_of_a_seed_never_changes_between_versions() {
        assert_eq!(positions(&few_shot(Choose::Same, 7), 4, 100, "", None), [38, 37, 91, 19]);
    }
}
