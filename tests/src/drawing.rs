//! The transitions that ARCHITECTURE.md draws (section "States"), for the tests that hold the code to the drawing.

use std::collections::BTreeSet;

use crate::HarnessError;
use crate::regatta::workspace;

/// Name in the drawing for the state of a row that is not there.
pub const NO_ROW: &str = "(no row)";

/// Pairs of states, from and to, with the names of the drawing.
pub type Transitions = BTreeSet<(String, String)>;

/// The transitions that are drawn of `machine`; none where it is not drawn.
///
/// # Errors
/// When the map cannot be read.
pub fn drawn(machine: &str) -> Result<Transitions, HarnessError> {
    let map = workspace().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&map).map_err(HarnessError::io(format!("read {}", map.display())))?;
    let drawings = text.split("```text\n").filter_map(|block| block.split_once("```"));
    let states = drawings.map(|(drawing, _)| drawing).find(|drawing| drawing.starts_with("sweep "));
    Ok(of_machine(states.unwrap_or_default(), machine))
}

/// Each machine has lines of its own: the first begins with its name, and the others with spaces. Chains of arrows are apart by three spaces
/// or more, and of states beside each other each has the arrow.
fn of_machine(drawing: &str, machine: &str) -> Transitions {
    let (mut found, mut current) = (Transitions::new(), "");
    for line in drawing.lines() {
        let (name, chains) = line.split_once(' ').unwrap_or((line, ""));
        if !name.is_empty() {
            current = name;
        }
        if current == machine {
            chains.split("   ").for_each(|chain| add(&mut found, chain));
        }
    }
    found
}

fn add(found: &mut Transitions, chain: &str) {
    let mut before: Vec<&str> = Vec::new();
    // An arrow in both directions leads back from what follows it.
    for part in chain.replace("<──>", "──><").split("──>") {
        let (leads_back, states) = part.strip_prefix('<').map_or((false, part), |states| (true, states));
        let states: Vec<&str> = states.split(',').map(str::trim).collect();
        for (from, to) in before.iter().flat_map(|from| states.iter().map(move |to| (*from, *to))) {
            found.insert((from.to_owned(), to.to_owned()));
            if leads_back {
                found.insert((to.to_owned(), from.to_owned()));
            }
        }
        before = states;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWING: &str = "\
door          (no row) ──> open <──> closed ──> locked   closed ──> gone
              locked, open ──> burnt, gone
lamp          on <──> off
";

    fn pairs(machine: &str) -> Vec<String> {
        of_machine(DRAWING, machine).into_iter().map(|(from, to)| format!("{from} -> {to}")).collect()
    }

    #[test]
    fn every_arrow_is_read() {
        assert_eq!(pairs("lamp"), ["off -> on", "on -> off"]);
        let door = [
            "(no row) -> open",
            "closed -> gone",
            "closed -> locked",
            "closed -> open",
            "locked -> burnt",
            "locked -> gone",
            "open -> burnt",
            "open -> closed",
            "open -> gone",
        ];
        assert_eq!(pairs("door"), door);
        assert_eq!(pairs("window"), [""; 0]);
    }
}
