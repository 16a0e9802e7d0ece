//! How a turn ends, and what then stays of it. What makes it end is `turn`'s, `stream`'s and `tools`'.

use super::Step;
use super::breaks::BreakCause;
use super::effect::Refusal;
use super::event::{EventBody, TurnEnd};
use super::settings::TranscriptKept;
use super::state::{Rest, State};
use super::stored::{Driver, TurnStatus, Write};
use engine::transcript::CameTo;

impl Step<'_> {
    /// The turn cannot go on.
    pub(super) fn fail(&mut self, why: impl Into<Refusal>) {
        let why = why.into();
        self.turn_ended(TurnStatus::Failed, Rest::Failed(why.to_string()), Some(why));
    }

    /// Ends the newest turn and says so.
    pub(super) fn end_turn(&mut self, status: TurnStatus, rest: Rest) {
        self.turn_ended(status, rest, None);
    }

    /// Ends the newest turn and says so, with the summaries that were made in it.
    fn turn_ended(&mut self, status: TurnStatus, rest: Rest, error: Option<Refusal>) {
        let last = self.session.turns.len().saturating_sub(1);
        self.set_turn(last, status);
        self.session.state = State::Resting(rest);
        let (state, turn) = (self.session.state.name(), self.turn_id());
        let ended_by = self.session.ended_by().filter(|_| status == TurnStatus::Completed);
        let ended = TurnEnd { status, error, ended_by, summaries: self.session.summaries_of(last) };
        self.let_go(status);
        self.emit(EventBody::RuntimeUpdated { state, turn, ended: Some(ended) });
        let asked = self.session.transcript.turns().iter().filter(|turn| !turn.requests.is_empty());
        if status == TurnStatus::Completed && asked.take(2).count() == 1 {
            self.ask_for_title();
        }
    }

    /// The newest turn is over: what the settings do not keep of it goes in the same step (source: 002). An editor that
    /// runs the loop has the words itself and brings them again, so nothing goes there.
    pub(super) fn let_go(&mut self, status: TurnStatus) {
        let is_kept = self.session.settings.transcript == TranscriptKept::Full;
        if is_kept || self.session.head.driver == Driver::Editor {
            return;
        }
        let Some(last) = self.session.transcript.turns().len().checked_sub(1) else { return };
        let ended_by = self.session.ending_call().map(|(_, call)| call.id);
        let came_to = match &ended_by {
            _ if status != TurnStatus::Completed => CameTo::Nothing,
            Some(call) => CameTo::Call(call),
            None => CameTo::Answer,
        };
        let messages = self.session.transcript.let_go(last, came_to, self.around.counter);
        if messages.is_empty() {
            return;
        }
        self.announce(BreakCause::StripCompletedTurns);
        self.write_head();
        for message in &messages {
            self.emit(match message.is_removed() {
                true => EventBody::MessageRemoved { message: message.id.clone() },
                false => EventBody::MessageUpdated(message.clone()),
            });
        }
        self.write(Write::LetGo { turn: u32::try_from(last).unwrap_or(u32::MAX), messages });
        self.pins_follow();
    }
}
