//! `regatta schedule`: sweeps that run again and again.

mod rendering;
mod written;

use std::process::ExitCode;

use regatta_coordinator::ScheduleRequest;

use crate::args::{CreateScheduleArgs, ScheduleArgs, ScheduleCommand};
use crate::client::Client;
use crate::commands::submit;
use crate::output;

pub(crate) async fn run(args: ScheduleArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        ScheduleCommand::Create(args) => create(args).await?,
        ScheduleCommand::List(args) => {
            let schedules = Client::new(&args.client)?.schedules().await?;
            let text = if args.json { serde_json::to_string_pretty(&schedules)? } else { rendering::list(&schedules) };
            output::line(&text);
        }
        ScheduleCommand::Show(args) => {
            let schedule = Client::new(&args.client)?.schedule(&args.name).await?;
            let text = if args.json { serde_json::to_string_pretty(&schedule)? } else { rendering::one(&schedule)? };
            output::line(&text);
        }
        ScheduleCommand::History(args) => {
            let ticks = Client::new(&args.client)?.history(&args.name, args.limit).await?;
            let text = if args.json { serde_json::to_string_pretty(&ticks)? } else { rendering::history(&ticks) };
            output::line(&text);
        }
        ScheduleCommand::Pause(args) => {
            Client::new(&args.client)?.change_schedule(&args.name, "pause").await?;
            output::note(&format!("{} is paused; go on with: regatta schedule resume {}", args.name, args.name));
        }
        ScheduleCommand::Resume(args) => {
            Client::new(&args.client)?.change_schedule(&args.name, "resume").await?;
            output::note(&format!("{} goes on", args.name));
        }
        ScheduleCommand::Run(args) => {
            let at = Client::new(&args.client)?.run_schedule(&args.name).await?;
            output::note(&format!(
                "asked for a sweep of {} ({at}); see: regatta schedule history {}",
                args.name, args.name
            ));
        }
        ScheduleCommand::Delete(args) => {
            Client::new(&args.client)?.delete_schedule(&args.name).await?;
            output::note(&format!("{} is deleted; its sweeps stay", args.name));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn create(args: CreateScheduleArgs) -> anyhow::Result<()> {
    let (schedule, loaded) = written::read(&args)?;
    let client = Client::new(&args.client)?;
    let submission = submit::uploaded(&client, loaded).await?;
    let put = client.put_schedule(&ScheduleRequest { schedule, submission, replace: args.replace }).await?;
    if args.json {
        output::line(&serde_json::to_string(&put)?);
    } else {
        output::line(put.name.as_str());
        output::note(&rendering::put(&put));
    }
    Ok(())
}
