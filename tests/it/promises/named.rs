//! Every prompt of the real transcripts, in every window under every built-in policy. Expectations are
//! computed from the transcripts here, not by the engine.

use super::enact::messages;
use super::sentinel::FILES;
use crate::corpus::transcripts;
use engine::compact::policy::{Policy, presets};
use engine::compact::record::{Compaction, Mode};
use engine::id::Ordinal;
use engine::message::Body;
use engine::prompt::item::{Item, Role};
use engine::prompt::linearize::join_neighbours;
use engine::prompt::{self, Prompt, Source};
use engine::settings::BudgetSettings;
use engine::tokens::QuarterOfChars;
use import::{Import, import};
use models::Model;
use models::scripted::Scripted;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use threadhold::replay::{Options, Render, Unfit, Watch, replay};

const WINDOWS: [u32; 3] = [8_000, 16_000, 32_000];

/// The first violation of each rule, or `None`.
#[derive(Default)]
struct Faults {
    p1: Option<String>,
    p5: Option<String>,
}

/// Checks every prompt of a transcript.
struct Looks<'a> {
    name: String,
    /// Texts of the user messages, in order.
    said: Vec<String>,
    policy: &'a Policy,
    faults: &'a mut Faults,
    seen: usize,
}

/// Runs a check and stores its panic message, if it is the first violation.
fn holds(fault: &mut Option<String>, look: impl FnOnce()) {
    if fault.is_some() {
        return;
    }
    if let Err(cause) = catch_unwind(AssertUnwindSafe(look)) {
        let said = cause.downcast_ref::<String>().cloned();
        *fault = Some(said.unwrap_or_else(|| "panicked without a formatted message".into()));
    }
}

impl Watch for Looks<'_> {
    fn rendered(&mut self, render: &Render<'_>) {
        let Ok(prompt) = render.outcome else { return };
        self.seen += 1;
        let name = format!("{}, render {}", self.name, render.index);
        holds(&mut self.faults.p1, || words_stand(&self.said, render, prompt, &name));
        holds(&mut self.faults.p5, || pairs_stand(prompt, &name));
    }

    fn compacted(&mut self, before: Source<'_>, record: &Compaction) {
        holds(&mut self.faults.p1, || no_room_is_wasted(self.policy, before, record, &self.name));
    }
}

/// Checks every prompt of every transcript, in every window, under every policy, once for both tests.
fn everywhere() -> &'static Faults {
    static FAULTS: OnceLock<Faults> = OnceLock::new();
    FAULTS.get_or_init(|| {
        let mut faults = Faults::default();
        let Some(folder) = transcripts() else { return faults };
        for file in FILES {
            let import = import(&std::fs::read(folder.join(file)).unwrap(), None).unwrap();
            // The chat replay's tools alone would exceed a small window.
            let import = Import { tools: Vec::new(), ..import };
            for window in WINDOWS {
                for policy in presets::ALL.map(|preset| preset.policy) {
                    lived(
                        &import,
                        window,
                        &policy,
                        format!("{file}, {window}, {}", policy.name),
                        &mut faults,
                    );
                }
            }
        }
        faults
    })
}

/// Replays a transcript. In the smallest window there is no model to summarize.
fn lived(import: &Import, window: u32, policy: &Policy, name: String, faults: &mut Faults) {
    let options = Options {
        window,
        policy: policy.clone(),
        budget: BudgetSettings::default(),
        max_result: Some(16_000),
        recorded: false,
    };
    let echo = || -> Box<dyn Model> { Box::new(Scripted::echo()) };
    let mut model = (window > WINDOWS[0]).then(echo);
    let mut looks = Looks { name, said: said(import), policy, faults, seen: 0 };
    let replayed = replay(import, &options, &QuarterOfChars, &mut model, &mut looks).unwrap();
    let all = replayed.renders as usize;
    assert_eq!(looks.seen + replayed.unfit.len(), all, "{}", looks.name);
    // A prompt may be unfit only if system text and request alone exceed the limit.
    let leaves_none = |unfit: &Unfit| match unfit {
        Unfit::CannotFit(no) => no.system + no.current_message > no.limit,
        Unfit::Exceeded(_) => false,
    };
    let alone = replayed.unfit.iter().all(|(_, unfit)| leaves_none(unfit));
    assert!(!policy.enabled || alone, "{}: {:?}", looks.name, replayed.unfit);
}

fn said(import: &Import) -> Vec<String> {
    let users = messages(import).filter(|body| body.has_user_words() && !body.is_empty());
    users.map(text_of).collect()
}

