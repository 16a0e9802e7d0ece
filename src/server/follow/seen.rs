//! A session that another process writes, as last read, and the answers from it.

use super::changes::Shown;
use super::pieces::AnswerPieces;
use super::wanted::Wanted;
use crate::convert;
use crate::server::client::replies::NOBODY;
use crate::server::clock::now;
use crate::server::settings::Layers;
use crate::server::wire::answer::{self, Form};
use crate::server::wire::{Json, event as wire_event, to_json};
use engine::message::Message;
use engine::scope::Scope;
use engine::tokens::TokenCount;
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionEvent;
use protocol::session::{SessionOpenResult, SessionSubscribeResult};
use protocol::snapshot::{HeldBy, Snapshot};
use session::effect::Effect;
use session::event::{Event, EventBody};
use session::input::{Command, Input};
use session::reconcile::Report;
use session::settings::Settings;
use session::stored::{Stored, Streamed};
use session::{Opening as Begin, Session, StepContext};
use std::sync::Arc;
use store::follow::Mark;

/// Context of an answer.
pub(super) struct AnswerContext<'a> {
    pub layers: &'a Layers,
    pub counter: &'a dyn TokenCount,
}

/// A session as last read.
pub(super) struct FollowedSession {
    mark: Mark,
    stored: Stored,
    session: Session,
    /// Number of the last event.
    seq: u64,
    shown: Shown,
    pieces: AnswerPieces,
}

impl FollowedSession {
    pub fn new(mark: Mark, stored: Stored, session: Session, shown: Shown, pieces: AnswerPieces) -> Self {
        Self { mark, stored, session, seq: 0, shown, pieces }
    }

    /// Adds pieces of the answer in progress, up to this position. Returns the events that tell them.
    pub fn goes_on(&mut self, mark: Mark, pieces: Vec<Streamed>) -> Vec<SessionEvent> {
        self.mark = mark;
        let events = match self.shown.turn() {
            Some(turn) => self.pieces.add(pieces, &turn),
            None => Vec::new(),
        };
        self.numbered(events)
    }

    /// The events from `known`, the state before, whose messages from index `from` on became `added`; `None` if only a
    /// snapshot can express the change. Continues its numbering.
    pub fn events_since(
        &mut self,
        known: &Self,
        from: usize,
        added: &[(u32, Arc<Message>)],
    ) -> Option<Vec<SessionEvent>> {
        self.seq = known.seq;
        let Some(changes) = known.shown.until(&self.shown, &self.session, from, added) else {
            self.seq += 1;
            return None;
        };
        let ended = known.pieces.end_before(&self.pieces, added);
        let is_ended = ended.is_some();
        let more = self.shown.turn().map(|turn| known.pieces.until(&self.pieces, &turn, is_ended));
        let events = ended.into_iter().chain(changes).chain(more.into_iter().flatten());
        Some(self.numbered(events.collect()))
    }

    fn numbered(&mut self, events: Vec<EventBody>) -> Vec<SessionEvent> {
        let each = events.into_iter().map(|body| {
            self.seq += 1;
            wire_event::event(&self.session, &Event { seq: self.seq, body })
        });
        each.collect()
    }

    /// Position up to which it was read.
    pub fn mark(&self) -> Mark {
        self.mark
    }

    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn pieces(&self) -> &AnswerPieces {
        &self.pieces
    }

    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    pub fn snapshot(&self, newest: Option<u32>) -> Snapshot {
        let held_by = self.shown.holder.clone().map(|holder| HeldBy {
            pid: holder.pid,
            since: convert::iso(holder.since),
            user: holder.user,
            host: holder.host,
        });
        let streaming = self.pieces.draft();
        Snapshot {
            seq: self.seq,
            state: self.shown.state,
            held_by,
            streaming: streaming.map(|(message, draft)| convert::streaming(message.as_str(), &draft)),
            ..answer::whole(&self.session, self.session.shown(newest))
        }
    }

    pub fn answer(&self, wanted: Wanted, with: &AnswerContext<'_>) -> Result<Json, ProtocolError> {
        match wanted {
            Wanted::Open(newest) => {
                let report = Report { unreadable: self.stored.unreadable.clone(), ..Report::default() };
                let restore = answer::restored(&self.session, &report);
                to_json(&SessionOpenResult { snapshot: self.snapshot(newest), restore })
            }
            Wanted::Subscribe(Some((stream, seq)), _)
                if stream == self.session.stream() && seq == self.seq =>
            {
                to_json(&SessionSubscribeResult { events: Some(Vec::new()), snapshot: None })
            }
            Wanted::Subscribe(_, newest) => {
                let snapshot = Some(Box::new(self.snapshot(newest)));
                to_json(&SessionSubscribeResult { events: None, snapshot })
            }
            Wanted::Read(command) => self.read(*command, with),
        }
    }

    /// Answers as the session's writer would, with counts as exact as there.
    fn read(
        &self,
        command: Command,
        AnswerContext { layers, counter }: &AnswerContext<'_>,
    ) -> Result<Json, ProtocolError> {
        let settings = self.session.settings().clone();
        let mut session =
            Session::new(opening(self.stored.clone(), settings, self.session.stream().to_owned()), *counter);
        let now = now();
        let context = StepContext { now, stamp: &convert::iso(now), counter: *counter };
        let effects = session.step(Input::Command(NOBODY, command), context);
        let said = effects.into_iter().find_map(|effect| match effect {
            Effect::Reply(_, answer) => Some(*answer),
            _ => None,
        });
        let unanswered = || {
            let message =
                "this is not available for a session that another process writes; nothing was changed";
            ProtocolError::new(ErrorData::InternalError {}, message)
        };
        answer::answer(&session, layers, true, Form::default(), said.ok_or_else(unanswered)?)
    }
}

/// The opening of a session read from its store.
pub(in crate::server) fn opening(stored: Stored, settings: Settings, stream: String) -> Begin {
    Begin {
        head: stored.head.clone(),
        settings,
        stored: Some(stored),
        stream,
        // Values shared between sessions belong to their writers.
        scope: Scope::default(),
        approvals: Vec::new(),
        memories: Vec::new(),
        agents: Vec::new(),
    }
}
