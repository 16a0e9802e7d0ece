//! Round trips between wire and engine: nothing is lost that both sides know, and a misplaced part is named.

use crate::convert::{self, ConvertError, Reading};
use engine::compact::metadata::SummaryEntry;
use engine::delta::{Delta, Draft};
use engine::id::{SessionId, Time};
use engine::message::{
    AssistantPart, Beside, Body, Content, Effect, Image, NewMessage, ResourceLink, ToolCall, ToolResult,
    Usage,
};
use engine::prompt::item::{Approval, Tool, ToolKind};
use engine::prompt::request::{Request, StopReason};
use engine::prompt::system::{CallerSection, OnOverflow, Place};
use engine::prompt::{BudgetExceeded, KEEP};
use engine::testing::{SUMMARY, answer_with_data, answered, content_with_data, overflowing};
use engine::tokens::QuarterOfChars;
use engine::transcript::Transcript;
use proptest::prelude::*;
use protocol as wire;
use protocol::error::{ErrorData, ProtocolError};
use protocol::message::{Message, MessageInput, Part};
use protocol::methods::read;
use protocol::model::{DeltaOp, ModelCompleteResult, ModelPurpose};
use protocol::prompt::PromptRole;
use protocol::tool::ToolInvokeResult;
use protocol::turn::Turn;
use serde_json::{Map, Value, json};
use session::history_turn::HistoryTurn;
mod delta;

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        any::<String>().prop_map(|text| Content::Text(text.into())),
        any::<(String, String)>().prop_map(|(a, b)| Content::Image(Image { mime_type: a, data: b.into() })),
        any::<(String, String)>().prop_map(|(uri, b)| Content::Resource { uri, text: b.into() }),
        any::<(String, String, Option<String>, Option<u64>)>().prop_map(|(uri, name, text, size)| {
            let (title, description, mime_type) = (text.clone(), text.clone(), text);
            Content::ResourceLink(ResourceLink { uri, name, title, description, mime_type, size })
        }),
        any::<(String, String)>().prop_map(|(path, b)| Content::ContextFile { path, text: b.into() }),
    ]
}

fn contents() -> impl Strategy<Value = Vec<Content>> {
    let parts = prop::collection::vec((content(), any::<Option<String>>()), 0..3);
    (parts, any::<Option<String>>()).prop_map(|(parts, of_whole)| content_with_data(parts, of_whole))
}

fn call() -> impl Strategy<Value = ToolCall> {
    (".{1,9}", any::<Option<String>>(), any::<String>(), any::<String>()).prop_map(
        |(id, source_id, name, arguments)| ToolCall { source_id, ..ToolCall::new(&id, &name, &arguments) },
    )
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().expect("an object").clone()
}

fn body() -> impl Strategy<Value = Body> {
    let said = prop_oneof![
        any::<String>().prop_map(|text| AssistantPart::Text(text.into())),
        any::<(String, Option<String>)>().prop_map(|(text, signature)| AssistantPart::Reasoning {
            block: signature.as_ref().map(|id| object(&json!({"type": "x", "id": id})).into()),
            text: text.into(),
            signature: signature.map(Into::into)
        }),
        any::<String>().prop_map(|text| AssistantPart::Raw(json!({"type": "made", "of": [text]}).into())),
    ];
    let beside = any::<(Option<String>, Option<u32>)>().prop_map(|(said, tokens)| Beside {
        citations: said.iter().map(|said| json!({"of": said})).collect(),
        usage: tokens.map(|tokens| Usage { input_tokens: Some(tokens), ..Usage::default() }),
        extra: said.iter().map(|said| (said.clone(), json!([1.5, null]))).collect(),
        ..Beside::default()
    });
    let effect = any::<(String, String)>().prop_map(|(path, sha256)| Effect { path, sha256 });
    let effects = prop::collection::vec(effect, 0..2);
    prop_oneof![
        contents().prop_map(Body::User),
        (
            prop::collection::vec(said, 0..3),
            prop::collection::vec(call(), 0..3),
            beside,
            any::<Option<String>>()
        )
            .prop_map(|(parts, calls, beside, text)| answer_with_data(parts, calls, beside, text)),
        (any::<String>(), contents(), any::<bool>(), any::<Option<i32>>(), effects).prop_map(
            |(call, content, is_error, exit_code, effects)| Body::Tool(ToolResult {
                call,
                content,
                is_error,
                exit_code,
                effects,
                verdict: None
            })
        ),
        any::<(String, String)>().prop_map(|(kind, text)| Body::Event { kind, text: text.into() }),
    ]
}

