//! Which command a session takes in which state, as data: the machine obeys it, refusals are worded by
//! it, and the protocol's document shows it. What a command does stands elsewhere.

use crate::values::input::Command;
use engine::words::{Driver, StateName};

/// What a state does with a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It is carried out now.
    Now,
    /// It waits for its turn; a wait that ends is not seen by who sent it, for it was answered with its place.
    Queued,
    /// It is refused, and nothing changes.
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

/// A command in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The command, by its name in documents.
    pub command: CommandName,
    /// The method that brings it.
    pub method: &'static str,
    /// The driver whose sessions take it; nothing where both do.
    pub driver: Option<Driver>,
    /// What the columns do with it, in their order.
    takes: [Takes; 4],
}

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident = $method:literal, $driver:expr, $takes:ident;)*) => {
        /// A command by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum CommandName { $($(#[$doc])* $name,)* }

        impl CommandName {
            /// Its name in documents.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }

        /// The acceptance table: every command, in an order for readers.
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
    /// A user asks for something.
    UserMessage = "turn/start", None, IN_TURN;
    /// Everything from a message on is asked again.
    RetryFromIndex = "turn/retry", OURS, IN_TURN;
    /// The newest answer is given again.
    Regenerate = "turn/regenerate", OURS, IN_TURN;
    /// A message gets other words.
    UpdateMessage = "message/update", OURS, IN_TURN;
    /// A message leaves.
    RemoveMessage = "message/remove", OURS, IN_TURN;
    /// Everything from a message on leaves.
    TruncateMessages = "message/truncate", OURS, IN_TURN;
    /// The running turn stops.
    Abort = "turn/cancel", None, ALWAYS;
    /// Calls may run.
    ApproveTools = "tool/decide", OURS, OF_A_PAUSE;
    /// Calls may not run.
    RejectTools = "tool/decide", OURS, OF_A_PAUSE;
    /// A tool of the editor is done.
    IdeToolResult = "tool/result", OURS, OF_A_WAIT;
    /// Settings change.
    SetParams = "session/configure", None, ALWAYS;
    /// What the user typed and did not send is kept.
    SetDraft = "draft/set", None, ALWAYS;
    /// It is gone.
    ClearDraft = "draft/clear", None, ALWAYS;
    /// Another session goes on from here.
    BranchFromChat = "session/fork", None, ALWAYS;
    /// An empty session takes a conversation in.
    RestoreFromTrajectory = "session/import", None, AT_REST;
    /// A new chat under the same id.
    Reset = "session/reset", None, ALWAYS;
    /// A command waits no longer.
    CancelQueued = "queue/remove", None, ALWAYS;
    /// The editor's turn is over.
    EndTurn = "turn/end", EDITORS, AT_REST;
    /// The editor's loop ran a round.
    AppendRound = "round/append", EDITORS, AT_REST;
    /// The editor wants a prompt. Renders wait for each other by themselves.
    Render = "prompt/render", EDITORS, ALWAYS;
    /// Somebody wants a compaction.
    Compact = "context/compact", None, AT_REST;
    /// A compaction goes out of force.
    Undo = "context/undo", None, AT_REST;
    /// A compaction says something else.
    EditCompaction = "context/edit", None, AT_REST;
    /// Messages are left out of the context.
    Exclude = "context/exclude", None, AT_REST;
    /// Something stays in every prompt.
    Pin = "context/pin", None, ALWAYS;
    /// It need not stay any more.
    Unpin = "context/unpin", None, ALWAYS;
    /// What the context is made of.
    Inspect = "context/inspect", None, ALWAYS;
    /// What a message said, byte for byte.
    Recall = "context/recall", None, ALWAYS;
    /// What the tools did in what a compaction keeps out of sight.
    Ledger = "context/ledger", None, ALWAYS;
    /// Where words were said.
    Search = "context/search", None, ALWAYS;
    /// Events since a point.
    Subscribe = "session/subscribe", None, ALWAYS;
    /// The session is opened, or opened again.
    Open = "session/open", None, ALWAYS;
}

impl Row {
    /// What this state does with it, in a session of the right driver.
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

/// The row of a command.
pub fn row(command: CommandName) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.command == command)
}

/// The methods that sessions of this driver take in this state, at once or in the queue: what a refusal lists.
pub fn accepts(state: StateName, driver: Driver) -> Vec<&'static str> {
    let is_taken =
        |row: &&Row| row.takes(state) != Takes::Refused && row.driver.is_none_or(|of| of == driver);
    let mut methods: Vec<&'static str> = TABLE.iter().filter(is_taken).map(|row| row.method).collect();
    methods.dedup();
    methods
}

/// The same without those that are taken in every state: what is worth saying to people.
pub fn particular(state: StateName, driver: Driver) -> Vec<&'static str> {
    let is_always = |method: &&str| TABLE.iter().any(|row| row.method == *method && row.takes == ALWAYS);
    accepts(state, driver).into_iter().filter(|method| !is_always(method)).collect()
}

impl Command {
    /// Its name; nothing for what no client sends.
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
            Command::Inspect => CommandName::Inspect,
            Command::Recall(_) => CommandName::Recall,
            Command::Ledger(_) => CommandName::Ledger,
            Command::Search(_) => CommandName::Search,
            Command::Subscribe { .. } => CommandName::Subscribe,
            // What begins a session, and what no client sends.
            Command::StoreTask(_) | Command::RunTask | Command::Notice { .. } | Command::TakeIn(_) => {
                return None;
            }
        })
    }
}
