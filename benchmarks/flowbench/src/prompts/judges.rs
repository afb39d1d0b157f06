//! Prompts of the judges of whole sessions and of replies (docs/benchmarks/flowbench.md §8.2 to §8.4). Each is sent
//! as a single message.

use super::section::marked;

/// Asks whether a session reached its goals (docs/benchmarks/flowbench.md §8.2).
pub(crate) fn completion(user_target: &str, workflow: &str, dialogue: &str) -> String {
    format!(
        "Judge whether an assistant reached everything that its user wanted. Be strict: the result is yes only if every single goal \
         was reached.\n\
         - Count the goals, and those of them that were accomplished; there are at least as many goals as accomplished ones.\n\
         - A goal for which workflow and tools offer nothing counts as accomplished.\n\
         - What counts most is that the parameters of the expected tool calls were collected and passed on. Results come from a \
         simulation: whether they are plausible does not matter.\n\
         - An expected parameter that is an empty text or an empty list need not match. Texts match when they mean the same.\n\n\
         What the user wanted:\n{}\n\nWorkflow and tools:\n{}\n\nThe dialogue:\n{}\n\n\
         Answer in exactly this form, beginning with its first line:\n\
         Result: yes|no\nTotal number of goals: <number>\nNumber of accomplished goals: <number>\nReason: <why>",
        marked("target", user_target),
        marked("workflow", workflow),
        marked("dialogue", dialogue),
    )
}

/// Asks how good a reply is, compared with the reference (docs/benchmarks/flowbench.md §8.3).
pub(crate) fn response_score(gold: &str, predicted: &str, workflow: &str) -> String {
    format!(
        "Score the reply of an assistant from 0 to 10 by comparing it with a reference reply for the same situation.\n\
         Look at three things: is it correct, which means that nothing in it contradicts the workflow; does it help the user as the \
         reference does; and does it sound like a person?\n\
         9-10: nearly the same as the reference. 7-8: close to it. 6-7: some agreement. 4-5: little agreement. 2-3: serious \
         mistakes. 0-1: useless or wrong throughout.\n\n\
         The workflow:\n{}\n\nThe reference:\n{}\n\nThe reply:\n{}\n\n\
         Answer in this form, with nothing before it:\nScore: <number>\nReason: <why>",
        marked("workflow", workflow),
        marked("reference", gold),
        marked("reply", predicted),
    )
}

/// Asks why a session failed (docs/benchmarks/flowbench.md §8.4).
pub(crate) fn failure_type(user_target: &str, workflow: &str, dialogue: &str) -> String {
    format!(
        "An assistant did not reach what its user wanted. Say what went wrong first of all:\n\
         1: steps of the workflow are missing.\n\
         2: steps come in the wrong order.\n\
         3: a transition is wrong, because an intent or a condition was misread.\n\
         4: a tool is used wrongly: the wrong one, or with wrong parameters.\n\
         5: something else.\n\n\
         What the user wanted:\n{}\n\nWorkflow and tools:\n{}\n\nThe dialogue:\n{}\n\n\
         Answer in this form, with nothing before it:\nType: <1, 2, 3, 4 or 5>\nReason: <why>",
        marked("target", user_target),
        marked("workflow", workflow),
        marked("dialogue", dialogue),
    )
}