fn new_message() -> impl Strategy<Value = NewMessage> {
    (body(), any::<(Option<String>, bool, Option<String>)>()).prop_map(|(body, rest)| {
        let (external_id, visible_to_model, created_at) = rest;
        NewMessage { body, external_id, visible_to_model, created_at, shown: None }
    })
}

fn tool() -> impl Strategy<Value = Tool> {
    let kinds = [ToolKind::Read, ToolKind::Edit, ToolKind::Delete, ToolKind::Move, ToolKind::Execute];
    let more =
        [ToolKind::Search, ToolKind::Think, ToolKind::Fetch, ToolKind::Todo, ToolKind::Ask, ToolKind::Other];
    let kind = prop::option::of(prop::sample::select([kinds.as_slice(), more.as_slice()].concat()));
    let approval = prop::sample::select(vec![Approval::Allow, Approval::Ask, Approval::Deny]);
    (".{1,9}", any::<(String, Option<String>)>(), kind, approval).prop_map(
        |(name, (description, guidelines), kind, approval)| Tool {
            rules: Vec::new(),
            ends_turn: None,
            name,
            description,
            input_schema: json!({"type": "object", "required": ["b", "a"]}),
            kind,
            guidelines,
            approval,
            origin: None,
        },
    )
}

/// Sends a value through the bytes of the wire.
fn over_the_wire<T: serde::Serialize, U: serde::de::DeserializeOwned>(value: &T) -> U {
    serde_json::from_slice(&serde_json::to_vec(value).expect("it can be written")).expect("it can be read")
}

proptest! {
    #[test]
    fn a_message_comes_back_as_it_was(new in new_message()) {
        let mut transcript = Transcript::new(SessionId::new("s"));
        transcript.append(new.clone(), &QuarterOfChars);
        let kept = &transcript.messages()[0];
        let shown: Message = over_the_wire(&convert::message(kept));
        prop_assert_eq!(&shown, &convert::message(kept));
        let given: MessageInput = over_the_wire(&shown);
        let mut reading = Reading::new();
        let back = reading.message(&given).expect("what we show can be given back");
        // The transcript may have given a call a new id. Weights are not sent: a copy is weighed by itself.
        let back: Vec<NewMessage> = back
            .into_iter()
            .map(|mut message| {
                message.body.weigh_thinking(&QuarterOfChars);
                message
            })
            .collect();
        prop_assert_eq!(back, vec![NewMessage { body: kept.body.clone(), ..new }]);
        prop_assert!(reading.ignored.is_empty());
    }

    #[test]
    fn a_tool_and_a_section_come_back_as_they_were(
        tool in tool(),
        words in any::<(String, u32, Option<u32>)>(),
        name in ".{1,9}",
        place in prop::sample::select(vec![Place::System, Place::Memory]),
        on_overflow in prop::sample::select(vec![OnOverflow::Keep, OnOverflow::Shrink, OnOverflow::Drop]),
    ) {
        let wire = over_the_wire(&convert::tool(&tool));
        prop_assert_eq!(Reading::new().tools(&[wire]), Ok(vec![tool]));
        let (content, priority, max_tokens) = words;
        let section = CallerSection { place, name, content, priority, max_tokens, on_overflow };
        let wire = over_the_wire(&convert::section(&section));
        prop_assert_eq!(Reading::new().sections(&[wire]), Ok(vec![section]));
    }

    #[test]
    fn a_delta_comes_back_as_it_was(text in any::<String>(), id in any::<String>(), calls in prop::collection::vec(call(), 0..3)) {
        let calls = calls.into_iter().map(|call| ToolCall { source_id: None, ..call }).collect();
        for delta in [
            Delta::AppendContent(text.clone()), Delta::AppendReasoning(text.clone()), Delta::SetToolCalls(calls),
            Delta::AppendToolArguments { call: id, text: text.clone() },
            Delta::SetThinkingBlocks(vec![object(&json!({"type": "thinking", "index": 0, "thinking": text}))]),
            Delta::AddCitation(json!({"url": text})), Delta::AddServerContentBlock(json!([text, null])),
            Delta::SetUsage(Usage { output_tokens: Some(7), ..Usage::default() }),
            Delta::MergeExtra(object(&json!({ "a": {text: 1.5} }))),
        ] {
            let op: DeltaOp = over_the_wire(&convert::delta_op(&delta));
            prop_assert_eq!(convert::delta(&op), Some(delta));
        }
    }

    #[test]
    fn a_moment_comes_back_as_it_was(at in 0_u64..=253_402_300_799_999) {
        prop_assert_eq!(convert::moment(&convert::iso(Time(at))), Some(Time(at)));
    }
}

