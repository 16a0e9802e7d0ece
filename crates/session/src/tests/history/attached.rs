//! Volatile context: captured with the next request, sent once, and never changed there.

use crate::effect::{Answer, Purpose};
use crate::history_turn::HistoryTurn;
use crate::input::{At, Command, Input, Render, StartTurn};
use crate::stored::Driver;
use crate::tests::bench::Bench;
use crate::tests::machine::drive;
use crate::tests::machine::model::Model;
use engine::message::attachment::Attachment;
use engine::message::{Content, NewMessage};
use engine::prompt::item::{Item, ItemPart};

fn notice(name: &str, text: &str) -> Attachment {
    Attachment::new(name, text)
}

/// Returns the attachments of a prompt's user items, item by item.
fn attached(items: &[Item]) -> Vec<Vec<String>> {
    let users = items.iter().filter(|item| item.role.name() == "user");
    let texts = |item: &Item| {
        let attached = item.parts.iter().filter_map(|part| match part {
            ItemPart::Content(Content::Attachment(one)) => Some(format!("{}={}", one.name, one.text)),
            _ => None,
        });
        attached.collect()
    };
    users.map(texts).collect()
}

fn sent(bench: &Bench) -> Vec<Item> {
    let asked = bench.asked.iter().rfind(|(_, purpose, _)| *purpose == Purpose::Turn);
    asked.map(|(_, _, items)| items.clone()).expect("a model was asked")
}

fn says(model: &mut Model, text: &str, attachments: Vec<Attachment>) -> Vec<Item> {
    let content = vec![Content::Text(text.into())];
    model.command(Command::StartTurn(Box::new(StartTurn { content, attachments, ..StartTurn::default() })));
    let items = sent(&model.bench);
    model.answers(&[]);
    items
}

#[test]
fn attachment_is_sent_once_with_the_next_request() {
    let mut model = drive::model(Driver::Sidecar);
    let first = says(&mut model, "one", vec![]);
    model.input(Input::Attach(vec![notice("AGENTS.md", "old"), notice("date", "Monday")]));
    model.input(Input::Attach(vec![notice("AGENTS.md", "new")]));
    model.another_process(true);
    let second = says(&mut model, "two", vec![notice("openFiles", "a.rs")]);
    let told = vec!["AGENTS.md=new".to_owned(), "date=Monday".to_owned(), "openFiles=a.rs".to_owned()];
    assert_eq!(attached(&first), [Vec::<String>::new()]);
    assert_eq!(attached(&second), [vec![], told.clone()]);
    // The user's words come first, as a part of their own.
    let words = second.iter().rfind(|item| item.role.name() == "user").map(|item| item.parts[0].clone());
    assert_eq!(words, Some(ItemPart::text("two")));
    model.another_process(true);
    let third = says(&mut model, "three", vec![]);
    assert_eq!(attached(&third), [vec![], told, vec![]]);
    assert_eq!(first[..], second[..first.len()]);
    assert_eq!(second[..], third[..second.len()]);
}

/// An editor sends volatile context with each render. A request keeps the context of its first one.
#[test]
fn known_request_keeps_its_attachments_and_changed_ones_wait() {
    let mut model = drive::model(Driver::Editor);
    let render = |model: &mut Model, id: &str, text: &str| {
        let request = NewMessage { external_id: Some(id.into()), ..NewMessage::user(id) };
        let turn = HistoryTurn {
            external_id: Some(id.into()),
            detailed: false,
            messages: vec![request],
            metadata: Vec::new(),
        };
        let attachments = vec![notice("openFiles", text)];
        let render = Render { current: Some(turn), attachments, ..Render::default() };
        match model.command(Command::Render(Box::new(render))) {
            Some(Ok(Answer::Rendered(rendered))) => rendered.prompt.items,
            other => panic!("a prompt: {other:?}"),
        }
    };
    let first = render(&mut model, "e1", "a.rs");
    assert_eq!(attached(&first), [["openFiles=a.rs".to_owned()]]);
    assert_eq!(render(&mut model, "e1", "a.rs"), first);
    assert_eq!(render(&mut model, "e1", "b.rs"), first, "it was in a prompt as it is");
    assert_eq!(render(&mut model, "e1", "b.rs"), first);
    model.another_process(true);
    assert_eq!(render(&mut model, "e1", "b.rs"), first);
    let waits = &model.bench.session.head().carried.attachments;
    assert_eq!(waits.all(), [notice("openFiles", "b.rs")]);
    let next = render(&mut model, "e2", "c.rs");
    assert_eq!(attached(&next).last(), Some(&vec!["openFiles=c.rs".to_owned()]));
    assert_eq!(first[..], next[..first.len()]);
}

/// The attachments of a request stay with it when it is edited or retried.
#[test]
fn edits_and_retries_keep_attachments() {
    let mut model = drive::model(Driver::Sidecar);
    says(&mut model, "one", vec![notice("date", "Monday")]);
    let at = At::Index(0);
    let content = vec![Content::Text("other".into())];
    model.command(Command::Update { message: at.clone(), content, regenerate: true, key: None });
    assert_eq!(attached(&sent(&model.bench)), [["date=Monday".to_owned()]]);
    model.answers(&[]);
    model.command(Command::Retry { from: at, content: None, key: None });
    assert_eq!(attached(&sent(&model.bench)), [["date=Monday".to_owned()]]);
}
