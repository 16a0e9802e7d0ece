//! Changes of the context by the user: pins stay, exclusions leave the prompt, undo restores the bytes, and
//! the alternatives to a refused undo work.

use crate::effect::{Answer, Preview, Purpose, Refusal};
use crate::event::{EventBody, Phase};
use crate::input::{Command, Compact, Input};
use crate::settings::{ModelFacts, Settings};
use crate::stored::{Driver, Write};
use crate::tests::bench::{Bench, SUMMARY, settings};
use crate::undo::{Alternative, CannotUndo};
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Mode, Status, Trigger};
use engine::id::{CompactionId, MessageId, Ordinal, PinId, SessionId};
use engine::message::{Body, Content};
use engine::prompt::item::{Item, Role, Shown};
use engine::prompt::pins::Pinned;
use engine::prompt::system::Fixed;
use engine::prompt::{self, CutReason, Prompt, Source};
use std::collections::BTreeSet;

/// A text of one repeated mark, by which its message is found.
pub fn marked(mark: &str, chars: usize) -> String {
    format!("{mark} ").repeat(chars / (mark.len() + 1) + 1)
}

fn in_window(window: u32) -> Settings {
    Settings { model: ModelFacts { window, ..settings().model }, ..settings() }
}

/// A session with two turns of three rounds each, whose results have this many characters.
pub fn talked(window: u32, chars: usize) -> Bench {
    let mut bench = Bench::with(
        Driver::Sidecar,
        in_window(window),
        vec![crate::tests::bench::tool("read", Default::default())],
    );
    for turn in ["first", "second"] {
        bench.asks(&marked(&format!("{turn}_request"), 60));
        for round in 0..3 {
            bench.says("I look.", &["read"]);
            bench.tool_answers(&marked(&format!("{turn}_result_{round}"), chars));
        }
        bench.says("It is done.", &[]);
    }
    assert!(bench.session.is_at_rest() && bench.session.transcript().compactions().is_empty());
    bench
}

fn answer(bench: &mut Bench, command: Command) -> Result<Answer, Refusal> {
    let to = bench.command(command);
    while bench.reply(to).is_none() {
        bench.says("", &[]);
    }
    bench.reply(to).cloned().expect("an answer")
}

fn refused(bench: &mut Bench, command: Command) -> Refusal {
    let before = bench.session.snapshot();
    let refusal = answer(bench, command).expect_err("it is refused");
    assert_eq!(bench.session.snapshot(), before, "what is refused changes nothing");
    refusal
}

fn made(bench: &mut Bench, command: Command) -> Compaction {
    match answer(bench, command) {
        Ok(Answer::Compacted(Ok(made))) => made.0,
        other => panic!("no compaction: {other:?}"),
    }
}

pub fn compact(bench: &mut Bench) -> Compaction {
    made(bench, Command::Compact(Compact::default()))
}

pub fn undo(bench: &mut Bench) -> CompactionId {
    match answer(bench, Command::Undo(None)) {
        Ok(Answer::Undone(undone)) => undone.id,
        other => panic!("not undone: {other:?}"),
    }
}

fn cannot_undo(bench: &mut Bench, id: Option<CompactionId>) -> CannotUndo {
    match refused(bench, Command::Undo(id)) {
        Refusal::CannotUndo(why) => *why,
        other => panic!("another refusal: {other:?}"),
    }
}

/// Returns the next prompt without its fixed parts.
fn drafted(bench: &Bench) -> Prompt {
    let transcript = bench.session.transcript();
    let budget = bench.session.settings().budget().expect("a budget");
    prompt::draft(Source { transcript, fixed: &Fixed::default(), budget }, transcript.in_force())
}

/// Sends one more request; returns the items that a model is asked with.
fn asked(bench: &mut Bench) -> Vec<Item> {
    bench.asks("go on");
    while bench.asked.last().is_some_and(|ask| ask.1 == Purpose::Summary) {
        bench.says("", &[]);
    }
    bench.asked.last().expect("a model is asked").2.clone()
}