#[test]
fn times_are_iso_8601_up_to_the_largest() {
    assert_eq!(convert::iso(Time(1_767_323_045_678)), "2026-01-02T03:04:05.678Z");
    assert_eq!(convert::iso(Time(u64::MAX)), "9999-12-31T23:59:59.999Z");
    assert_eq!(convert::moment("yesterday"), None);
    assert_eq!(convert::moment("1960-01-01T00:00:00Z"), None);
}

fn history(turns: Value) -> Result<Vec<HistoryTurn>, ConvertError> {
    let turns: Vec<Turn> = serde_json::from_value(turns).expect("turns");
    Reading::new().field("history", |reading| convert::history(reading, &turns))
}

fn entry(round_id: &str, text: &str, own: Option<&str>) -> SummaryEntry {
    SummaryEntry { round_id: round_id.into(), text: text.into(), own: own.map(Into::into), recorded: None }
}

#[test]
fn turn_becomes_messages_with_the_editors_ids() {
    let turns = history(json!([{
        "externalId": "q1", "request": "Fix it.",
        "rounds": [
            {"id": "r1", "assistant": {"parts": [{"type": "toolCall", "id": "c", "name": "read", "arguments": {}}]},
             "results": [{"toolCallId": "c", "content": "text", "exitCode": 1}], "summary": "kept"},
            {"assistant": {"content": "Done.", "externalId": "a2"}}
        ],
        "response": "not read, for there are rounds"
    }]))
    .expect("readable");
    let [turn] = turns.as_slice() else { panic!("{turns:?}") };
    assert!(turn.detailed && turn.external_id.as_deref() == Some("q1"));
    let ids: Vec<Option<&str>> = turn.messages.iter().map(|message| message.external_id.as_deref()).collect();
    assert_eq!(ids, [Some("q1"), Some("r1"), None, Some("a2")]);
    let result = ToolResult { exit_code: Some(1), ..ToolResult::default() };
    let result = ToolResult { call: "c".into(), content: vec![Content::Text("text".into())], ..result };
    assert_eq!(turn.messages[2].body, Body::Tool(result));
    assert_eq!(turn.metadata, [entry("r1", "kept", None)]);
}

