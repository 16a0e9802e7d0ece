//! Definitions of the tools, and the results of calls.

use super::*;
use engine::compact::known_tools::Kinds;
use engine::compact::ledger::ledger;
use engine::compact::record::Span;
use engine::id::{Ordinal, SessionId};
use engine::message::{Body, NewMessage, ToolCall};
use engine::scope::{Todo, TodoStatus};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;

fn todo(content: &str, status: TodoStatus) -> Todo {
    Todo { content: content.into(), status, ..Todo::default() }
}

fn run(tool: OwnTool, arguments: &str, page: usize) -> Ran {
    let mut scope = Scope::default();
    let todos = Some(vec![todo("stands", TodoStatus::Pending)]);
    scope.apply(ScopePatch { todos, ..ScopePatch::default() });
    let recall = |reference: &str| (reference == "call_1").then(|| "aé漢🙂".repeat(4_000));
    tool.run(arguments, Context { scope: &scope, recall: &recall, found: None, page })
}

fn texts(ran: &Ran) -> Vec<String> {
    ran.result.content.iter().filter_map(Content::text).map(|text| text.to_string()).collect()
}

#[test]
fn every_tool_is_found_by_name_and_has_a_schema() {
    for tool in OwnTool::ALL {
        let definition = tool.definition();
        assert_eq!(OwnTool::named(&definition.name), Some(tool));
        let required = definition.input_schema["required"].as_array().unwrap();
        let properties = definition.input_schema["properties"].as_object().unwrap();
        assert!(required.iter().all(|name| properties.contains_key(name.as_str().unwrap())));
        assert!(!definition.description.is_empty());
    }
    assert!(OwnTool::ALL.is_sorted_by_key(|tool| tool.name()));
    assert_eq!(OwnTool::named("bash"), None);
    let ends = |tool: OwnTool| tool.definition().ends_turn;
    assert_eq!(ends(OwnTool::TaskDone), Some(EndsTurn::Completed));
    assert_eq!(ends(OwnTool::AgentFinish), Some(EndsTurn::Completed));
    assert_eq!(ends(OwnTool::AskQuestions), Some(EndsTurn::WaitingUserInput));
    assert_eq!(ends(OwnTool::WaitAgents), None, "the turn goes on with the agents' answers");
    assert_eq!((ends(OwnTool::Todo), ends(OwnTool::Recall)), (None, None));
}

