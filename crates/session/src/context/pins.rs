//! Pins: accepted if there is room, stored with the prefix, removed with their message. `prompt::pins` puts
//! them into the prompt.

use crate::context::figures::tell_next_context;
use crate::core::{Conversation, Core};
use crate::values::effect::Answer;
use crate::values::input::ReplyTo;
use crate::values::refusal::Refusal;
use engine::id::PinId;
use engine::message::Body;
use engine::prompt::item::SectionSize;
use engine::prompt::pins::{PINS, Pin, Pinned, Pins};
use engine::tokens::TokenCount;
use engine::words::BreakCause;

/// Tokens that pins may have together: half of what tools, system text and memories leave, so that there is
/// always room for messages.
pub(crate) fn most_pinned(conversation: &Conversation) -> Result<u32, Refusal> {
    let before = conversation.fixed().tokens() - conversation.fixed().pins.tokens();
    Ok(conversation.budget()?.limit.saturating_sub(before) / 2)
}

/// The pins with `new` among them; what is pinned already stays as it is.
pub(crate) fn with_pins(conversation: &Conversation, new: &[Pinned]) -> Vec<Pin> {
    let mut pins = conversation.pins().to_vec();
    for what in new {
        if !pins.iter().any(|pin| pin.what == *what) {
            let n = conversation.head().prefix.pinned as usize + pins.len() - conversation.pins().len() + 1;
            pins.push(Pin { id: PinId::new(format!("{}/p{n}", conversation.head().id)), what: what.clone() });
        }
    }
    pins
}

/// Checks that these may be pinned, each by itself and together with the existing pins.
pub(crate) fn check_pins(
    conversation: &Conversation,
    new: &[Pinned],
    counter: &dyn TokenCount,
) -> Result<(), Refusal> {
    new.iter().try_for_each(|what| check_pin(conversation, what))?;
    let limit = most_pinned(conversation)?;
    let needed = Pins::new(&with_pins(conversation, new), conversation.transcript(), counter).tokens();
    let known = conversation.fixed().pins.tokens();
    if needed <= limit || needed <= known {
        return Ok(());
    }
    let size = |name: &str, tokens| SectionSize { name: name.to_owned(), tokens };
    let sections = vec![size(PINS, known), size("new", needed - known)];
    Err(Refusal::NoRoom { what: "the pinned content", limit, needed, sections })
}

fn check_pin(conversation: &Conversation, what: &Pinned) -> Result<(), Refusal> {
    let unusable = |why| Refusal::Unusable { field: "messageId", why };
    match what {
        Pinned::Text(text) if text.trim().is_empty() => {
            return Err(Refusal::Unusable { field: "text", why: "must not be empty" });
        }
        Pinned::Text(_) => {}
        Pinned::Message(id) => {
            let message = conversation.find(id)?;
            if message.is_hidden() || matches!(message.body, Body::Event { .. }) {
                return Err(unusable("is a message that is never shown to a model"));
            }
            if conversation.transcript().is_excluded(message.ord) {
                return Err(unusable("is excluded from the context; undo that first"));
            }
        }
    }
    Ok(())
}

pub(crate) fn pin(core: &mut Core<'_>, reply: ReplyTo, what: Pinned) {
    let checked = check_pins(core, std::slice::from_ref(&what), core.counter());
    let pins = with_pins(core, std::slice::from_ref(&what));
    let id = pins.iter().find(|pin| pin.what == what).map(|pin| pin.id.clone());
    let answer = checked.and_then(|()| id.ok_or(Refusal::Empty("nothing to pin")));
    if answer.is_ok() && pins.len() > core.pins().len() {
        core.announce(BreakCause::Pin);
        set_pins(core, pins);
        tell_next_context(core);
    }
    core.reply(reply, answer.map(Answer::Pinned));
}

pub(crate) fn unpin(core: &mut Core<'_>, reply: ReplyTo, id: &PinId) {
    let mut pins = core.pins().to_vec();
    pins.retain(|pin| pin.id != *id);
    if pins.len() == core.pins().len() {
        let refusal = Refusal::Unknown { what: "pinId", id: id.as_str().to_owned() };
        return core.reply(reply, Err(refusal));
    }
    core.announce(BreakCause::Unpin);
    set_pins(core, pins);
    tell_next_context(core);
    core.reply(reply, Ok(Answer::Pinned(id.clone())));
}

/// Replaces the pins, and emits the thread.
pub(crate) fn set_pins(core: &mut Core<'_>, pins: Vec<Pin>) {
    let prefix = core.prefix_mut();
    let is_new = |pin: &&Pin| !prefix.pins.iter().any(|known| known.id == pin.id);
    prefix.pinned += u32::try_from(pins.iter().filter(is_new).count()).unwrap_or(u32::MAX);
    prefix.pins = pins;
    core.count_pins();
    core.write_head();
    core.emit_thread();
}

/// Drops pins of removed messages, and counts those of changed ones again.
pub(crate) fn pins_follow(core: &mut Core<'_>) {
    let is_there = |pin: &&Pin| match &pin.what {
        Pinned::Message(id) => core.find(id).is_ok(),
        Pinned::Text(_) => true,
    };
    let stay: Vec<Pin> = core.pins().iter().filter(is_there).cloned().collect();
    if stay.len() < core.pins().len() {
        set_pins(core, stay);
    } else if !stay.is_empty() {
        core.count_pins();
    }
}

/// Removes all pins; the caller writes the row.
pub(crate) fn clear_pins(core: &mut Core<'_>) {
    core.prefix_mut().pins.clear();
    core.count_pins();
}