fn texts(items: &[Item]) -> String {
    items.iter().flat_map(Item::texts).map(|text| &**text).collect::<Vec<_>>().join("\n")
}

fn times(items: &[Item], mark: &str) -> usize {
    items.iter().flat_map(Item::texts).filter(|text| text.contains(mark)).count()
}

fn message_of(bench: &Bench, mark: &str) -> MessageId {
    let mut messages = bench.session.transcript().messages().iter();
    let says = |body: &Body| body.texts().iter().any(|text| text.contains(mark));
    messages.find(|message| says(&message.body)).expect("a message").id.clone()
}

#[test]
fn undo_gives_the_earlier_bytes_back_and_stays_undone() {
    let mut bench = talked(8000, 1200);
    let before = drafted(&bench).items;
    let first = compact(&mut bench);
    assert!(drafted(&bench).items != before);
    let between = drafted(&bench).items;
    bench.asks(&marked("third_request", 600));
    bench.says("So be it.", &["read"]);
    bench.tool_answers(&marked("third_result", 900));
    bench.says("Done.", &[]);
    let second = compact(&mut bench);
    assert_eq!(second.previous, Some(first.id.clone()));
    let anchored = |bench: &Bench| {
        bench.session.snapshot().turns.iter().flat_map(|t| t.rounds.clone()).filter(|r| r.1.is_some()).count()
    };
    assert_eq!(anchored(&bench), 2, "each round says what stands for it");

    let why = cannot_undo(&mut bench, Some(first.id.clone()));
    assert_eq!((why.ways, why.needed), (vec![Alternative::UndoFirst(second.id.clone())], 0));
    assert_eq!(undo(&mut bench), second.id);
    assert_eq!(drafted(&bench).items[..between.len()], between[..], "the first one is obeyed again");
    assert_eq!(undo(&mut bench), first.id);
    assert_eq!(drafted(&bench).items[..before.len()], before[..]);
    assert!(matches!(refused(&mut bench, Command::Undo(None)), Refusal::Unusable { .. }));
    assert!(matches!(refused(&mut bench, Command::Undo(Some(first.id))), Refusal::Settled { .. }));
    assert_eq!(anchored(&bench), 0);

    let told = bench.events.iter().filter_map(|(_, body)| match body {
        EventBody::CompactionUpdated(update) if update.phase == Phase::Undone => update.left.clone(),
        _ => None,
    });
    assert_eq!(told.map(|left| left.len()).collect::<Vec<_>>(), [0, 0], "no turn has metadata of them");
    assert!(bench.session.snapshot().turns.iter().all(|turn| turn.summaries.is_empty()));
    bench.another_process();
    assert_eq!(drafted(&bench).items[..before.len()], before[..], "also after a restart");
}

/// A session whose window became too small for its messages after they were compacted.
fn too_large_without() -> (Bench, Compaction) {
    let mut bench = talked(8000, 2400);
    let record = compact(&mut bench);
    bench.step(Input::Settings(Box::new(in_window(4800))));
    assert!(drafted(&bench).tokens < bench.session.settings().budget().expect("a budget").limit);
    (bench, record)
}