#[test]
fn a_turn_without_rounds_is_a_request_and_an_answer() {
    let turns = history(json!([{"request": "Hello.", "response": "Hi."}, {"externalId": "q"}])).unwrap();
    assert_eq!(
        turns[0].messages,
        [NewMessage::user("Hello."), NewMessage::new(Body::assistant("Hi.", vec![]))]
    );
    assert!(!turns[0].detailed && !turns[1].detailed && turns[1].messages.is_empty());
}

#[test]
fn messages_win_over_everything_else() {
    let turns = history(json!([{
        "externalId": "q", "request": "no", "rounds": [{"assistant": {"parts": "no"}}],
        "messages": [
            {"role": "event", "kind": "note", "content": "n", "visibleToModel": false},
            {"role": "user", "content": "yes"},
            {"role": "tool", "externalId": "t", "parts": [
                {"type": "toolResult", "toolCallId": "a", "content": "1"},
                {"type": "toolResult", "toolCallId": "b", "content": "2", "isError": true}
            ]}
        ]
    }]))
    .unwrap();
    let ids: Vec<Option<&str>> =
        turns[0].messages.iter().map(|message| message.external_id.as_deref()).collect();
    assert_eq!(ids, [None, Some("q"), Some("t"), None]);
    assert!(turns[0].detailed && !turns[0].messages[0].visible_to_model);
}

#[test]
fn summaries_come_first_and_markers_of_failure_stay() {
    let with = |metadata: Value| history(json!([{ "metadata": metadata }])).unwrap()[0].metadata.clone();
    let one = json!({"toolCallRoundId": "r", "text": "t", "threadhold": "own"});
    assert_eq!(with(json!({ "summary": one })), [entry("r", "t", Some("own"))]);
    assert_eq!(with(json!({ "summary": one, "summaries": [] })), [entry("r", "t", Some("own"))]);
    let more = json!({"summary": one, "summaries": [{"toolCallRoundId": "q", "text": "u"}, {}, 7]});
    assert_eq!(with(more), [entry("q", "u", None), entry("", "", None), entry("", "", None)]);
    let rounds = json!([{"metadata": {"summary": one}, "rounds": [
        {"id": "r", "assistant": {"parts": ""}, "summary": "shadowed"},
        {"assistant": {"parts": ""}, "summary": "nameless"}
    ]}]);
    let found = history(rounds).unwrap()[0].metadata.clone();
    assert_eq!(found, [entry("r", "t", Some("own")), entry("", "nameless", None)]);
}

#[test]
fn misplaced_part_is_named() {
    let complaint = |turn: Value| history(json!([{}, turn])).unwrap_err().to_string();
    assert_eq!(
        complaint(json!({"request": [{"type": "reasoning", "text": ""}]})),
        "history[1].request[0].type: a part of kind \"reasoning\" is not allowed in the content of a user or a tool"
    );
    assert_eq!(
        complaint(
            json!({"rounds": [{"assistant": {"parts": [{"type": "image", "mimeType": "", "data": ""}]}}]})
        ),
        "history[1].rounds[0].assistant.parts[0].type: a part of kind \"image\" is not allowed in an assistant message"
    );
    assert_eq!(
        complaint(json!({"messages": [{"role": "tool", "parts": "words"}]})),
        "history[1].messages[0].parts[0].type: a part of kind \"text\" is not allowed in a tool message, which holds toolResult parts"
    );
    let error = history(json!([{"request": [{"type": "reasoning", "text": ""}]}])).unwrap_err();
    let ErrorData::InvalidParams { field, .. } = ProtocolError::from(error).data else { panic!("its kind") };
    assert_eq!(field, "history[0].request[0].type");
}

