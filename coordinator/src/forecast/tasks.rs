//! Sessions of a model in a setting, divided by task: data sets are run in their order, so that what was seen first is no sample of the rest.

use std::collections::BTreeMap;

use regatta_backends::CostMoments;

use super::foretelling::GroupCosts;

/// Tasks with fewer sessions are taken together: they would hardly be seen often enough by themselves.
const SESSIONS_OF_A_TASK: u64 = 16;

/// Sessions of a task over all trials, and what is known of their costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct TaskCosts {
    pub(super) sessions: u64,
    pub(super) known: CostMoments,
}

/// The sessions of `whole` by task. Those that are left are where no cost is known; of sessions that ended without one nobody says which task they
/// were of, so they are spread over all.
pub(super) fn by_task<'a>(whole: &GroupCosts<'a>, tasks: &BTreeMap<&str, TaskCosts>) -> Vec<GroupCosts<'a>> {
    let of_none = GroupCosts { is_priced: whole.is_priced, ..GroupCosts::of(whole.model) };
    let (mut groups, mut small) = (Vec::new(), of_none);
    for task in tasks.values() {
        let group = GroupCosts {
            sessions: task.sessions,
            seen: task.known.sessions,
            left: task.sessions.saturating_sub(task.known.sessions),
            sum: task.known.sum,
            squares: task.known.squares,
            ..of_none
        };
        if task.sessions < SESSIONS_OF_A_TASK { small.add(&group) } else { groups.push(group) }
    }
    if small.sessions > 0 || groups.is_empty() {
        groups.push(small);
    }
    let unknown: u64 = groups.iter().map(|group| group.left).sum();
    if unknown == 0 {
        groups.iter_mut().take(1).for_each(|group| group.left = whole.left);
        return groups;
    }
    // Cumulative shares, so that rounding loses none.
    let (mut so_far, mut given) = (0, 0);
    for group in &mut groups {
        so_far += group.left;
        let share = (u128::from(so_far) * u128::from(whole.left) / u128::from(unknown)) as u64;
        group.left = share - given;
        given = share;
    }
    groups
}

#[cfg(test)]
mod tests {
    use regatta_proto::ModelRef;

    use super::*;

    fn task(sessions: u64, costs: &[f64]) -> TaskCosts {
        let squares = costs.iter().map(|cost| cost * cost).sum();
        TaskCosts { sessions, known: CostMoments { sessions: costs.len() as u64, sum: costs.iter().sum(), squares } }
    }

    #[test]
    fn what_is_left_is_of_the_tasks_that_were_not_seen() {
        let model: ModelRef = "x/one".parse().unwrap();
        // 150 sessions, of which 40 have a known cost, and 10 ended without one.
        let whole = GroupCosts { sessions: 150, seen: 40, left: 100, ..GroupCosts::of(&model) };
        let tasks = [("a", task(40, &[1.0; 40])), ("b", task(60, &[])), ("c", task(50, &[]))].into();
        let groups = by_task(&whole, &tasks);
        assert_eq!(
            groups.iter().map(|group| (group.seen, group.left)).collect::<Vec<_>>(),
            [(40, 0), (0, 54), (0, 46)]
        );
    }

    #[test]
    fn small_tasks_are_taken_together_and_no_session_is_lost() {
        let model: ModelRef = "x/one".parse().unwrap();
        let whole = GroupCosts { sessions: 30, seen: 3, left: 27, ..GroupCosts::of(&model) };
        let tasks = [("a", task(10, &[2.0; 3])), ("b", task(10, &[])), ("c", task(10, &[]))].into();
        let [group] = by_task(&whole, &tasks)[..] else { panic!("one group") };
        assert_eq!((group.sessions, group.seen, group.left, group.sum), (30, 3, 27, 6.0));
        // All costs are known, and a session is run again.
        let again = GroupCosts { sessions: 20, seen: 20, left: 1, ..GroupCosts::of(&model) };
        let groups = by_task(&again, &[("a", task(20, &[1.0; 20]))].into());
        assert_eq!(groups.iter().map(|group| group.left).sum::<u64>(), 1);
    }
}