#[test]
fn each_alternative_to_a_refused_undo_works() {
    let (mut bench, record) = too_large_without();
    let why = cannot_undo(&mut bench, None);
    assert_eq!(why.compaction, record.id);
    assert!(why.needed > why.limit && why.sections.iter().map(|s| s.tokens).sum::<u32>() == why.needed);
    let [Alternative::Redo(again), Alternative::Pin { messages, most }, Alternative::Window(window)] =
        &why.ways[..]
    else {
        panic!("other ways: {:?}", why.ways)
    };

    // A redo with a focus, keeping a message that the first compaction hid.
    assert_eq!(*again, record.id);
    let keep = message_of(&bench, "first_result_0");
    assert!(messages.contains(&keep) && times(&drafted(&bench).items, "first_result_0 first_result_0") == 0);
    let redo = Compact {
        focus: Some("the first results".into()),
        redo: Some(again.clone()),
        keep: vec![keep.clone()],
        preview: false,
    };
    let other = made(&mut bench, Command::Compact(redo));
    assert_eq!(
        (other.replaces.as_ref(), other.focus.as_deref()),
        (Some(&record.id), Some("the first results"))
    );
    assert_eq!(bench.session.transcript().in_force().map(|record| &record.id), Some(&other.id));
    assert_eq!(bench.session.transcript().compactions()[0].status, Status::Undone);
    assert_eq!(bench.session.pins()[0].what, Pinned::Message(keep));
    let items = asked(&mut bench);
    assert_eq!(times(&items, "first_result_0 first_result_0"), 1);

    // A message brought back as a pin.
    let (mut bench, _) = too_large_without();
    let pinned = messages.first().expect("one fits").clone();
    let weight: u32 = bench.session.transcript().by_id(&pinned).map_or(0, |message| message.tokens);
    assert!(weight <= *most);
    answer(&mut bench, Command::Pin(Pinned::Message(pinned.clone()))).expect("it fits");
    let said = bench.session.transcript().by_id(&pinned).expect("it").clone();
    let items = asked(&mut bench);
    let shown = items
        .iter()
        .filter(|item| item.sources.iter().any(|s| s.ord == said.ord && s.shown == Shown::Pinned));
    let parts: Vec<_> = shown.flat_map(Item::texts).cloned().collect();
    assert!(said.body.texts().into_iter().all(|text| parts.contains(text)), "byte for byte");

    // A larger window, and none smaller than the one named.
    let (mut bench, record) = too_large_without();
    bench.step(Input::Settings(Box::new(in_window(window - 1))));
    cannot_undo(&mut bench, None);
    bench.step(Input::Settings(Box::new(in_window(*window))));
    assert_eq!(undo(&mut bench), record.id);
}

#[test]
fn undo_of_a_redo_restores_the_replaced_compaction() {
    let mut bench = talked(8000, 2400);
    let first = compact(&mut bench);
    let with_first = drafted(&bench).items;
    let redo = || Compact { redo: Some(first.id.clone()), focus: Some("names".into()), ..Compact::default() };
    let again = made(&mut bench, Command::Compact(redo()));
    assert_eq!((again.previous.as_ref(), again.covers), (None, first.covers), "from the originals");
    let phases = bench.events.iter().rev().filter_map(|(_, body)| match body {
        EventBody::CompactionUpdated(update) => Some((update.phase, update.id.clone())),
        _ => None,
    });
    let newest: Vec<_> = phases.take(2).collect();
    assert_eq!(newest, [(Phase::Accepted, again.id.clone()), (Phase::Undone, first.id.clone())]);
    let writes = bench.effects.iter().filter(|effect| {
        matches!(effect, crate::effect::Effect::Write(Write::Compaction(_) | Write::CompactionStatus { .. }))
    });
    assert_eq!(writes.count(), 2, "in one step");
    assert!(matches!(
        refused(
            &mut bench,
            Command::Compact(Compact { redo: Some(CompactionId::new("c")), ..Compact::default() })
        ),
        Refusal::Unknown { .. }
    ));
    assert_eq!(undo(&mut bench), again.id);
    assert_eq!(drafted(&bench).items, with_first);
    undo(&mut bench);
    assert!(bench.session.transcript().in_force().is_none());
    // A compaction that is already undone can be redone.
    let third = made(&mut bench, Command::Compact(redo()));
    assert_eq!((third.replaces, third.previous), (None, None));
}

