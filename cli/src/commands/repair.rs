//! `regatta repair`: mends a run's directory. Exit code 0 when all is sound, 4 when sessions are left to run, 1 when something cannot be
//! mended, or, of a dry run, would be.

use std::path::Path;
use std::process::ExitCode;

use regatta_proto::SweepState;

use crate::args::RepairArgs;
use crate::embedded::{self, Repaired, Wish};
use crate::exit::of_state;
use crate::output;
use crate::run_directory;

pub(crate) async fn run(args: RepairArgs) -> anyhow::Result<ExitCode> {
    let directory = run_directory::named(&args.run)?;
    let wish = Wish { dry_run: args.dry_run, run_again: args.run_again };
    let repaired = embedded::repair(&directory, wish).await?;
    output::line(&describe(&directory, wish, &repaired));
    Ok(exit_code(wish, &repaired))
}

fn exit_code(wish: Wish, Repaired { findings, standing }: &Repaired) -> ExitCode {
    let is_left = findings.iter().any(|finding| finding.is_left);
    let Some(standing) = standing else {
        return if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    };
    if is_left || (wish.dry_run && !findings.is_empty()) {
        ExitCode::FAILURE
    } else if standing.to_run + standing.to_judge > 0 {
        of_state(SweepState::Incomplete)
    } else {
        ExitCode::SUCCESS
    }
}

fn describe(directory: &Path, wish: Wish, Repaired { findings, standing }: &Repaired) -> String {
    let mut lines = Vec::new();
    if findings.is_empty() {
        lines.push("nothing is missing or damaged".to_owned());
    }
    for (number, finding) in (1..).zip(findings) {
        let verb = match (finding.is_left, wish.dry_run) {
            (true, _) => "left to you",
            (false, true) => "repair would",
            (false, false) => "repaired",
        };
        lines.push(format!("{number}. {}: {}", finding.about, finding.problem));
        lines.push(format!("   {verb}: {}", finding.remedy));
    }
    if let Some(standing) = standing {
        lines.push(String::new());
        lines.push(standing.to_string());
        if standing.to_run + standing.to_judge > 0 {
            let place = directory.display();
            lines.push(format!("next: the command that made {place}; what is recorded is not paid for again"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::{Finding, Standing};

    fn repaired() -> Repaired {
        let finding = |about, problem: &str, remedy: &str, is_left| Finding {
            about,
            problem: problem.to_owned(),
            remedy: remedy.to_owned(),
            is_left,
        };
        Repaired {
            findings: vec![
                finding("ledger", "it is gone", "a new one is made from the transcripts", false),
                finding("sweep", "its lock is gone", "restore it from a backup", true),
            ],
            standing: Some(Standing { state: SweepState::Running, sessions: 400, to_run: 12, to_judge: 3 }),
        }
    }

    #[test]
    fn each_finding_is_said_with_what_was_done_about_it() {
        let wish = |dry_run| Wish { dry_run, run_again: false };
        let shown = |dry_run| describe(Path::new("runs/s"), wish(dry_run), &repaired());
        insta::assert_snapshot!(format!("{}\n\n--- dry run\n{}", shown(false), shown(true)));
    }

    #[test]
    fn a_sound_run_says_so() {
        let standing = Standing { state: SweepState::Complete, sessions: 400, to_run: 0, to_judge: 0 };
        let sound = Repaired { findings: Vec::new(), standing: Some(standing) };
        let wish = Wish { dry_run: false, run_again: false };
        insta::assert_snapshot!(describe(Path::new("runs/s"), wish, &sound));
    }
}