#[test]
fn todos_are_replaced_whole_and_returned() {
    let arguments = r#"{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"inProgress"},{"content":"three","status":"pending"}]}"#;
    let ran = run(OwnTool::Todo, arguments, 9);
    assert_eq!(
        texts(&ran),
        ["1 of 3 todos completed\n2. one (completed)\n3. two (inProgress)\n4. three (pending)"],
        "no number comes to mean another todo"
    );
    let todos = ran.patch.clone().and_then(|patch| patch.todos).unwrap();
    assert_eq!((todos.len(), todos[1].clone()), (3, todo("two", TodoStatus::InProgress)));
    assert!(!ran.result.is_error);
    let empty = run(OwnTool::Todo, r#"{"todos":[]}"#, 9);
    assert_eq!(empty.patch.and_then(|patch| patch.todos), Some(Vec::new()));
}

#[test]
fn single_todos_are_read_and_changed_by_id() {
    let one = "0 of 1 todos completed\n1. stands (pending)";
    for nothing in ["", "{}"] {
        let ran = run(OwnTool::Todo, nothing, 9);
        assert_eq!((texts(&ran), ran.patch), (vec![one.to_owned()], None));
    }
    let ran = run(OwnTool::Todo, r#"{"add":["more"],"update":[{"id":1,"status":"completed"}]}"#, 9);
    assert_eq!(texts(&ran), ["1 of 2 todos completed\n1. stands (completed)\n2. more (pending)"]);
    let patch = ran.patch.unwrap();
    assert_eq!(patch.todos, None, "the rest of the list is not part of the change");
    assert_eq!(patch.todo_change.unwrap().add, ["more"]);
    let ran = run(OwnTool::Todo, r#"{"remove":[1]}"#, 9);
    assert_eq!(texts(&ran), ["0 of 0 todos completed"]);
}

#[test]
fn scope_is_read_whole() {
    let ran = run(OwnTool::ReadScope, "", 9);
    assert_eq!(texts(&ran), ["Todos: 0 of 1 todos completed\n1. stands (pending)"]);
}

#[test]
fn delegations_are_read_and_refused_with_the_expected_form() {
    let start = |arguments: &str| OwnTool::StartAgent.delegates(arguments).unwrap();
    let read = start(r#"{"task":"lex it","name":"Lexer","tools":["read"]}"#);
    let tools = Some(vec!["read".to_owned()]);
    let expected =
        StartAgent { task: "lex it".into(), name: Some("Lexer".into()), model: None, preset: None, tools };
    assert_eq!(read, Ok(Delegation::Start(expected)));
    for wrong in
        ["", r#"{"task":" "}"#, r#"{"task":"a","name":""}"#, r#"{"task":"a","model":"m","preset":"p"}"#]
    {
        assert!(start(wrong).unwrap_err().contains("; expected {\"task\""), "{wrong}");
    }
    let wait = |arguments: &str| OwnTool::WaitAgents.delegates(arguments).unwrap();
    assert_eq!(wait(""), Ok(Delegation::Wait(WaitAgents { agents: None })));
    assert_eq!(
        wait(r#"{"agents":["a"]}"#),
        Ok(Delegation::Wait(WaitAgents { agents: Some(vec!["a".into()]) }))
    );
    assert!(wait(r#"{"agents":[]}"#).unwrap_err().contains("; expected {\"agents\""));
    assert!(OwnTool::Todo.delegates("{}").is_none());
}

#[test]
fn invalid_arguments_are_answered_with_the_expected_form() {
    let todo = |status: &str, content: &str| {
        format!(r#"{{"todos":[{{"content":"{content}","status":"{status}"}}]}}"#)
    };
    for (tool, arguments) in [
        (OwnTool::Todo, "{".to_owned()),
        (OwnTool::Todo, r#"{"update":[{"id":7,"status":"completed"}]}"#.to_owned()),
        (OwnTool::Todo, r#"{"todos":[],"add":["one"]}"#.to_owned()),
        (OwnTool::Todo, r#"{"add":[""]}"#.to_owned()),
        (OwnTool::Todo, "[]".to_owned()),
        (OwnTool::Todo, todo("almost", "one")),
        (OwnTool::Todo, todo("pending", " ")),
        (OwnTool::Recall, r#"{"offset":1}"#.to_owned()),
        (OwnTool::Recall, r#"{"ref":"call_1","offset":-1}"#.to_owned()),
        (OwnTool::Recall, r#"{"ref":"call_2"}"#.to_owned()),
        (OwnTool::AskQuestions, "{}".to_owned()),
        (OwnTool::AskQuestions, r#"{"questions":[]}"#.to_owned()),
        (OwnTool::TaskDone, r#"{"summary":7}"#.to_owned()),
    ] {
        let ran = run(tool, &arguments, 9);
        assert!(ran.result.is_error, "{tool:?} {arguments}");
        assert!(texts(&ran)[0].contains("; expected {"), "{:?}", texts(&ran));
        assert_eq!((&ran.patch, &ran.question), (&None, &None));
        if tool == OwnTool::Todo {
            assert!(texts(&ran)[0].contains("1. stands (pending)"));
        }
    }
}

#[test]
fn recall_pages_through_all_bytes_by_offset() {
    for (page, least) in [(usize::MAX, 2), (7, 2_000), (0, 16_000)] {
        let (mut offset, mut whole, mut pages) = (0, String::new(), 0);
        loop {
            let ran = run(OwnTool::Recall, &format!(r#"{{"ref":"call_1","offset":{offset}}}"#), page);
            let [text, note] = &texts(&ran)[..] else { panic!("a text and a note") };
            assert!(text.chars().count() <= 8_000.min(page.max(1)));
            whole.push_str(text);
            pages += 1;
            match note.split_once("continues at offset ") {
                Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
                None => break assert!(note.ends_with("of 40000; end of the message]"), "{note}"),
            }
        }
        assert!(pages >= least, "{pages}");
        assert_eq!(whole, "aé漢🙂".repeat(4_000));
    }
    let inside = run(OwnTool::Recall, r#"{"ref":"call_1","offset":5}"#, 1);
    assert_eq!(texts(&inside), ["漢", "[bytes 3 to 6 of 40000; continues at offset 6]"]);
}

#[test]
fn recall_by_words_pages_through_all_hits() {
    let mut transcript = Transcript::new(SessionId::new("s"));
    for n in 0..30 {
        transcript.append(NewMessage::user(&format!("{n}: NEEDLE {}", "x".repeat(300))), &QuarterOfChars);
    }
    let messages = || transcript.messages().iter().rev().map(|message| &**message);
    let (mut arguments, mut seen) = (r#"{"query":"needle"}"#.to_owned(), Vec::new());
    for pages in 0.. {
        assert!(pages < 30);
        let query = OwnTool::Recall.looks_for(&arguments).unwrap();
        assert!(!query.hidden, "hidden messages are not searched");
        let found = engine::search::find(messages(), &query);
        let recall = |_: &str| None;
        let context = Context { scope: &Scope::default(), recall: &recall, found: Some(&found), page: 1_000 };
        let ran = OwnTool::Recall.run(&arguments, context);
        let [shown, note] = texts(&ran).try_into().unwrap();
        assert!(shown.chars().count() <= 1_000 && shown.contains("NEEDLE"), "{shown}");
        seen.extend(shown.lines().filter(|line| line.starts_with("[ref ")).map(str::to_owned));
        match note.strip_prefix("[more results: repeat the query with skip ") {
            Some(skip) => {
                arguments = format!(r#"{{"query":"needle","skip":{}}}"#, skip.trim_end_matches(']'));
            }
            None => {
                assert_eq!(note, "[no more results]");
                break;
            }
        }
    }
    assert_eq!(seen.len(), 30);
    assert!(seen[0].starts_with("[ref s/m29, user, 311 bytes, from byte 0]"), "{}", seen[0]);
    let none = SearchPage::default();
    let recall = |_: &str| None;
    let context = Context { scope: &Scope::default(), recall: &recall, found: Some(&none), page: 9 };
    let ran = OwnTool::Recall.run(r#"{"query":"\" OR *"}"#, context);
    assert_eq!(texts(&ran), ["[no message contains any of these words: \" OR *]"]);
    for neither in ["{}", r#"{"ref":"call_1","query":"x"}"#] {
        assert_eq!(OwnTool::Recall.looks_for(neither), None);
        assert!(run(OwnTool::Recall, neither, 9).result.is_error);
    }
}

#[test]
fn ending_tools_answer_and_questions_reach_the_user() {
    assert_eq!(texts(&run(OwnTool::TaskDone, "", 1)), ["done"]);
    assert_eq!(texts(&run(OwnTool::AgentFinish, r#"{"summary":"all fixed"}"#, 1)), ["all fixed"]);
    let asked = run(OwnTool::AskQuestions, r#"{"questions":["Which one?","And when?"]}"#, 1);
    assert_eq!(asked.question.as_deref(), Some("Which one?\nAnd when?"));
    assert!(!asked.result.is_error);
}

#[test]
fn ledger_reads_calls_of_the_todo_tool() {
    let mut transcript = Transcript::new(SessionId::new("s"));
    transcript.append(NewMessage::user("go"), &QuarterOfChars);
    let arguments = r#"{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"inProgress"},{"content":"three","status":"pending"}]}"#;
    let call = ToolCall::new("c", OwnTool::Todo.name(), arguments);
    transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
    let result = ToolResult { call: "c".into(), ..run(OwnTool::Todo, arguments, 1).result };
    transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars);
    let all = Span { from: Ordinal(0), to: Ordinal(u32::MAX) };
    for declared in [vec![], vec![OwnTool::Todo.definition()]] {
        let kinds = Kinds { named: &[], declared: &declared };
        let open = [("two", "inProgress"), ("three", "pending")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(ledger(&transcript, all, kinds).todos, open);
    }
}