#[test]
fn a_redo_that_fails_leaves_everything_as_it_was() {
    let mut bench = talked(8000, 2400);
    let first = compact(&mut bench);
    let before = bench.session.snapshot();
    let redo = Compact {
        redo: Some(first.id),
        keep: vec![message_of(&bench, "first_result_0")],
        ..Compact::default()
    };
    let to = bench.command(Command::Compact(redo));
    assert_eq!(bench.reply(to), None, "a model is asked");
    bench.step(Input::Abandoned(crate::input::ReplyTo(to)));
    let after = bench.session.snapshot();
    assert_eq!(
        (after.compactions, after.thread, after.head),
        (before.compactions, before.thread, before.head)
    );
}

#[test]
fn a_preview_says_what_would_be_done_and_does_nothing() {
    let mut bench = talked(8000, 2400);
    let preview = |bench: &mut Bench, compact: Compact| {
        let before = bench.session.snapshot();
        let preview = answer(bench, Command::Compact(Compact { preview: true, ..compact }));
        assert_eq!(bench.session.snapshot(), before);
        assert!(bench.asked.is_empty(), "no model is asked");
        preview
    };
    let Ok(Answer::Previewed(shown)) = preview(&mut bench, Compact::default()) else { panic!("no preview") };
    let Preview { record, asks_model, .. } = *shown;
    assert!(asks_model && record.mode == Mode::Ledger && record.block.contains("a.rs"));
    let real = compact(&mut bench);
    assert_eq!((real.tokens_before, real.kept_users.clone()), (record.tokens_before, record.kept_users));
    let redo = Compact { redo: Some(real.id), ..Compact::default() };
    let Ok(Answer::Previewed(again)) = preview(&mut bench, redo) else { panic!("no preview") };
    assert_eq!(again.record.block, record.block, "from the originals");
    let small = preview(&mut talked(8000, 10), Compact::default());
    assert!(
        matches!(&small, Ok(Answer::Compacted(Err(why))) if why.contains("nothing would be gained")),
        "{small:?}"
    );
}

#[test]
fn excluded_messages_are_in_no_prompt_until_undone() {
    let mut bench = talked(8000, 2400);
    let before = drafted(&bench).items;
    let ids = vec![message_of(&bench, "first_result_1"), message_of(&bench, "second_result_0")];
    let record = made(&mut bench, Command::Exclude(ids.clone()));
    assert_eq!((record.mode, record.trigger, record.excluded.len()), (Mode::Excluded, Trigger::Manual, 4));
    let prompt = drafted(&bench);
    let reported =
        prompt.cuts.iter().filter(|cut| cut.reason == CutReason::Excluded).filter_map(|cut| cut.ord);
    assert_eq!(reported.collect::<BTreeSet<_>>(), record.excluded);
    assert_eq!(times(&prompt.items, "first_result_1") + times(&prompt.items, "second_result_0"), 0);
    assert!(prompt.tokens < record.tokens_before);
    // A later compaction does not show them either.
    let later = compact(&mut bench);
    assert_eq!(later.excluded, record.excluded);
    assert!(!later.block.contains("second_result_0"));
    let shown = drafted(&bench);
    let still = shown.cuts.iter().filter(|cut| cut.reason == CutReason::Excluded).count();
    assert_eq!(still, record.excluded.len());
    let unusable = |bench: &mut Bench, ids: Vec<MessageId>| {
        assert!(matches!(
            refused(bench, Command::Exclude(ids)),
            Refusal::Unusable { field: "messageIds", .. }
        ));
    };
    unusable(&mut bench, vec![]);
    unusable(&mut bench, ids);
    let current = message_of(&bench, "second_request");
    unusable(&mut bench, vec![current]);
    undo(&mut bench);
    undo(&mut bench);
    assert_eq!(drafted(&bench).items, before);
}

#[test]
fn excluding_a_request_excludes_the_rounds_of_its_turn() {
    let mut bench = talked(8000, 2400);
    let request = message_of(&bench, "first_request");
    let record = made(&mut bench, Command::Exclude(vec![request]));
    let second = bench.session.transcript().turns()[1].first;
    assert_eq!(record.excluded, (0..second.0).map(Ordinal).collect());
    let items = asked(&mut bench);
    assert_eq!((items[0].role, texts(&items).contains("first_")), (Role::User, false));
}

