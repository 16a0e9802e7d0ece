//! A session: what is kept of it, and what it does.

use crate::commands::queue::Queue;
use crate::context::recall;
use crate::core::{self, Around, Conversation};
use crate::router::Components;
use crate::state::State;
use crate::tools::approvals::Approvals;
use crate::tools::found::found;
use crate::values::effect::Effect;
use crate::values::input::{Input, ReplyTo};
use crate::values::recall::{Recall, Recalled};
use crate::values::refusal::Refusal;
use crate::values::settings::Settings;
use crate::values::snapshot::Snapshot;
use crate::values::stored::{Always, Head, Stored};
use crate::view::shown;
use engine::id::{Ordinal, PinId, SessionId};
use engine::memory::Memory;
use engine::prompt::coverage::Fate;
use engine::prompt::pins::Pin;
use engine::scope::Scope;
use engine::settings::SettingsError;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;

/// A session: everything that was said in it, and where it stands.
#[derive(Debug, Clone)]
pub struct Session {
    kept: Conversation,
    own: Components,
    /// Whether the store had it.
    was_stored: bool,
    /// The first message from which on all are here, where only a part is.
    part: Option<Ordinal>,
}

/// A session before its first step.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Its own row; the store's, where it has one.
    pub head: Head,
    /// What it runs under.
    pub settings: Settings,
    /// What the store has of it.
    pub stored: Option<Stored>,
    /// A name for this numbering of events; another one in every process.
    pub stream: String,
    /// What it shares with other sessions.
    pub scope: Scope,
    /// What was approved once and for all in its workspace.
    pub approvals: Vec<Always>,
    /// What its workspace remembers and prompts may show.
    pub memories: Vec<Memory>,
}

impl Session {
    /// A new session, or one that goes on. Nothing is asked of anybody by itself: calls that had no result when the
    /// process ended wait for the client.
    pub fn new(opening: Opening, counter: &dyn TokenCount) -> Self {
        Self::made(opening, None, counter)
    }

    /// A session of which the store gave a part.
    pub fn in_part(opening: Opening, from: Ordinal, counter: &dyn TokenCount) -> Self {
        Self::made(opening, Some(from), counter)
    }

    fn made(opening: Opening, part: Option<Ordinal>, counter: &dyn TokenCount) -> Self {
        let Opening { head, settings, mut stored, stream, scope, approvals, memories } = opening;
        let waiting = stored
            .as_mut()
            .map(|stored| Queue::stored(std::mem::take(&mut stored.queue), std::mem::take(&mut stored.keys)));
        let (was_stored, is_part) = (stored.is_some(), part.is_some());
        let opening = core::Opening { head, settings, stored, is_part, stream, scope, memories };
        let (kept, unreadable) = core::open(opening, counter);
        let approvals = Approvals::from(approvals);
        let state = found(&kept, &approvals).into();
        let own = Components::new(state, waiting.unwrap_or_default(), approvals, unreadable);
        Self { kept, own, was_stored, part }
    }

    /// Takes one input. The same inputs yield the same effects, byte for byte.
    pub fn step(&mut self, input: Input, around: Around<'_>) -> Vec<Effect> {
        self.own.step(&mut self.kept, input, around)
    }

    /// Its id.
    pub fn id(&self) -> &SessionId {
        self.kept.id()
    }

    /// Its own row.
    pub fn head(&self) -> &Head {
        self.kept.head()
    }

    /// The name of this numbering of events.
    pub fn stream(&self) -> &str {
        self.kept.stream()
    }

    /// Whether the store had something of it when it was opened.
    pub fn was_stored(&self) -> bool {
        self.was_stored
    }

    /// Where it stands.
    pub fn state(&self) -> &State {
        self.own.state()
    }

    /// What was said in it.
    pub fn transcript(&self) -> &Transcript {
        self.kept.transcript()
    }

    /// What it shares.
    pub fn scope(&self) -> &Scope {
        self.kept.scope()
    }

    /// What it runs under.
    pub fn settings(&self) -> &Settings {
        self.kept.settings()
    }

    /// What is pinned, in the order in which it was.
    pub fn pins(&self) -> &[Pin] {
        self.kept.pins()
    }

    /// Tokens of a pin; 0 where it is none.
    pub fn pin_tokens(&self, id: &PinId) -> u32 {
        self.kept.fixed().pins.tokens_of(id)
    }

    /// Whether nothing runs and nothing waits.
    pub fn is_at_rest(&self) -> bool {
        self.own.is_free()
    }

    /// Whether the answer to this request is still to come out of what runs: of a compaction, or of a render that waits
    /// for what runs.
    pub fn will_answer(&self, reply: ReplyTo) -> bool {
        let is_queued = self.own.renders().contains(reply);
        let is_running = self.state().job().and_then(|job| job.then.reply()) == Some(reply);
        !self.state().is_resting() && (is_queued || is_running)
    }

    /// The session as it is.
    pub fn snapshot(&self) -> Snapshot {
        self.shown(None)
    }

    /// The session as it is, with this many of its newest messages at most, where that is said.
    pub fn shown(&self, newest: Option<u32>) -> Snapshot {
        shown(&self.kept, self.own.standing(), newest)
    }

    /// A part of a message's text.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] where no message of the session has this id, and no call of this id has a result;
    /// [`Refusal::NotKept`] where it was said and went with its turn.
    pub fn recall(&self, query: Recall) -> Result<Recalled, Refusal> {
        recall::recall(&self.kept, query)
    }

    /// All text of a message, for a model: nothing where there is none, or where no model may see it. Of what went with
    /// its turn it says so.
    pub fn recall_for_model(&self, reference: &str) -> Option<String> {
        recall::recall_for_model(&self.kept, reference)
    }

    /// What became of each message in the prompt as it would be sent now, by position.
    ///
    /// # Errors
    /// The settings allow no prompt.
    pub fn fates(&self) -> Result<Vec<Option<Fate>>, SettingsError> {
        recall::fates(&self.kept)
    }

    /// What could not be read when the rest came: told with the next answer that tells of such.
    pub fn missed(&mut self, unreadable: impl IntoIterator<Item = String>) {
        self.own.missed(unreadable);
    }

    pub(crate) fn kept(&self) -> &Conversation {
        &self.kept
    }

    pub(crate) fn components(&self) -> &Components {
        &self.own
    }

    /// The first message from which on all are here; nothing where all are here anyway.
    pub(crate) fn part_from(&self) -> Option<Ordinal> {
        self.part
    }
}
