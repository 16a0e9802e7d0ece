//! Results larger than their limit: prompts show head and tail from the first one on, whatever settings and
//! processes follow, and every byte can be recalled.

use crate::effect::{Answer, Purpose, Refusal};
use crate::history_turn::HistoryTurn;
use crate::input::{Command, Decision, Input, Open, Render, ToolOutcome};
use crate::recall::{RECALL, Recall, Recalled};
use crate::settings::{ModelFacts, Settings};
use crate::state::StateName;
use crate::stored::Driver;
use crate::tests::bench::{Bench, result, settings, tool};
use engine::id::CallId;
use engine::message::cut::joined;
use engine::message::{Body, Content, Image, Message, NewMessage, ToolCall, ToolResult};
use engine::prompt::item::{Approval, Item, ItemPart, Role};
use engine::text::sha256_hex;
use expect_test::expect;
use proptest::prelude::*;

/// Settings with a window in which nothing is compacted, and this limit for results.
fn limited(tokens: u32) -> Settings {
    let model = ModelFacts { window: 400_000, ..settings().model };
    let own_tools = vec![tool(RECALL, Approval::Allow)];
    Settings { max_tool_result_tokens: tokens, model, own_tools, ..settings() }
}

fn set(bench: &mut Bench, tokens: u32) {
    bench.step(Input::Settings(Box::new(limited(tokens))));
}

/// Returns the items that a model is asked with now.
fn asked(bench: &Bench) -> Vec<Item> {
    bench.asked.last().expect("a model is asked").2.clone()
}

/// Returns `true` if a prompt begins with all of an earlier one.
fn extends(after: &[Item], before: &[Item]) -> bool {
    let same = |(a, b): (&Item, &Item)| {
        (a.role, &a.parts, &a.calls, &a.call_id, a.tokens)
            == (b.role, &b.parts, &b.calls, &b.call_id, b.tokens)
    };
    after.len() >= before.len() && before.iter().zip(after).all(same)
}

fn recall(bench: &mut Bench, reference: &str, offset: usize, limit: usize) -> Result<Recalled, Refusal> {
    let recall = Recall { reference: reference.into(), offset, limit };
    let to = bench.command(Command::Recall(recall));
    match bench.replies.iter().find(|(reply, _)| *reply == to) {
        Some((_, Ok(Answer::Recalled(recalled)))) => Ok(recalled.clone()),
        Some((_, Err(refusal))) => Err(refusal.clone()),
        other => panic!("no answer: {other:?}"),
    }
}

/// Recalls the whole text, page by page.
fn recall_all(bench: &mut Bench, reference: &str, limit: usize) -> String {
    let (mut at, mut whole) = (Some(0), String::new());
    while let Some(offset) = at {
        let page = recall(bench, reference, offset, limit).expect("a page");
        assert!(page.text.len() <= limit.max(4) && page.offset == offset);
        whole.push_str(&page.text);
        at = page.next;
        if at.is_none() {
            assert_eq!((page.total, page.sha256), (whole.len(), sha256_hex(whole.as_bytes())));
        }
    }
    whole
}