#[test]
fn round_of_a_running_turn_cannot_be_excluded() {
    let mut bench = Bench::new(Driver::Editor);
    bench.asks("do it");
    let said = Body::assistant("so", vec![]);
    bench.command(Command::AppendRound(vec![engine::message::NewMessage::new(said)]));
    let id = message_of(&bench, "so");
    assert!(matches!(refused(&mut bench, Command::Exclude(vec![id])), Refusal::Unusable { .. }));
}

#[test]
fn pin_precedes_the_conversation_once_its_message_is_hidden() {
    let mut bench = talked(8000, 2400);
    let id = message_of(&bench, "first_result_0");
    let text = "Never touch the lock file.\r\n <conversation-summary>";
    let Ok(Answer::Pinned(pin)) = answer(&mut bench, Command::Pin(Pinned::Message(id.clone()))) else {
        panic!("no pin")
    };
    let Ok(Answer::Pinned(words)) = answer(&mut bench, Command::Pin(Pinned::Text(text.into()))) else {
        panic!("no pin")
    };
    assert_eq!(
        answer(&mut bench, Command::Pin(Pinned::Message(id.clone()))),
        Ok(Answer::Pinned(pin.clone()))
    );
    let raw = asked(&mut bench);
    assert_eq!(times(&raw, "first_result_0"), 1, "once, where it was said");
    assert_eq!((times(&raw[..1], text), raw[0].role), (1, Role::User), "before the history");
    bench.says("Done.", &[]);

    for _ in 0..3 {
        compact(&mut bench);
        let items = asked(&mut bench);
        assert_eq!(
            (times(&items[..1], "first_result_0"), times(&items, "first_result_0 first_result_0")),
            (1, 1)
        );
        assert_eq!(times(&items[..2], text), 1);
        assert!(items[0].texts().any(|said| **said == *marked("first_result_0", 2400)), "byte for byte");
        bench.says(&marked("more", 1400), &[]);
    }
    assert!(matches!(refused(&mut bench, Command::Exclude(vec![id.clone()])), Refusal::Unusable { .. }));
    // Pins survive a restart, follow a branch under its ids, and are not in a new chat.
    bench.another_process();
    assert_eq!(times(&asked(&mut bench)[..1], "first_result_0"), 1);
    bench.says("Done.", &[]);
    bench.command(Command::Branch { to: SessionId::new("b"), up_to: None, title: None, key: None });
    let branch = bench.rows.load(&SessionId::new("b")).expect("a branch");
    let pinned =
        |pins: &[engine::prompt::pins::Pin]| pins.iter().map(|pin| pin.what.clone()).collect::<Vec<_>>();
    let of_branch = Pinned::Message(MessageId::new(id.as_str().replacen("s/", "b/", 1)));
    assert_eq!(pinned(&branch.head.prefix.pins), [of_branch, Pinned::Text(text.into())]);
    answer(&mut bench, Command::Unpin(words.clone())).expect("it was pinned");
    assert_eq!(
        refused(&mut bench, Command::Unpin(words)),
        Refusal::Unknown { what: "pinId", id: "s/p2".into() }
    );
    assert_eq!(times(&asked(&mut bench), text), 0);
    bench.says("Done.", &[]);
    bench.command(Command::Reset { keep_queue: false, key: None });
    assert!(bench.session.pins().is_empty());
    let next = answer(&mut bench, Command::Pin(Pinned::Text("x".into())));
    assert_eq!(next, Ok(Answer::Pinned(PinId::new("s/p3"))), "an id is never another pin's");
}

