//! Scenarios of compaction, one session each. Invariants over many sessions are in the modules beside this one.

use crate::compact::compose::Ingredients;
use crate::compact::ladder::{CannotFit, Outcome, Step};
use crate::compact::metadata::{self, Persisted};
use crate::compact::policy::{OFF, Retention, Stage};
use crate::compact::record::{Mode, ModeRequested, Strength};
use crate::compact::slice::slice;
use crate::message::{Body, Content, Image, NewMessage};
use crate::prompt::item::{Channel, Role, Shown};
use crate::prompt::request::{Completion, StopReason, ToolChoice};
use crate::prompt::{self, CutReason};
use crate::testing::{SUMMARY, Session, answered, filler, overflowing};
use crate::tokens::QuarterOfChars;
use expect_test::expect;

#[test]
fn an_overflow_is_a_value_with_limit_needed_and_sections() {
    let session = overflowing();
    let exceeded = session.render().expect_err("over the limit");
    assert_eq!(exceeded.limit, 5760);
    assert!(exceeded.needed > exceeded.limit);
    assert_eq!(exceeded.needed, exceeded.sections.iter().map(|s| s.tokens).sum::<u32>());
    let names: Vec<&str> = exceeded.sections.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["system", "history", "currentMessage", "currentRounds"]);
}