#[test]
fn large_result_is_shown_by_head_tail_and_reference() {
    let mut bench = Bench::new(Driver::Sidecar);
    set(&mut bench, 40);
    bench.asks("Look.");
    bench.says("", &["read", "read"]);
    let numbers: Vec<String> = (1..200).map(|n| n.to_string()).collect();
    bench.tool_answers(&numbers.join(" "));
    bench.tool_answers("short");
    let said = asked(&bench).into_iter().map(|item| {
        let texts: Vec<&str> = item.texts().map(|text| &**text).collect();
        format!("{:?}, {} tokens\n{}\n", item.role, item.tokens, texts.join("\n"))
    });
    expect![[r#"
        User, 6 tokens
        Look.
        Assistant, 30 tokens
        {"path": "a.rs"}
        {"path": "a.rs"}
        Tool, 44 tokens
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 
        [… 609 of 687 bytes not shown; they can be recalled as "c1-0" from byte 39 …]
        190 191 192 193 194 195 196 197 198 199
        Tool, 6 tokens
        short
    "#]]
    .assert_eq(&said.collect::<String>());
}

/// The same result before and after the model gets the tool, in a running turn.
#[test]
fn note_of_a_large_result_names_recall_only_where_the_model_has_it() {
    let mut bench = Bench::new(Driver::Sidecar);
    let without = Settings { own_tools: Vec::new(), ..limited(40) };
    bench.step(Input::Settings(Box::new(without.clone())));
    bench.asks("Look.");
    let numbers: Vec<String> = (1..200).map(|n| n.to_string()).collect();
    for settings in [limited(40), without, limited(40)] {
        bench.says("", &["read"]);
        bench.tool_answers(&numbers.join(" "));
        bench.step(Input::Settings(Box::new(settings)));
    }
    bench.says("", &["read"]);
    bench.tool_answers("short");
    let before = asked(&bench);
    let notes = before
        .iter()
        .flat_map(Item::texts)
        .flat_map(|text| text.lines())
        .filter(|line| line.contains("not shown"));
    let notes: Vec<&str> = notes.collect();
    let [first, second, third] = &notes[..] else { panic!("{notes:?}") };
    assert!(!first.contains("recall") && first.ends_with("bytes not shown …]"), "{first}");
    assert!(second.contains("recalled as \"c2-0\" from byte"), "{second}");
    assert!(!third.contains("recall"), "{third}");
    bench.session = bench.reopened();
    bench.asks("Go on.");
    assert!(extends(&asked(&bench), &before), "decided once");
}

#[test]
fn pictures_of_a_large_result_stay_beside_its_text() {
    let mut bench = Bench::new(Driver::Sidecar);
    set(&mut bench, 100);
    bench.asks("Look.");
    bench.says("", &["read"]);
    let call = bench.invoked.remove(0);
    let picture = Content::Image(Image { mime_type: "image/png".into(), data: "aGVsbG8=".into() });
    let content = vec![Content::Text("long ".repeat(200).into()), picture.clone()];
    let result = ToolResult { content, ..result(call.as_str(), "") };
    bench.step(Input::ToolDone(call, ToolOutcome::Answered(result)));
    let item = asked(&bench).pop().expect("the result");
    let [ItemPart::Content(Content::Text(text)), ItemPart::Content(shown)] = &item.parts[..] else {
        panic!("a text and a picture: {item}")
    };
    assert!(text.len() < 500 && text.ends_with("[picture, image/png]"), "{text}");
    assert_eq!(shown, &picture);
    assert!(item.tokens <= 100 + 765 + 4);
}

#[test]
fn a_picture_alone_is_never_too_large() {
    let mut bench = Bench::new(Driver::Sidecar);
    set(&mut bench, 10);
    bench.asks("Look.");
    bench.says("", &["read"]);
    let call = bench.invoked.remove(0);
    let content = vec![Content::Image(Image { mime_type: "image/png".into(), data: "aGVsbG8=".into() })];
    let result = ToolResult { content: content.clone(), ..result(call.as_str(), "") };
    bench.step(Input::ToolDone(call, ToolOutcome::Answered(result)));
    let item = asked(&bench).pop().expect("the result");
    assert_eq!(item.parts, content.into_iter().map(ItemPart::Content).collect::<Vec<_>>());
}

/// A text of many kinds of characters.
fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec!["word ", "漢字", "🙂", "e\u{301}", "\r\n", "\u{0}", "…]\n"]);
    (prop::collection::vec(word, 1..12), 1..120_usize).prop_map(|(words, times)| words.concat().repeat(times))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither other limits nor another process change the results that were sent.
    #[test]
    fn sent_results_stay_unchanged_under_other_limits_and_processes(
        turns in prop::collection::vec((1..300_u32, text(), any::<bool>()), 1..6)
    ) {
        let mut bench = Bench::new(Driver::Sidecar);
        let mut before = Vec::new();
        for (limit, text, reopens) in turns {
            set(&mut bench, limit);
            bench.asks("Go on.");
            prop_assert!(extends(&asked(&bench), &before), "a request only adds");
            bench.says("", &["read"]);
            set(&mut bench, limit * 7 % 300 + 1);
            set(&mut bench, limit);
            bench.tool_answers(&text);
            let now = asked(&bench);
            prop_assert!(extends(&now, &before), "a result only adds");
            let item = now.last().expect("the result").clone();
            let message = bench.session.transcript().messages().last().expect("the result").clone();
            holds(&mut bench, &message, &item, &text, limit)?;
            before = now;
            set(&mut bench, limit * 13 % 300 + 1);
            bench.says("Done.", &[]);
            if reopens {
                bench.session = bench.reopened();
                bench.command(Command::Open(Box::default()));
            }
        }
    }
}

