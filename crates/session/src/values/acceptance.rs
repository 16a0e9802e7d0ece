//! The acceptance table: which command a session takes in which state. The session obeys it, and refusals and
//! the protocol's documentation are made from it.

use crate::values::input::Command;
use engine::words::{Driver, StateName};

/// The treatment of a command in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Carried out now.
    Now,
    /// Queued. The command is answered with its position, so a later failure is reported by an event only.
    Queued,
    /// Refused; nothing changes.
    Refused,
}

/// States that take the same commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Resting,
    Running,
    Paused,
    WaitingIde,
}

/// A row of the acceptance table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The command's name in documentation.
    pub command: CommandName,
    /// The method that carries the command.
    pub method: &'static str,
    /// The driver whose sessions take it; `None` if both do.
    pub driver: Option<Driver>,
    /// The treatment in each [`Column`], in order.
    takes: [Takes; 4],
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $method:literal, $driver:expr, $takes:ident;)*) => {
        /// The name of a command in documentation.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum CommandName { $($(#[$doc])* $name,)* }

        impl CommandName {
            /// Returns the name as text.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }

        /// All commands, in the order of the documentation.
        pub const TABLE: &[Row] = &[$(Row {
            command: CommandName::$name,
            method: $method,
            driver: $driver,
            takes: $takes,
        },)*];
    };
}

const OURS: Option<Driver> = Some(Driver::Sidecar);
const EDITORS: Option<Driver> = Some(Driver::Editor);

const ALWAYS: [Takes; 4] = [Takes::Now; 4];
const IN_TURN: [Takes; 4] = [Takes::Now, Takes::Queued, Takes::Queued, Takes::Queued];
const AT_REST: [Takes; 4] = [Takes::Now, Takes::Refused, Takes::Refused, Takes::Refused];
const OF_A_PAUSE: [Takes; 4] = [Takes::Refused, Takes::Refused, Takes::Now, Takes::Refused];
const OF_A_WAIT: [Takes; 4] = [Takes::Refused, Takes::Refused, Takes::Refused, Takes::Now];

commands! {
    /// Starts a turn with a user's request.
    UserMessage = "turn/start", None, IN_TURN;
    /// Cuts off everything from a message on and answers again.
    RetryFromIndex = "turn/retry", OURS, IN_TURN;
    /// Answers the newest request again.
    Regenerate = "turn/regenerate", OURS, IN_TURN;
    /// Replaces the content of a message.
    UpdateMessage = "message/update", OURS, IN_TURN;
    /// Removes a message.
    RemoveMessage = "message/remove", OURS, IN_TURN;
    /// Cuts off everything from a message on.
    TruncateMessages = "message/truncate", OURS, IN_TURN;
    /// Stops a turn.
    Abort = "turn/cancel", None, ALWAYS;
    /// Approves tool calls.
    ApproveTools = "tool/decide", OURS, OF_A_PAUSE;
    /// Rejects tool calls.
    RejectTools = "tool/decide", OURS, OF_A_PAUSE;
    /// Hands in the result of a tool call that the editor runs.
    IdeToolResult = "tool/result", OURS, OF_A_WAIT;
    /// Changes the session's settings.
    SetParams = "session/configure", None, ALWAYS;
    /// Stores the text typed but not sent.
    SetDraft = "draft/set", None, ALWAYS;
    /// Deletes the stored draft.
    ClearDraft = "draft/clear", None, ALWAYS;
    /// Branches another session off this one.
    BranchFromChat = "session/fork", None, ALWAYS;
    /// Fills an empty session with a conversation.
    RestoreFromTrajectory = "session/import", None, AT_REST;
    /// Restores a revision.
    RestoreRevision = "session/restore", None, AT_REST;
    /// Starts a new chat under the same id.
    Reset = "session/reset", None, ALWAYS;
    /// Takes a command out of the queue.
    CancelQueued = "queue/remove", None, ALWAYS;
    /// Ends the turn of the editor's loop.
    EndTurn = "turn/end", EDITORS, AT_REST;
    /// Appends a round of the editor's loop.
    AppendRound = "round/append", EDITORS, AT_REST;
    /// Renders a prompt for the editor. Renders have a queue of their own.
    Render = "prompt/render", EDITORS, ALWAYS;
    /// Compacts the session.
    Compact = "context/compact", None, AT_REST;
    /// Undoes a compaction.
    Undo = "context/undo", None, AT_REST;
    /// Replaces the narrative of a compaction.
    EditCompaction = "context/edit", None, AT_REST;
    /// Leaves messages out of all later prompts.
    Exclude = "context/exclude", None, AT_REST;
    /// Keeps a message or a text in every prompt.
    Pin = "context/pin", None, ALWAYS;
    /// Removes a pin.
    Unpin = "context/unpin", None, ALWAYS;
    /// Returns the composition of the context.
    Inspect = "context/inspect", None, ALWAYS;
    /// Returns a message's text, byte for byte.
    Recall = "context/recall", None, ALWAYS;
    /// Returns the tool activity that the compaction in force hides.
    Ledger = "context/ledger", None, ALWAYS;
    /// Searches the session's text.
    Search = "context/search", None, ALWAYS;
    /// Returns the events since a point.
    Subscribe = "session/subscribe", None, ALWAYS;
    /// Opens a session, or opens it again.
    Open = "session/open", None, ALWAYS;
}