#[test]
fn parts_of_unknown_kinds_are_left_out_and_reported() {
    let turns: Vec<Turn> = serde_json::from_value(json!([{
        "request": [{"type": "hologram"}, {"type": "text", "text": "a"}, {"type": "raw", "wire": {"x": 1}}]
    }]))
    .unwrap();
    let mut reading = Reading::new();
    let read = reading.field("history", |reading| convert::history(reading, &turns)).unwrap();
    assert_eq!(read[0].messages, [NewMessage::user("a")]);
    let said: Vec<&str> = reading.ignored.iter().map(|one| one.message.as_str()).collect();
    let left = "the part was left out";
    assert_eq!(
        said,
        [
            format!("history[0].request[0].type: unknown part kind \"hologram\"; {left}"),
            format!("history[0].request[2].type: a part of kind \"raw\" says nothing here; {left}")
        ]
    );
}

#[test]
fn request_of_unknown_kinds_alone_names_the_first() {
    let content: wire::message::Content =
        serde_json::from_value(json!([{"type": "hologram"}, {"type": "scent"}])).unwrap();
    let error = Reading::new().request(&content, None).unwrap_err();
    assert_eq!(error.to_string(), "content[0].type: unknown part kind \"hologram\"");
    assert_eq!(Reading::new().request(&wire::message::Content(Vec::new()), None), Ok(Vec::new()));
}

#[test]
fn answer_is_completed_by_its_deltas() {
    let mut draft = Draft::default();
    draft.fold(Delta::AppendContent("streamed".into())).unwrap();
    draft.fold(Delta::SetToolCalls(vec![ToolCall::new("d", "read", "{}")])).unwrap();
    draft.fold(Delta::AddCitation(json!("book"))).unwrap();
    draft.fold(Delta::SetUsage(Usage { input_tokens: Some(9), ..Usage::default() })).unwrap();
    let answer = |result: Value| {
        let result: ModelCompleteResult = serde_json::from_value(result).unwrap();
        let answer = convert::answer(&result).unwrap();
        let (stop, text) = (answer.stop, answer.clone().completion(&draft).text);
        let (_, calls, _) = answer.said(&draft);
        let ids: Vec<String> = calls.iter().map(|call| call.id.to_string()).collect();
        (text, ids.join(" "), stop)
    };
    let stated = json!({"content": "whole", "usage": {"inputTokens": 7, "outputTokens": 2}});
    let (_, _, beside) = convert::answer(&serde_json::from_value(stated).unwrap()).unwrap().said(&draft);
    let usage = Usage { input_tokens: Some(9), output_tokens: Some(2), ..Usage::default() };
    assert_eq!(
        (beside.citations, beside.usage),
        (vec![json!("book")], Some(usage)),
        "stated values replace no others"
    );
    assert_eq!(answer(json!({})), ("streamed".into(), "d".into(), StopReason::End));
    assert_eq!(answer(json!({"toolCalls": []})), ("streamed".into(), String::new(), StopReason::End));
    let stated = json!({"content": "whole", "stopReason": "length", "toolCalls": [{"id": "e", "name": "n", "arguments": "{}"}]});
    assert_eq!(answer(stated), ("whole".into(), "e".into(), StopReason::Length));
    let both = json!({
        "content": [{"type": "text", "text": "a"}, {"type": "toolCall", "id": "f", "name": "n", "arguments": "{}"}],
        "toolCalls": [{"id": "f", "name": "n", "arguments": "{}"}, {"id": "g", "name": "n", "arguments": "{}"}]
    });
    assert_eq!(answer(both), ("a".into(), "f g".into(), StopReason::ToolUse));
    let nameless = json!({"toolCalls": [{"id": "", "name": "n", "arguments": "{}"}]});
    let error = convert::answer(&serde_json::from_value(nameless).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "toolCalls[0].id: must not be empty");
}

#[test]
fn tool_answers_now_or_later() {
    let invoked = |result: Value| {
        let result: ToolInvokeResult = read(result).unwrap();
        Reading::new().invoked("c", &result)
    };
    assert!(invoked(json!({"content": "a"})).unwrap().is_some_and(|result| result.call == "c"));
    assert_eq!(invoked(json!({"pending": true})), Ok(None));
    assert_eq!(invoked(json!({})).unwrap_err().field, "content");
}