#[test]
fn one_request_is_enough_for_a_compacted_prompt() {
    let mut session = overflowing();
    let mut asked = 0;
    let Step::Accepted(record) = session.descend(Some(&mut |_| {
        asked += 1;
        answered(SUMMARY)
    })) else {
        panic!("accepted")
    };
    assert_eq!((asked, record.mode), (1, Mode::Full));
    session.transcript.record(*record);
    let prompt = session.render().expect("fits");
    expect![[r#"
        3192 of 5760 tokens, 0 tools
          System/system 9 |breakpoint
          History/keptUserMessages 6
          Summary/compaction 1090 |breakpoint
          History/history 41
          Input/currentMessage 9
          Input/currentRounds 2037 |breakpoint
        00 system: You are an agent.
        01 user #0=: Hello.
        02 user: <conversation-summary> Background: what happened earlier in this conversation, condensed. Facts in i…
        03 user #2=: Fix the parser.
        04 assistant #5: →call_5 edit({"path":"src/parser.rs"})
        05 tool #6: done ←call_5
        06 assistant #7: The parser is fixed.
        07 user #8: Use nom, not regex.
        08 assistant #9: →call_9 read({"path":"Cargo.toml"})
        09 tool #10~: Cargo.toml line 0 of some ordinary file content Cargo.toml line 1 of some ordinary file content Carg… ←call_9
        10 assistant #11: →call_11 read({"path":"src/lib.rs"})
        11 tool #12~: src/lib.rs line 0 of some ordinary file content src/lib.rs line 1 of some ordinary file content src/… ←call_11
        12 assistant #13: →call_13 bash({"command":"cargo test"})
        13 tool #14: test output line 0 of some ordinary file content test output line 1 of some ordinary file content te… ←call_13
    "#]]
    .assert_eq(&prompt.to_string());
}

#[test]
fn one_setting_gates_the_whole_mechanism() {
    let mut session = overflowing();
    session.policy = OFF;
    assert_eq!(session.descend(Some(&mut |_| panic!("asked"))), Step::Off);
    assert!(session.render().is_err());
    session.budget.limit = 100_000;
    let prompt = session.render().expect("fits");
    assert_eq!(prompt.items.len(), session.transcript.messages().len() + 1, "every message verbatim");
}

#[test]
fn breakpoints_are_data_of_the_plan_and_at_most_four() {
    let mut session = overflowing();
    session.compact(Some(answered(SUMMARY)));
    let prompt = session.render().expect("fits");
    let marked: Vec<&str> =
        prompt.plan.sections.iter().filter(|s| s.cache_breakpoint).map(|s| s.name.as_str()).collect();
    assert_eq!(marked, ["system", "compaction", "currentRounds"]);
    assert!(marked.len() <= 4);
}

#[test]
fn the_newest_of_two_compactions_hides_the_older_one() {
    let mut session = overflowing();
    let first = session.compact(Some(answered(SUMMARY)));
    session.reads("a.rs", 6000).reads("b.rs", 6000).reads("c.rs", 6000);
    let second = session.compact(Some(answered(&SUMMARY.replace("half done", "nearly done"))));
    assert_eq!(second.previous, Some(first.id.clone()));
    let prompt = session.render().expect("fits");
    let blocks: Vec<_> =
        prompt.items.iter().filter(|item| item.texts().any(|t| t.contains("## Goal"))).collect();
    assert_eq!(blocks.len(), 1);
    assert!(blocks[0].texts().any(|text| text.contains("nearly done")));
    let anchored = session.transcript.rounds().iter().find(|round| round.id == second.anchor.round_id);
    let anchored = anchored.expect("the round");
    let summaries = metadata::round_summaries(&session.transcript);
    assert_eq!(summaries.get(&anchored.assistant), Some(&&*second.block));
}

#[test]
fn the_plan_says_what_would_go_first() {
    let mut session = overflowing();
    session.compact(Some(answered(SUMMARY)));
    session.says("Tests pass.").user("Thanks. And now?");
    let prompt = session.render().expect("fits");
    let order: Vec<&str> = prompt.plan.first_to_go().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(order, ["history", "compaction", "keptUserMessages"]);
}

#[test]
fn too_large_summary_falls_to_the_next_rung() {
    let session = overflowing();
    let large = SUMMARY.replace("half done", &filler("words", 20_000));
    let Step::Accepted(record) = session.descend(Some(&mut |_| answered(&large))) else { panic!("accepted") };
    assert_eq!(record.mode, Mode::Ledger);
    let reasons: Vec<&str> = record.fallbacks.iter().map(|f| f.reason.as_str()).collect();
    assert!(reasons.iter().all(|reason| reason.starts_with("Summary too large")), "{reasons:?}");
    assert_eq!(record.fallbacks.iter().map(|f| f.mode).collect::<Vec<_>>(), [Mode::Full, Mode::Simple]);
}

#[test]
fn metadata_names_round_and_text_and_restores_the_record() {
    let mut session = overflowing();
    let record = session.compact(Some(answered(SUMMARY)));
    let Persisted::Summary(metadata) = metadata::metadata(&session.transcript, &record) else {
        panic!("it annotates its round")
    };
    assert_eq!(metadata.tool_call_round_id, record.anchor.round_id);
    assert_eq!(metadata.text, &*record.block);
    let wire = serde_json::to_value(&metadata).expect("json");
    let keys: Vec<&String> = wire.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["toolCallRoundId", "text", "threadhold"]);
    assert!(wire["threadhold"].is_string(), "one string, so that no editor rewrites its keys");
    let back: metadata::SummaryMetadata = serde_json::from_value(wire).expect("metadata");
    assert_eq!(metadata::own_part(&back.threadhold, &back.text).expect("a record").record, record);
}

#[test]
fn truncated_summary_input_is_recorded() {
    let mut session = overflowing();
    session.policy.summary_mode = ModeRequested::Simple;
    let mut seen = String::new();
    let step = session.descend(Some(&mut |ask| {
        assert_eq!(ask.mode, Mode::Simple);
        seen.extend(ask.request.items[0].texts().map(|text| text.to_string()));
        answered(SUMMARY)
    }));
    let Step::Accepted(record) = step else { panic!("accepted") };
    assert!(record.input_truncated);
    assert!(seen.contains("bytes left out"), "the cut is marked");
    // Head and tail of a long result stay, and so do the calls and answers after it.
    for (start, end) in
        [("src/parser.rs line 0 ", "src/parser.rs line 12"), ("Cargo.toml line 0 ", "Cargo.toml line 11")]
    {
        assert!(seen.contains(start) && seen.contains(end), "{start} … {end}");
    }
    assert!(seen.contains("[calls edit") && seen.contains("The parser is fixed."), "{seen}");
    assert!(seen.contains("Use nom, not regex."));
}

#[test]
fn a_request_with_a_picture_goes_through_the_same_plan() {
    let names = |with_picture: bool| {
        let mut session = overflowing();
        session.says("So far.");
        let mut content = vec![Content::Text("And this one?".into())];
        content.extend(
            with_picture
                .then(|| Content::Image(Image { mime_type: "image/png".into(), data: "AAAA".into() })),
        );
        session.transcript.append_turn(NewMessage::new(Body::User(content)), &QuarterOfChars);
        session.compact(Some(answered(SUMMARY)));
        let prompt = session.render().expect("fits");
        assert_eq!(prompt.items.last().map(|item| item.parts.len()), Some(1 + usize::from(with_picture)));
        prompt.plan.sections.iter().map(|section| section.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(true), names(false));
}

#[test]
fn the_newest_round_is_untouched() {
    let mut session = overflowing();
    let before = prompt::draft(session.source(), None);
    session.compact(Some(answered(SUMMARY)));
    let after = session.render().expect("fits");
    assert_eq!(
        before.items.iter().rev().take(2).collect::<Vec<_>>(),
        after.items.iter().rev().take(2).collect::<Vec<_>>()
    );
}

#[test]
fn only_the_last_user_turns_stay_whole() {
    for keep in 1..6 {
        let mut session = Session::new(8000);
        session.policy.limit_history = Stage::Off;
        session.policy.retention = Retention::UserTurns(keep);
        for turn in 0..8 {
            session.user(&format!("request {turn}")).reads(&format!("{turn}.rs"), 3500).says("done");
        }
        session.budget.limit = session.inputs().tokens_before - 1;
        let record = session.compact(None);
        let prompt = session.render().expect("fits");
        let cut = session.transcript.turns()[8 - keep].first;
        assert_eq!(record.resume_at(), cut, "cut at the Nth-from-last user message");
        for item in prompt.items.iter().filter(|item| !item.sources.is_empty()) {
            let source = item.sources[0];
            assert_eq!(source.shown == Shown::Raw, source.ord >= cut, "{item}");
            assert!(source.ord >= cut || item.role == Role::User, "only user words stay from before: {item}");
        }
        let raw_turns = prompt
            .items
            .iter()
            .filter(|i| i.role == Role::User && i.sources.iter().any(|s| s.shown == Shown::Raw));
        assert_eq!(raw_turns.count(), keep);
    }
}

#[test]
fn a_failed_summary_leaves_the_old_one_as_it_was() {
    let mut session = overflowing();
    let first = session.compact(Some(answered(SUMMARY)));
    session.reads("a.rs", 6000).reads("b.rs", 6000).reads("c.rs", 6000);
    let failing = [
        Outcome::Failed("overloaded".into()),
        Outcome::Deadline,
        answered(""),
        answered("<summary>\n## Goal\n## State\n</summary>"),
        Outcome::Answered(Completion {
            text: SUMMARY.into(),
            calls: 0,
            stop: StopReason::Length,
            output_tokens: None,
        }),
        Outcome::Answered(Completion {
            text: SUMMARY.into(),
            calls: 1,
            stop: StopReason::End,
            output_tokens: None,
        }),
    ];
    for outcome in failing {
        let Step::Accepted(record) = session.descend(Some(&mut |_| outcome.clone())) else {
            panic!("accepted")
        };
        assert_eq!(record.mode, Mode::Ledger, "{outcome:?}");
        assert_eq!(session.transcript.compactions(), std::slice::from_ref(&first), "{outcome:?}");
        assert_eq!(record.fallbacks.len(), 2, "full and simple both failed: {:?}", record.fallbacks);
    }
}

#[test]
fn the_estimate_counts_the_summary() {
    let mut session = overflowing();
    let record = session.compact(Some(answered(SUMMARY)));
    let prompt = session.render().expect("fits");
    assert_eq!(prompt.tokens, prompt.plan.sections.iter().map(|s| s.tokens).sum::<u32>());
    assert_eq!(prompt.plan.tokens_of("compaction"), record.block_tokens);
    let items: u32 = prompt.items.iter().map(|item| item.tokens).sum();
    assert_eq!(prompt.tokens, items + session.fixed.tool_tokens());
}

#[test]
fn repeated_file_is_one_copy_and_one_ledger_line() {
    let mut session = Session::new(8000);
    session.user("Look.");
    for _ in 0..3 {
        session.reads("same.rs", 7000);
    }
    session.says("Seen.").user("Go on.");
    session.budget.limit = session.inputs().tokens_before - 1;
    let record = session.compact(None);
    assert_eq!((record.mode, record.strength), (Mode::LimitHistory, Strength::Low));
    let prompt = session.render().expect("fits");
    let copies = prompt.items.iter().filter(|item| item.texts().any(|text| text.contains("same.rs line 3 ")));
    assert_eq!(copies.count(), 1);
    let folded: Vec<_> = prompt.cuts.iter().filter(|cut| cut.reason == CutReason::Repeated).collect();
    assert_eq!(folded.len(), 2);
}

#[test]
fn repeated_context_file_is_folded_beside_its_words() {
    let mut session = Session::new(8000);
    let with_file = |words: &str, seed: &str, bytes: usize| {
        let file = Content::ContextFile { path: "a.rs".into(), text: filler(seed, bytes).into() };
        NewMessage::new(Body::User(vec![Content::Text(words.into()), file]))
    };
    session.transcript.append(with_file("first words", "a.rs", 7000), &QuarterOfChars);
    session.says("Yes.");
    // Shown whole again below, because it was another one meanwhile.
    session.transcript.append(with_file("other words", "b.rs", 400), &QuarterOfChars);
    session.says("Yes.");
    session.transcript.append(with_file("second words", "a.rs", 7000), &QuarterOfChars);
    session.budget.limit = session.inputs().tokens_before - 1;
    let record = session.compact(None);
    assert_eq!((record.mode, record.strength), (Mode::LimitHistory, Strength::Low));
    let prompt = session.render().expect("fits");
    let texts: Vec<String> = prompt.items.iter().flat_map(|i| i.texts()).map(|t| t.to_string()).collect();
    assert!(texts.contains(&"first words".to_owned()) && texts.contains(&"second words".to_owned()));
    assert_eq!(texts.iter().filter(|text| text.contains("a.rs line 3 ")).count(), 1);
}

#[test]
fn long_result_shows_head_and_tail_and_lists_the_cut() {
    let mut session = Session::new(8000);
    session.policy.limit_history = Stage::ShortenResults;
    session.user("Look.").reads("long.rs", 16_000).reads("short.rs", 300).says("Seen.").user("Go on.");
    session.budget.limit = session.inputs().tokens_before - 1;
    let record = session.compact(None);
    assert_eq!((record.mode, record.strength), (Mode::LimitHistory, Strength::Medium));
    let prompt = session.render().expect("fits");
    let shown = prompt
        .items
        .iter()
        .find(|i| i.sources.iter().any(|s| s.shown == Shown::Shortened))
        .expect("shortened");
    let text = shown.texts().next().expect("text");
    let whole = filler("long.rs", 16_000);
    let (first, rest) = text.split_once("\n[… ").expect("the cut is marked");
    let (_, last) = rest.split_once("…]\n").expect("the cut is marked");
    assert!(whole.starts_with(first) && whole.ends_with(last) && !last.is_empty());
    let cut = prompt.cuts.iter().find(|cut| cut.reason == CutReason::Shortened).expect("listed");
    assert_eq!((cut.original_bytes, cut.kept_bytes), (16_000, text.len()));
}

#[test]
fn unanswered_calls_and_stray_results_are_mended_and_reported() {
    let mut session = Session::new(8000);
    let call = crate::message::ToolCall::new("c1", "bash", "{}");
    session.user("Run.");
    session.transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
    session.transcript.append(NewMessage::new(Body::result("nobody", "lost")), &QuarterOfChars);
    session.user("And?");
    let prompt = session.render().expect("fits");
    assert_eq!(prompt::linearize::pair_faults(&prompt.items), []);
    let reasons: Vec<CutReason> = prompt.cuts.iter().map(|cut| cut.reason).collect();
    assert_eq!(reasons, [CutReason::UnansweredCall, CutReason::StrayResult]);
}

#[test]
fn limiter_drops_whole_rounds_last_and_reports_them() {
    let mut session = Session::new(8000);
    session.policy.limit_history = Stage::LimitHistory;
    session.user("Write.");
    session.calls("TodoWrite", r#"{"todos":[{"content":"Mend it","status":"pending"}]}"#, "kept");
    for n in 0..40 {
        session.calls("write", &format!(r#"{{"path":"{n}","text":"{}"}}"#, filler("x", 600)), "ok");
    }
    let slice = slice(session.source(), &session.policy).expect("a slice");
    let target = session.inputs().target(slice, &Ingredients::default());
    let record = session.compact(None);
    assert_eq!((record.mode, record.strength), (Mode::LimitHistory, Strength::High));
    // The dropped rounds leave a ledger, open todos first.
    let ledger = "# Open todos\n- Mend it (pending)\n# Calls whose arguments could not be read\n- write";
    assert!(record.block.contains(ledger), "{}", record.block);
    assert!(record.tokens_after <= target, "{} of {target}", record.tokens_after);
    let prompt = session.render().expect("fits");
    assert!(prompt.cuts.iter().any(|cut| cut.reason == CutReason::Dropped));
    assert!(prompt.items.iter().any(|item| item.sources.iter().any(|s| s.shown == Shown::Kept)));
}

#[test]
fn a_large_newest_round_counts_against_the_target() {
    let target = |bytes| {
        let mut session = Session::new(32_000);
        session.user("Read all.");
        for n in 0..40 {
            session.calls("read", &format!(r#"{{"path":"{n}"}}"#), &filler("x", 3000));
        }
        session.calls("read", r#"{"path":"last"}"#, &filler("y", bytes));
        let slice = slice(session.source(), &session.policy).expect("a slice");
        session.inputs().target(slice, &Ingredients::default())
    };
    let [small, large, larger] = [400, 8000, 40_000].map(target);
    assert_eq!(small, large);
    // A block and a tail keep most of their space.
    assert!(larger > large, "{larger} of {large}");
}

#[test]
fn a_full_request_extends_the_live_prefix_and_forbids_tools() {
    let session = overflowing();
    let live = prompt::draft(session.source(), None);
    session.descend(Some(&mut |ask| {
        let (instruction, rest) = ask.request.items.split_last().expect("items");
        assert_eq!(rest, &live.items[..rest.len()]);
        assert_eq!(instruction.role, Role::User);
        assert_eq!((ask.request.tool_choice, ask.request.temperature_zero), (ToolChoice::None, true));
        answered(SUMMARY)
    }));
}

#[test]
fn what_cannot_fit_is_named_with_its_size() {
    let mut session = Session::new(4000);
    session.user(&filler("a very long request", 40_000));
    let step = session.descend(None);
    let Step::CannotFit(CannotFit { window, current_message, needed, limit, .. }) = step else {
        panic!("{step:?}")
    };
    assert_eq!(window, 4000);
    assert!(current_message > 9000 && needed > limit);
}

#[test]
fn a_summary_for_a_source_that_changed_meanwhile_is_discarded() {
    let session = overflowing();
    let Step::Ask(ask) = crate::compact::ladder::start(session.inputs(), true) else { panic!("asks") };
    let mut other = overflowing();
    other.transcript = crate::transcript::Transcript::new(session.transcript.session().clone());
    other.user("Something else.").reads("x", 9000).reads("y", 9000).reads("z", 9000);
    other.reads("x", 9000).reads("y", 9000).reads("z", 9000);
    assert_eq!(ask.waiting.answer(other.inputs(), "test", answered(SUMMARY)), Step::Stale);
}

#[test]
fn the_current_request_stands_last_in_its_channel_and_once() {
    let mut session = overflowing();
    session.compact(Some(answered(SUMMARY)));
    session.says("Done.").user("Use nom, not regex.");
    let prompt = session.render().expect("fits");
    let input: Vec<_> = prompt.plan.sections.iter().filter(|s| s.channel == Channel::Input).collect();
    assert_eq!(input.len(), 1);
    assert_eq!(
        prompt.items.last().map(|i| i.sources[0].ord),
        session.transcript.messages().last().map(|m| m.ord)
    );
}
