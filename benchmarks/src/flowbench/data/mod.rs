//! The data set (SPEC 3): scenarios, sessions in canonical form, and records in the official form.
//!
//! Nothing that can be derived is stored: the 5313 turns of the canonical set are positions in 536 sessions, and their prompts are
//! rendered when they are asked for.

mod conversation;
mod entry;
mod scenario;
mod setting;

pub(crate) use self::conversation::{GoldTurn, Invocation, Line, Message, Session, Speaker, UserProfile};
pub(crate) use self::entry::{Content, Entry, Function, Group, Origin, Script, SessionRecord, TurnRecord, Variant};
pub(crate) use self::scenario::{Parameter, Scenario, Tool};
pub(crate) use self::setting::{Format, Level, Mode, Scope};
