//! Sessions of items: functions of their transcripts.

use regatta_proto::{ItemIndex, MemberName, Role, Setting, Transcript};

use crate::{Step, ToolAnswer, ToolRequest};

/// The sessions of a data set. All that a worker needs to drive them.
pub trait Sessions: Send + Sync {
    /// Returns the next step of the session of `item` after `transcript`.
    fn next(&self, item: ItemIndex, setting: &Setting, transcript: &Transcript) -> Step;

    /// Returns the roles that sessions of `setting` call: the agent, and any other role that needs a model of its own.
    fn roles(&self, setting: &Setting) -> Vec<Role> {
        let _ = setting;
        vec![Role::Agent]
    }

    /// Returns the team members in sessions of `setting`; a cast may assign a model to each.
    fn members(&self, setting: &Setting) -> Vec<MemberName> {
        let _ = setting;
        Vec::new()
    }

    /// Answers a request of an external agent to the benchmark's tool servers in the session of `item`.
    fn serve(&self, item: ItemIndex, setting: &Setting, request: &ToolRequest) -> ToolAnswer {
        let _ = (item, setting, request);
        ToolAnswer::not_found()
    }
}
