//! Words that mean the same on both sides. A new word on either side does not compile before it has its partner.

use crate::{
    context, event as wire_event, message as wire_message, model, prompt, recall, scope as wire_scope,
    session, settings, tool, turn,
};
use engine::compact::policy;
use engine::compact::record as ours;
use engine::message::{self, cut};
use engine::prompt as prompts;
use engine::prompt::{coverage, item, order, request, system};
use engine::scope;
use engine::search;
use engine::words;

macro_rules! same {
    ($($ours:ty = $wire:ty: $($word:ident)*;)*) => {$(
        impl From<$ours> for $wire {
            fn from(word: $ours) -> Self {
                match word { $(<$ours>::$word => <$wire>::$word,)* }
            }
        }

        impl From<$wire> for $ours {
            fn from(word: $wire) -> Self {
                match word { $(<$wire>::$word => <$ours>::$word,)* }
            }
        }
    )*};
}

same! {
    ours::Mode = context::CompactionMode: LimitHistory Full Simple Ledger Dropped Excluded Edited;
    ours::ModeRequested = settings::SummaryMode: Auto Full Simple;
    policy::Consent = settings::Consent: Auto Ask Off;
    order::SystemPrompt = settings::SystemPrompt: Frozen PerTurn;
    cut::ThinkingInPrompt = settings::ThinkingInPrompt: Keep StripCompletedTurns Strip;
    policy::Stage = settings::LimitHistory: Off FoldRepeats ShortenResults LimitHistory;
    ours::Trigger = context::CompactionTrigger:
        BudgetExceeded ProviderOverflow PreTurnTokens Background ModelChanged UserTurns Messages Idle Manual Restored Recorded;
    ours::Placement = context::Placement: UserAtBoundary SystemMessage SystemPromptTail;
    ours::Strength = context::Strength: Absent Low Medium High;
    ours::Status = context::CompactionStatus: InForce Void Undone Recorded;
    item::Channel = prompt::Channel: System Memory Summary History Input;
    coverage::Fate = recall::MessageStatus: Raw Shortened Covered Dropped Hidden;
    search::Speaker = wire_message::Role: User Assistant Tool Event;
    item::Role = prompt::PromptRole: System User Assistant Tool;
    item::ToolKind = tool::ToolKind: Read Write Run Search Todo Ask Other;
    item::Approval = tool::ToolPolicy: Allow Ask Deny;
    item::EndsTurn = tool::EndsTurn: Completed WaitingUserInput;
    prompts::CutReason = prompt::CutReason:
        SystemInHistory StrayResult Shortened Repeated Dropped Excluded UserMessage UnansweredCall Section
        Thinking;
    request::ToolChoice = model::ToolChoice: Auto None;
    request::StopReason = model::StopReason: End Length ToolUse Refused Cancelled Failed;
    system::Place = prompt::SectionChannel: System Memory;
    system::OnOverflow = prompt::OnOverflow: Keep Shrink Drop;
    words::Purpose = model::ModelPurpose: Turn Summary Title;
    words::Phase = wire_event::CompactionPhase:
        Started Summarizing FellBack Reviewing Accepted Refused Cancelled CannotFit Voided Undone;
    words::Measure = context::TriggerMeasure: Tokens Turns Messages Seconds;
    words::BreakCause = wire_event::PrefixBreak:
        Compaction Undo Redo Pin Unpin Exclude Edit Remove Truncate Retry Reset History Restore LateResult Model Tools
        System PerTurn StripCompletedTurns Thinking Unknown;
    scope::TodoStatus = wire_scope::TodoStatus: Pending InProgress Completed;
    words::Titles = settings::Titles: Request Model;
    words::Trajectory = settings::Trajectory: Off Workspace;
    words::TranscriptKept = settings::TranscriptKept: Full FinalOnly;
    words::StateName = session::State:
        Idle Generating ExecutingTools Paused WaitingIde WaitingUserInput Completed Error;
    words::Driver = session::Driver: Sidecar Editor;
    words::Origin = session::Origin: New Rewind Branch Background;
    words::TurnStatus = turn::TurnStatus: Running Completed Cancelled Failed;
}

impl From<message::Usage> for model::Usage {
    fn from(usage: message::Usage) -> Self {
        let message::Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens,
            cache_write_input_tokens,
            reasoning_tokens,
        } = usage;
        Self { input_tokens, output_tokens, cached_input_tokens, cache_write_input_tokens, reasoning_tokens }
    }
}

impl From<model::Usage> for message::Usage {
    fn from(usage: model::Usage) -> Self {
        let model::Usage {
            input_tokens,
            output_tokens,
            cached_input_tokens,
            cache_write_input_tokens,
            reasoning_tokens,
        } = usage;
        Self { input_tokens, output_tokens, cached_input_tokens, cache_write_input_tokens, reasoning_tokens }
    }
}

impl From<turn::TurnOutcome> for words::TurnStatus {
    fn from(outcome: turn::TurnOutcome) -> Self {
        match outcome {
            turn::TurnOutcome::Completed => Self::Completed,
            turn::TurnOutcome::Cancelled => Self::Cancelled,
            turn::TurnOutcome::Failed => Self::Failed,
        }
    }
}