/// Checks that head and tail are original bytes, no character is split, and a recall returns what is between.
fn holds(
    bench: &mut Bench,
    message: &Message,
    item: &Item,
    whole: &str,
    limit: u32,
) -> Result<(), TestCaseError> {
    let Body::Tool(result) = &message.body else { panic!("a result") };
    prop_assert_eq!(joined(&result.content), whole, "it is kept whole");
    prop_assert_eq!((item.tokens, item.role), (message.tokens, Role::Tool));
    let shown = item.parts[0].as_text().expect("a text").to_string();
    let Some(cut) = message.shown else {
        prop_assert_eq!(shown, whole);
        return Ok(());
    };
    let call = item.call_id.as_ref().expect("an answer").as_str();
    let marks = format!("; they can be recalled as \"{call}\" from byte ");
    let (before, after) = shown.split_once(&marks).expect("the reference is named");
    let (from, last) = after.split_once(" …]\n").expect("the note ends");
    let (first, out) = before.rsplit_once("\n[… ").expect("the note begins");
    let from: usize = from.parse().expect("an offset");
    prop_assert!(whole.starts_with(first) && whole.ends_with(last) && from == first.len());
    prop_assert!(first.len() <= cut.head as usize && last.len() <= cut.tail as usize);
    prop_assert!(first.len() + 4 > cut.head as usize && last.len() + 4 > cut.tail as usize);
    let left_out = whole.len() - first.len() - last.len();
    prop_assert!(out.starts_with(&format!("{left_out} of {} bytes not shown", whole.len())), "{}", out);
    prop_assert!(cut.head == 0 || item.tokens <= limit + 4, "{} of {}", item.tokens, limit);
    let between = recall(bench, call, from, left_out).expect("what is left out").text;
    prop_assert_eq!(format!("{first}{between}{last}"), whole);
    prop_assert_eq!(recall_all(bench, message.id.as_str(), 1000), whole);
    Ok(())
}

#[test]
fn every_message_is_recalled_in_every_state_under_both_drivers() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("Do it.");
    let mut states = vec![bench.session.state().name()];
    let mut told = |bench: &mut Bench| {
        assert_eq!(recall_all(bench, "s/m0", 3), "Do it.");
        states.push(bench.session.state().name());
    };
    told(&mut bench);
    bench.says("thinking", &["read", "rm"]);
    told(&mut bench);
    let call = CallId::new("c1-1");
    let decision = Decision::once(call, true);
    bench.command(Command::Decide(vec![decision]));
    told(&mut bench);
    assert_eq!(
        recall_all(&mut bench, "s/m1", 5),
        "thinking\nread {\"path\": \"a.rs\"}\nrm {\"path\": \"a.rs\"}"
    );
    for unknown in ["c1-0", "nobody", "s/m9", ""] {
        let refused = recall(&mut bench, unknown, 0, 9);
        assert_eq!(refused, Err(Refusal::Unknown { what: "ref", id: unknown.into() }), "no result yet");
    }
    bench.tool_answers("é漢");
    bench.tool_answers("gone");
    assert_eq!(recall_all(&mut bench, "c1-0", 1), "é漢");
    let inside = recall(&mut bench, "c1-0", 3, 9).expect("an offset inside a character");
    assert_eq!((inside.offset, inside.text.as_str(), inside.next), (2, "漢", None));
    let behind = recall(&mut bench, "c1-0", 99, 9).expect("an offset behind the end");
    assert_eq!((behind.offset, behind.text.as_str(), behind.next), (5, "", None));
    bench.says("Done.", &[]);
    told(&mut bench);
    for state in [StateName::Generating, StateName::Paused, StateName::WaitingIde, StateName::Idle] {
        assert!(states.contains(&state), "{states:?}");
    }
    // A model recalls visible messages only.
    let session = &bench.session;
    assert_eq!(session.recall_for_model("c1-0").as_deref(), Some("é漢"));
    assert_eq!(session.recall_for_model("nobody"), None);

    let mut editor = Bench::new(Driver::Editor);
    let hidden = NewMessage { visible_to_model: false, ..NewMessage::user("a note") };
    let messages =
        vec![NewMessage::user("Say it."), NewMessage::new(Body::assistant("Said.", vec![])), hidden];
    let history = Some(vec![HistoryTurn { detailed: true, messages, ..HistoryTurn::default() }]);
    editor.command(Command::Open(Box::new(Open { history, ..Open::default() })));
    assert_eq!(recall_all(&mut editor, "s/m1", 99), "Said.");
    assert_eq!(recall_all(&mut editor, "s/m2", 99), "a note");
    assert_eq!(editor.session.recall_for_model("s/m2"), None);
}

