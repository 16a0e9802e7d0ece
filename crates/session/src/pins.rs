//! What the user pins: taken where there is room, kept with what stands before the messages, gone with its message.
//! How pins stand in a prompt is `prompt::pins`.

use super::breaks::BreakCause;
use super::effect::{Answer, Refusal};
use super::input::ReplyTo;
use super::{Session, Step};
use engine::id::PinId;
use engine::message::Body;
use engine::prompt::item::SectionSize;
use engine::prompt::pins::{PINS, Pin, Pinned, Pins};
use engine::tokens::TokenCount;

impl Session {
    /// What is pinned, in the order in which it was.
    pub fn pins(&self) -> &[Pin] {
        &self.head.prefix.pins
    }

    /// Tokens of a pin; 0 where it is none.
    pub fn pin_tokens(&self, id: &PinId) -> u32 {
        self.fixed.pins.tokens_of(id)
    }

    /// Counts the pins again.
    pub(super) fn count_pins(&mut self, counter: &dyn TokenCount) {
        self.fixed.pins = Pins::new(&self.head.prefix.pins, &self.transcript, counter);
    }

    /// Tokens that pins may have together: half of what tools, system and memories leave, so that there is always room
    /// for something to talk about.
    pub(super) fn most_pinned(&self) -> Result<u32, Refusal> {
        let before = self.fixed.tokens() - self.fixed.pins.tokens();
        Ok(self.budget()?.limit.saturating_sub(before) / 2)
    }

    /// The pins with these among them; what is pinned already stays as it is.
    pub(super) fn with_pins(&self, new: &[Pinned]) -> Vec<Pin> {
        let mut pins = self.pins().to_vec();
        for what in new {
            if !pins.iter().any(|pin| pin.what == *what) {
                let n = self.head.prefix.pinned as usize + pins.len() - self.pins().len() + 1;
                pins.push(Pin { id: PinId::new(format!("{}/p{n}", self.head.id)), what: what.clone() });
            }
        }
        pins
    }

    /// Whether these may be pinned, each by itself and together with what is.
    pub(super) fn check_pins(&self, new: &[Pinned], counter: &dyn TokenCount) -> Result<(), Refusal> {
        new.iter().try_for_each(|what| self.check_pin(what))?;
        let limit = self.most_pinned()?;
        let needed = Pins::new(&self.with_pins(new), &self.transcript, counter).tokens();
        let known = self.fixed.pins.tokens();
        if needed <= limit || needed <= known {
            return Ok(());
        }
        let size = |name: &str, tokens| SectionSize { name: name.to_owned(), tokens };
        let sections = vec![size(PINS, known), size("new", needed - known)];
        Err(Refusal::NoRoom { what: "what is pinned", limit, needed, sections })
    }

    fn check_pin(&self, what: &Pinned) -> Result<(), Refusal> {
        let unusable = |why| Refusal::Unusable { field: "messageId", why };
        match what {
            Pinned::Text(text) if text.trim().is_empty() => {
                return Err(Refusal::Unusable { field: "text", why: "it says nothing" });
            }
            Pinned::Text(_) => {}
            Pinned::Message(id) => {
                let message = self.find(id)?;
                if message.is_hidden() || matches!(message.body, Body::Event { .. }) {
                    return Err(unusable("no model sees this message, pinned or not"));
                }
                if self.transcript.is_excluded(message.ord) {
                    return Err(unusable("it was left out of the context; undo that first"));
                }
            }
        }
        Ok(())
    }
}

impl Step<'_> {
    pub(super) fn pin(&mut self, reply: ReplyTo, what: Pinned) {
        let checked = self.session.check_pins(std::slice::from_ref(&what), self.around.counter);
        let pins = self.session.with_pins(std::slice::from_ref(&what));
        let id = pins.iter().find(|pin| pin.what == what).map(|pin| pin.id.clone());
        let answer = checked.and_then(|()| id.ok_or(Refusal::Empty("there is nothing to pin")));
        if answer.is_ok() && pins.len() > self.session.pins().len() {
            self.announce(BreakCause::Pin);
            self.set_pins(pins);
            self.tell_next_context();
        }
        self.reply(reply, answer.map(Answer::Pinned));
    }

    pub(super) fn unpin(&mut self, reply: ReplyTo, id: &PinId) {
        let mut pins = self.session.pins().to_vec();
        pins.retain(|pin| pin.id != *id);
        if pins.len() == self.session.pins().len() {
            let refusal = Refusal::Unknown { what: "pinId", id: id.as_str().to_owned() };
            return self.reply(reply, Err(refusal));
        }
        self.announce(BreakCause::Unpin);
        self.set_pins(pins);
        self.tell_next_context();
        self.reply(reply, Ok(Answer::Pinned(id.clone())));
    }

    /// Other pins hold from now on; who shows them is told.
    pub(super) fn set_pins(&mut self, pins: Vec<Pin>) {
        let prefix = &mut self.session.head.prefix;
        let is_new = |pin: &&Pin| !prefix.pins.iter().any(|known| known.id == pin.id);
        prefix.pinned += u32::try_from(pins.iter().filter(is_new).count()).unwrap_or(u32::MAX);
        prefix.pins = pins;
        self.session.count_pins(self.around.counter);
        self.write_head();
        self.emit_thread();
    }

    /// Messages left or have other words: what is pinned follows.
    pub(super) fn pins_follow(&mut self) {
        let is_there = |pin: &&Pin| match &pin.what {
            Pinned::Message(id) => self.session.find(id).is_ok(),
            Pinned::Text(_) => true,
        };
        let stay: Vec<Pin> = self.session.pins().iter().filter(is_there).cloned().collect();
        if stay.len() < self.session.pins().len() {
            self.set_pins(stay);
        } else if !stay.is_empty() {
            self.session.count_pins(self.around.counter);
        }
    }
}
