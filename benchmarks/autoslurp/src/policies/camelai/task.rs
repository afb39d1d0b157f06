//! Tasks, the queue of what is to be done, and what is done.

use std::collections::VecDeque;

use regatta_pycompat::strip;

/// A task of the board that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TaskId(usize);

impl TaskId {
    /// The whole request of the person.
    pub(super) const ROOT: Self = Self(0);
}

/// A task.
#[derive(Debug, Clone, Default)]
pub(super) struct Task {
    /// `0` for the root, `0.2` for its third piece.
    pub(super) name: String,
    pub(super) content: String,
    pub(super) pieces: Vec<TaskId>,
    pub(super) result: String,
    /// True if the task has to be composed from its pieces.
    pub(super) has_failed: bool,
    pub(super) failures: u32,
}

/// All tasks of a session.
#[derive(Debug)]
pub(super) struct Board {
    root: Task,
    pieces: Vec<Task>,
    queue: VecDeque<TaskId>,
    finished: Vec<TaskId>,
}

impl Board {
    /// The root counts as failed, so that it is taken apart and put together, and never given to a worker whole.
    pub(super) fn new(content: &str) -> Self {
        let root = Task { name: "0".to_owned(), content: content.to_owned(), has_failed: true, ..Task::default() };
        Self { root, pieces: Vec::new(), queue: [TaskId::ROOT].into(), finished: Vec::new() }
    }

    pub(super) fn root(&self) -> &Task {
        &self.root
    }

    pub(super) fn get(&self, task: TaskId) -> &Task {
        task.0.checked_sub(1).and_then(|at| self.pieces.get(at)).unwrap_or(&self.root)
    }

    fn get_mut(&mut self, task: TaskId) -> &mut Task {
        task.0.checked_sub(1).and_then(|at| self.pieces.get_mut(at)).unwrap_or(&mut self.root)
    }

    /// The head of the queue.
    pub(super) fn next(&self) -> Option<TaskId> {
        self.queue.front().copied()
    }

    /// Depth of a task; the root has depth 1.
    pub(super) fn depth(&self, task: TaskId) -> usize {
        // Names have a part for each level.
        self.get(task).name.split('.').count()
    }

    /// Gives a task these pieces, which come before all else.
    pub(super) fn take_apart(&mut self, task: TaskId, contents: Vec<String>) {
        let name = self.get(task).name.clone();
        let mut pieces = Vec::with_capacity(contents.len());
        for (position, content) in contents.into_iter().enumerate() {
            let content = strip(&content).to_owned();
            let name = format!("{name}.{position}");
            self.pieces.push(Task { name, content, ..Task::default() });
            pieces.push(TaskId(self.pieces.len()));
        }
        for piece in pieces.iter().rev() {
            self.queue.push_front(*piece);
        }
        self.get_mut(task).pieces = pieces;
    }

    /// The head of the queue is done.
    pub(super) fn complete(&mut self, task: TaskId, result: String) {
        self.get_mut(task).result = result;
        self.get_mut(task).has_failed = false;
        self.finish(task);
    }

    /// A task has failed once more.
    pub(super) fn fail(&mut self, task: TaskId) {
        let task = self.get_mut(task);
        task.has_failed = true;
        task.failures += 1;
    }

    /// The head of the queue has been put together, if it had pieces: from now on it stands for them.
    pub(super) fn put_together(&mut self, task: TaskId, result: Option<String>) {
        if let Some(result) = result {
            self.get_mut(task).result = result;
        }
        let pieces = self.get(task).pieces.clone();
        self.finished.retain(|finished| !pieces.contains(finished));
        self.finish(task);
    }

    fn finish(&mut self, task: TaskId) {
        self.queue.pop_front();
        self.finished.push(task);
    }

    /// Finished tasks, a line each.
    pub(super) fn finished(&self) -> String {
        let lines: Vec<String> = self
            .finished
            .iter()
            .map(|task| {
                let Task { name, content, result, .. } = self.get(*task);
                format!("id: {name}, content: {content}, result: {result}")
            })
            .collect();
        lines.join("\n")
    }

    /// The results of a task and its pieces, each level further to the right.
    pub(super) fn results(&self, task: TaskId) -> String {
        let mut lines = Vec::new();
        let mut ahead = vec![task];
        let top = self.depth(task);
        while let Some(task) = ahead.pop() {
            let indent = "  ".repeat(self.depth(task).saturating_sub(top));
            let Task { name, content, result, pieces, .. } = self.get(task);
            lines.push(format!("{indent}id: {name}, content: {content}, result: {result}"));
            ahead.extend(pieces.iter().rev());
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(board: &Board) -> Vec<&str> {
        board.queue.iter().map(|task| board.get(*task).name.as_str()).collect()
    }

    fn next(board: &Board) -> TaskId {
        board.next().unwrap()
    }

    #[test]
    fn pieces_come_first_and_are_numbered_below_what_they_are_pieces_of() {
        let mut board = Board::new("all");
        board.take_apart(TaskId::ROOT, vec![" a ".to_owned(), "b".to_owned()]);
        assert_eq!(names(&board), ["0.0", "0.1", "0"]);
        assert_eq!(board.get(next(&board)).content, "a");
        let first = next(&board);
        board.fail(first);
        board.take_apart(first, vec!["c".to_owned()]);
        assert_eq!(names(&board), ["0.0.0", "0.0", "0.1", "0"]);
        assert_eq!([TaskId::ROOT, first, next(&board)].map(|task| board.depth(task)), [1, 2, 3]);
    }

    #[test]
    fn what_is_put_together_stands_for_its_pieces() {
        let mut board = Board::new("all");
        board.take_apart(TaskId::ROOT, vec!["a".to_owned(), "b".to_owned()]);
        let first = next(&board);
        board.fail(first);
        board.take_apart(first, vec!["c".to_owned()]);
        let piece = next(&board);
        board.complete(piece, "C".to_owned());
        assert_eq!(board.finished(), "id: 0.0.0, content: c, result: C");
        assert_eq!(board.results(first), "id: 0.0, content: a, result: \n  id: 0.0.0, content: c, result: C");
        board.put_together(first, Some("A".to_owned()));
        assert_eq!(board.finished(), "id: 0.0, content: a, result: A");
        assert_eq!(names(&board), ["0.1", "0"]);
    }
}