fn text_of(body: &Body) -> String {
    body.texts().iter().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

fn words(item: &Item) -> String {
    item.texts().map(|text| text.to_string()).collect::<Vec<_>>().join("\n")
}

/// Every prompt shows each user message byte for byte and in order, or the loss ledger names it, and
/// then the newest named one exceeded the stated budget. The current request is always shown, once.
#[test]
fn user_messages_are_shown_byte_for_byte_or_named() {
    assert_eq!(everywhere().p1, None);
}

fn words_stand(said: &[String], render: &Render<'_>, prompt: &Prompt, name: &str) {
    let transcript = render.transcript;
    let users: Vec<_> = transcript
        .messages()
        .iter()
        .filter(|m| m.body.has_user_words() && m.visible_to_model && !m.body.is_empty())
        .collect();
    // The import equals the source, so the prompts are in fact compared with the source.
    let texts: Vec<String> = users.iter().map(|message| text_of(&message.body)).collect();
    assert_eq!(texts, said[..texts.len()], "{name}");
    let cut: BTreeSet<u32> = prompt.cuts.iter().filter_map(|cut| cut.ord).map(|ord| ord.0).collect();
    let mut shown = Vec::new();
    for (message, text) in users.iter().zip(&texts) {
        let places: Vec<usize> = prompt
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.role == Role::User && item.sources.iter().any(|s| s.ord == message.ord))
            .map(|(at, _)| at)
            .collect();
        match places[..] {
            [] => {
                assert!(cut.contains(&message.ord.0), "{name}: {} is missing and not reported", message.ord)
            }
            [at] => {
                assert_eq!(words(&prompt.items[at]), *text, "{name}: {}", message.ord);
                shown.push(at);
            }
            _ => panic!("{name}: {} is shown {} times", message.ord, places.len()),
        }
    }
    assert!(shown.is_sorted(), "{name}: out of order");
    let newest = users.last().expect("a request");
    let last = prompt.items.iter().rposition(|item| item.sources.iter().any(|s| s.ord == newest.ord));
    let last = last.unwrap_or_else(|| panic!("{name}: the current request is missing"));
    let follows = &prompt.items[last + 1..];
    // A program may add something to the request, which is no word of the user.
    let is_added = |item: &Item| {
        let mut sources = item.sources.iter().filter_map(|source| transcript.message(source.ord));
        !item.sources.is_empty() && sources.all(|message| !message.body.has_user_words())
    };
    let is_word = |item: &&Item| item.role == Role::User && !is_added(item);
    assert_eq!(follows.iter().find(is_word), None, "{name}: a user follows the request");
}

/// Checks the budget for user messages of the covered range: a share of the limit, at most half of the tokens left by
/// system, request and rounds, less the session's first request. The newest message that is only named must not fit in
/// it beside the newer ones. A record that dropped rounds is exempt, as it keeps only the current request.
fn no_room_is_wasted(policy: &Policy, before: Source<'_>, record: &Compaction, name: &str) {
    let Some(newest) = record.reported_users.iter().max() else { return };
    if record.mode == Mode::Dropped {
        return;
    }
    let transcript = before.transcript;
    let tokens = |ord: &Ordinal| transcript.message(*ord).expect("a message").tokens;
    let prompt = prompt::draft(before, Some(record));
    let stays = prompt.items.iter().filter(|item| {
        item.role == Role::System
            || item.call_id.is_some()
            || item
                .sources
                .iter()
                .any(|s| s.ord >= record.resume_at() || record.open_requests.contains(&s.ord))
    });
    let limit = before.budget.limit;
    let free = limit.saturating_sub(stays.map(|item| item.tokens).sum()) / 2;
    let first: u32 = transcript.turns()[0].requests.iter().map(tokens).sum();
    let stated = policy.user_messages.of(limit).min(free).saturating_sub(first);
    let running = transcript.turns().len() - 1;
    let newer =
        transcript.turns()[..running].iter().flat_map(|turn| &turn.requests).filter(|ord| *ord > newest);
    let newer: u32 = newer.map(tokens).sum();
    assert!(
        newer + tokens(newest) > stated,
        "{name}: {newest} is only named, but {newer} of {stated} tokens are used"
    );
}

/// No prompt holds an unanswered call or an orphan result, in any form that providers take: unchanged, with
/// neighbouring users joined, without a system role, without a tool role.
#[test]
fn no_prompt_holds_a_broken_pair_for_any_provider() {
    assert_eq!(everywhere().p5, None);
}

fn pairs_stand(prompt: &Prompt, name: &str) {
    answered_at_once(&prompt.items, name);
    let joined = join_neighbours(&prompt.items);
    answered_at_once(&joined, name);
    let texts = |items: &[Item]| -> Vec<String> {
        items.iter().flat_map(|item| item.texts()).map(|text| text.to_string()).collect()
    };
    assert_eq!(texts(&joined), texts(&prompt.items), "{name}: a join loses nothing");
    // With system text and results as user messages, user and assistant must alternate.
    let in_two_roles: Vec<Item> = prompt
        .items
        .iter()
        .map(|item| match item.role {
            Role::System | Role::Tool => Item { role: Role::User, ..item.clone() },
            Role::User | Role::Assistant => item.clone(),
        })
        .collect();
    let has_system = prompt.items[0].role == Role::System;
    let head = if has_system { Role::System } else { Role::User };
    for (items, first) in [(joined, head), (join_neighbours(&in_two_roles), Role::User)] {
        assert_eq!(items[0].role, first, "{name}");
        for pair in items.windows(2) {
            let [one, next] = pair else { continue };
            assert!(one.role != Role::User || next.role == Role::Assistant, "{name}: two users in a row");
            let is_between = next.role == Role::Assistant && one.role == Role::Assistant;
            assert!(!is_between || one.calls.is_empty(), "{name}: a call without a result");
        }
    }
    let calls: usize = prompt.items.iter().map(|item| item.calls.len()).sum();
    let of_joined = join_neighbours(&in_two_roles).iter().map(|item| item.calls.len()).sum::<usize>();
    assert_eq!(calls, of_joined, "{name}");
}

/// Checks that every call is followed directly by its one result, and that there are no other results.
fn answered_at_once(items: &[Item], name: &str) {
    let mut seen = BTreeSet::new();
    let mut items = items.iter().peekable();
    while let Some(item) = items.next() {
        assert!(item.role != Role::Tool, "{name}: a result without a call");
        for call in &item.calls {
            assert!(seen.insert(call.id.clone()), "{name}: a duplicate call id");
        }
        let mut open: BTreeSet<_> = item.calls.iter().map(|call| call.id.clone()).collect();
        while let Some(answer) = items.next_if(|next| next.role == Role::Tool) {
            let is_of_it = answer.call_id.as_ref().is_some_and(|call| open.remove(call));
            assert!(is_of_it, "{name}: an orphan result");
        }
        assert!(open.is_empty(), "{name}: {open:?} is not answered");
    }
}