#[test]
fn nameless_tools_and_sections_are_reported() {
    let tools: Vec<wire::tool::Tool> = read(json!([{"name": "a"}, {"name": "a"}])).unwrap();
    let error = Reading::new().field("tools", |reading| reading.tools(&tools)).unwrap_err();
    assert_eq!(error.to_string(), "tools[1].name: must be unique");
    let sections =
        |name: &str| -> Vec<wire::prompt::Section> { read(json!([{"name": name, "content": "x"}])).unwrap() };
    let error = Reading::new().field("sections", |reading| reading.sections(&sections(""))).unwrap_err();
    assert_eq!(error.to_string(), "sections[0].name: must not be empty");
    assert_eq!(Reading::new().sections(&sections("n")).unwrap()[0].priority, KEEP);
}

#[test]
fn a_prompt_and_its_compaction_are_shown_whole() {
    let mut session = overflowing();
    let record = session.compact(Some(answered(SUMMARY)));
    let prompt = session.render().expect("it fits now");
    let marks = convert::breakpoints(&prompt);
    let messages = convert::prompt_messages(&prompt.items, &marks);
    assert_eq!(messages.len(), prompt.items.len());
    assert_eq!(messages[0].role, PromptRole::System);
    let marked = messages.iter().filter(|message| message.cache_breakpoint == Some(true)).count();
    assert!((1..=4).contains(&marked) && marked == marks.len());
    let results = messages.iter().filter(|message| message.role == PromptRole::Tool);
    assert!(results.into_iter().all(|one| matches!(one.parts.as_slice(), [Part::ToolResult { .. }])));
    let plan = convert::plan(&prompt.plan, true);
    assert_eq!(plan.iter().map(|section| section.tokens).sum::<u32>(), prompt.tokens);
    assert!(convert::plan(&prompt.plan, false).iter().all(|section| !section.cache_breakpoint));
    assert_eq!(plan.last().map(|section| section.messages[1] as usize), Some(messages.len()));

    let view = convert::compaction_view(&session.transcript, &record);
    assert_eq!((view.block.as_str(), view.tokens_after), (&*record.block, record.tokens_after));
    let metadata = view.metadata.expect("it annotates its round");
    assert_eq!((&metadata.tool_call_round_id, &metadata.text), (&view.anchor_round_id, &view.block));
    assert_eq!(view.threadhold, None);
    let ours = engine::compact::metadata::metadata(&session.transcript, &record);
    let turn = convert::turn_metadata(&[ours.clone(), ours]);
    assert_eq!(turn.summaries.as_ref().map(Vec::len), Some(2));
    assert_eq!((turn.summary, turn.threadhold), (Some(metadata), None));
    assert_eq!(convert::turn_metadata(&[]).summaries, None);
}

#[test]
fn request_to_the_clients_model_keeps_tools_and_marks() {
    let session = overflowing();
    let prompt = engine::prompt::draft(session.source(), None);
    let request = Request {
        cache_breakpoints: convert::breakpoints(&prompt),
        items: prompt.items.clone(),
        temperature_zero: true,
        max_output: Some(700),
        ..Request::default()
    };
    let params = convert::complete_params(&request, ModelPurpose::Summary, Some("m"));
    assert_eq!(params.messages, convert::prompt_messages(&prompt.items, &request.cache_breakpoints));
    assert_eq!((params.options.temperature, params.options.max_output_tokens), (Some(0.0), Some(700)));
    let exceeded = session.render().expect_err("it is over its limit");
    let BudgetExceeded { limit, needed, .. } = exceeded;
    let data = serde_json::to_value(ErrorData::from(&exceeded)).unwrap();
    assert_eq!(
        (&data["kind"], &data["limit"], &data["needed"]),
        (&json!("BudgetExceeded"), &json!(limit), &json!(needed))
    );
}