#[test]
fn cut_result_can_be_compacted_and_recalled() {
    let mut bench = Bench::new(Driver::Sidecar);
    let narrow = Settings { max_tool_result_tokens: 300, ..settings() };
    bench.step(Input::Settings(Box::new(narrow)));
    bench.asks("Read all of it.");
    let texts: Vec<String> = (0..14).map(|n| format!("line {n} of what it says, ").repeat(200)).collect();
    let mut calls = Vec::new();
    for text in &texts {
        while bench.asked.last().is_some_and(|(_, purpose, _)| *purpose == Purpose::Summary) {
            bench.says("", &[]);
        }
        bench.says("", &["read"]);
        calls.push(bench.invoked[0].clone());
        bench.tool_answers(text);
    }
    let record = bench.session.transcript().in_force().expect("it was compacted").clone();
    let all = bench.session.transcript().messages().to_vec();
    let cut: Vec<_> = all.iter().filter(|message| message.shown.is_some()).collect();
    assert_eq!(cut.len(), texts.len());
    let covered = cut.iter().filter(|message| record.covers(message.ord)).count();
    assert!(covered > 0, "the block stands for cut results: {:?}", (record.mode, record.covers));
    for (call, text) in calls.iter().zip(&texts) {
        assert_eq!(&recall_all(&mut bench, call.as_str(), 1 << 20), text);
    }
    assert_eq!(bench.reopened().transcript().messages(), &all[..]);
}

/// A render's own limit holds for the results that it brings, and for none before or after.
#[test]
fn a_render_has_a_limit_of_its_own() {
    let mut bench = Bench::new(Driver::Editor);
    set(&mut bench, 10_000);
    let long = "long ".repeat(800);
    let round = |n: usize| {
        let call = ToolCall::new(&format!("c{n}"), "read", "{}");
        let assistant = NewMessage {
            external_id: Some(format!("r{n}")),
            ..NewMessage::new(Body::assistant("", vec![call]))
        };
        [assistant, NewMessage::new(Body::result(&format!("c{n}"), &long))]
    };
    let mut messages = vec![NewMessage { external_id: Some("u".into()), ..NewMessage::user("Look.") }];
    let mut before: Vec<Item> = Vec::new();
    let mut shown = Vec::new();
    for (n, max_result) in [(1, Some(200)), (2, None), (3, Some(9_999)), (4, Some(50))] {
        messages.extend(round(n));
        let turn = HistoryTurn {
            external_id: Some("u".into()),
            detailed: true,
            messages: messages.clone(),
            metadata: vec![],
        };
        let render = Render { current: Some(turn), max_result, ..Render::default() };
        let to = bench.command(Command::Render(Box::new(render)));
        let Some((_, Ok(Answer::Rendered(rendered)))) = bench.replies.iter().find(|(reply, _)| *reply == to)
        else {
            panic!("no prompt")
        };
        assert!(extends(&rendered.prompt.items, &before));
        before = rendered.prompt.items.clone();
        shown.push(before.last().expect("the result").tokens);
    }
    assert!(shown[0] <= 204 && shown[3] <= 54, "{shown:?}");
    assert_eq!((shown[1], shown[2]), (1004, 1004));
}