impl Row {
    /// Returns the treatment of the command in this state, in a session of the right driver.
    pub fn takes(&self, state: StateName) -> Takes {
        let column = match state {
            StateName::Idle | StateName::WaitingUserInput | StateName::Completed | StateName::Error => {
                Column::Resting
            }
            StateName::Generating | StateName::ExecutingTools => Column::Running,
            StateName::Paused => Column::Paused,
            StateName::WaitingIde => Column::WaitingIde,
        };
        let [resting, running, paused, waiting] = self.takes;
        match column {
            Column::Resting => resting,
            Column::Running => running,
            Column::Paused => paused,
            Column::WaitingIde => waiting,
        }
    }
}

impl Row {
    /// `true` if the command is taken only while no turn runs: not while one waits for agents, either.
    pub fn is_only_at_rest(&self) -> bool {
        self.takes == AT_REST
    }
}

/// Returns the methods that sessions of this driver carry out while their turn waits for agents: those of
/// [`StateName::WaitingUserInput`] but for those that need a session at rest.
pub fn accepts_in_wait(driver: Driver) -> Vec<&'static str> {
    let state = StateName::WaitingUserInput;
    let is_taken = |row: &&Row| {
        row.takes(state) != Takes::Refused
            && !row.is_only_at_rest()
            && row.driver.is_none_or(|of| of == driver)
    };
    let mut methods: Vec<&'static str> = TABLE.iter().filter(is_taken).map(|row| row.method).collect();
    methods.dedup();
    methods
}

/// Returns the row of a command.
pub fn row(command: CommandName) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.command == command)
}

/// Returns the methods that sessions of this driver carry out or queue in this state, as refusals list them.
pub fn accepts(state: StateName, driver: Driver) -> Vec<&'static str> {
    let is_taken =
        |row: &&Row| row.takes(state) != Takes::Refused && row.driver.is_none_or(|of| of == driver);
    let mut methods: Vec<&'static str> = TABLE.iter().filter(is_taken).map(|row| row.method).collect();
    methods.dedup();
    methods
}

/// Returns the methods that a session takes while the editor's loop runs its turn. `rests` if nothing of ours runs: no
/// compaction for a render of the turn.
pub fn accepts_in_editors_turn(rests: bool) -> Vec<&'static str> {
    let ends_first =
        [CommandName::UserMessage, CommandName::RestoreFromTrajectory, CommandName::RestoreRevision];
    let ends_first = ends_first.map(|command| row(command).map(|row| row.method));
    let state = if rests { StateName::Idle } else { StateName::Generating };
    let mut methods = accepts(state, Driver::Editor);
    methods.retain(|method| !ends_first.contains(&Some(*method)));
    methods
}

/// Returns the methods of [`accepts`] that are not taken in every state, for messages to people.
pub fn particular(state: StateName, driver: Driver) -> Vec<&'static str> {
    let is_always = |method: &&str| TABLE.iter().any(|row| row.method == *method && row.takes == ALWAYS);
    accepts(state, driver).into_iter().filter(|method| !is_always(method)).collect()
}

impl Command {
    /// Returns the command's name; `None` if no client sends it.
    pub fn name(&self) -> Option<CommandName> {
        Some(match self {
            Command::Open(_) => CommandName::Open,
            Command::StartTurn(_) => CommandName::UserMessage,
            Command::Retry { .. } => CommandName::RetryFromIndex,
            Command::Regenerate { .. } => CommandName::Regenerate,
            Command::Update { .. } => CommandName::UpdateMessage,
            Command::Remove { .. } => CommandName::RemoveMessage,
            Command::Truncate { .. } => CommandName::TruncateMessages,
            Command::CancelTurn { .. } => CommandName::Abort,
            Command::Decide(decisions) if decisions.iter().all(|decision| !decision.approved) => {
                CommandName::RejectTools
            }
            Command::Decide(_) => CommandName::ApproveTools,
            Command::ToolResult(_) => CommandName::IdeToolResult,
            Command::Configure(_) => CommandName::SetParams,
            Command::SetDraft(Some(_)) => CommandName::SetDraft,
            Command::SetDraft(None) => CommandName::ClearDraft,
            Command::Branch { .. } => CommandName::BranchFromChat,
            Command::Restore(_) => CommandName::RestoreFromTrajectory,
            Command::Revert { .. } => CommandName::RestoreRevision,
            Command::Reset { .. } => CommandName::Reset,
            Command::CancelQueued(_) => CommandName::CancelQueued,
            Command::EndTurn(_) => CommandName::EndTurn,
            Command::AppendRound(_) => CommandName::AppendRound,
            Command::Render(_) => CommandName::Render,
            Command::Compact(_) => CommandName::Compact,
            Command::Undo(_) => CommandName::Undo,
            Command::Edit { .. } => CommandName::EditCompaction,
            Command::Exclude(_) => CommandName::Exclude,
            Command::Pin(_) => CommandName::Pin,
            Command::Unpin(_) => CommandName::Unpin,
            Command::Inspect(_) => CommandName::Inspect,
            Command::Recall(_) => CommandName::Recall,
            Command::Ledger(_) => CommandName::Ledger,
            Command::Search(_) => CommandName::Search,
            Command::Subscribe { .. } => CommandName::Subscribe,
            // Commands of the server itself.
            Command::StoreTask(_) | Command::RunTask | Command::Notice { .. } | Command::TakeIn(_) => {
                return None;
            }
        })
    }
}