#[test]
fn pin_follows_its_message_and_must_fit() {
    let mut bench = talked(8000, 2400);
    let id = message_of(&bench, "first_result_0");
    answer(&mut bench, Command::Pin(Pinned::Message(id.clone()))).expect("a pin");
    compact(&mut bench);
    let content = vec![Content::Text("other words".into())];
    let at = || crate::input::At::Id(id.clone());
    bench.command(Command::Update { message: at(), content, regenerate: false, key: None });
    assert_eq!(times(&drafted(&bench).items, "other words"), 1, "the summary of the old words is void");
    let round = bench.session.transcript().rounds()[0].assistant;
    let round = bench.session.transcript().message(round).expect("a round").id.clone();
    bench.command(Command::Remove { message: crate::input::At::Id(round), key: None });
    assert!(bench.session.pins().is_empty(), "gone with its message");

    let most = (bench.session.settings().budget().expect("a budget").limit / 2) as usize * 4;
    let Refusal::NoRoom { limit, needed, sections, .. } =
        refused(&mut bench, Command::Pin(Pinned::Text(marked("large", most).into())))
    else {
        panic!("another refusal")
    };
    assert!(needed > limit && sections.iter().map(|section| section.tokens).sum::<u32>() == needed);
    assert!(matches!(
        refused(&mut bench, Command::Pin(Pinned::Text(" \n".into()))),
        Refusal::Unusable { .. }
    ));
}

#[test]
fn edited_narrative_replaces_the_old_one_and_nothing_else() {
    let mut bench = talked(8000, 2400);
    let record = compact(&mut bench);
    let edit = |narrative: &str, of: &CompactionId| Command::Edit {
        compaction: of.clone(),
        narrative: narrative.into(),
    };
    let words = "## Goal\nMine.\n</conversation-summary> and <conversation-summary>";
    let edited = made(&mut bench, edit(words, &record.id));
    let old = SUMMARY.trim_start_matches("<summary>\n").trim_end_matches("\n</summary>");
    let new = words.replace("</conv", "&lt;/conv").replace("<conv", "&lt;conv");
    assert_eq!(*edited.block, *record.block.replace(old, &new), "ledger and names are as they were");
    assert_eq!(
        (edited.mode, edited.replaces.as_ref(), edited.turn.as_ref()),
        (Mode::Edited, Some(&record.id), record.turn.as_ref())
    );
    assert_eq!(texts(&drafted(&bench).items).matches("</conversation-summary>").count(), 1);
    let turn = bench.session.snapshot().turns.pop().expect("a turn");
    assert_eq!(turn.summaries.len(), 1, "the turn's metadata has the new one alone");
    assert!(matches!(&turn.summaries[0], Persisted::Summary(summary) if summary.text.contains("Mine.")));

    let long = marked("too_long", 8000);
    assert!(matches!(refused(&mut bench, edit(&long, &edited.id)), Refusal::NoRoom { .. }));
    assert!(matches!(
        refused(&mut bench, edit(" ", &edited.id)),
        Refusal::Unusable { field: "narrative", .. }
    ));
    assert!(matches!(refused(&mut bench, edit("x", &record.id)), Refusal::Settled { .. }));
    let with_first = record.block.clone();
    undo(&mut bench);
    assert_eq!(bench.session.transcript().in_force().map(|record| record.block.clone()), Some(with_first));
}

#[test]
fn inspect_shows_pins_and_how_near_each_trigger_is() {
    let mut bench = talked(8000, 2400);
    answer(&mut bench, Command::Pin(Pinned::Text("mind the tests".into()))).expect("a pin");
    let Ok(Answer::Inspected(shown)) = answer(&mut bench, Command::Inspect(None)) else {
        panic!("no answer")
    };
    assert!(shown.sections.iter().any(|(_, name, tokens)| name == "pins" && *tokens > 0));
    assert_eq!(shown.coverage.unaccounted, 0);
    let near: Vec<_> = shown.triggers.iter().map(|near| (near.trigger, near.at.is_some())).collect();
    assert!(near.contains(&(Trigger::BudgetExceeded, true)) && near.contains(&(Trigger::Idle, false)));
    let turns = shown.triggers.iter().find(|near| near.trigger == Trigger::UserTurns).expect("it is there");
    assert_eq!(turns.now, 2);
}
