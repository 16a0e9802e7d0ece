//! The built-in policies on one session: a golden prompt each, and invariants of every retention and placement.

use crate::compact::compose::{Ingredients, Inputs};
use crate::compact::ladder::{self, Step};
use crate::compact::placing;
use crate::compact::plan::Aim;
use crate::compact::policy::presets::{ALL, DEFAULT, LAST_MESSAGES, LAST_TURNS, ROUNDS, SYSTEM_TAIL};
use crate::compact::policy::{Policy, Retention, Stage};
use crate::compact::record::{Compaction, Mode, ModeRequested, Placement, Trigger};
use crate::compact::slice::slice;
use crate::compact::trigger;
use crate::id::{Ordinal, SessionId};
use crate::message::{Body, NewMessage, ToolCall};
use crate::prompt::coverage::coverage;
use crate::prompt::item::{Approval, Channel, Item, Role, Shown, Tool};
use crate::prompt::linearize::{join_neighbours, pair_faults};
use crate::prompt::order::SystemText;
use crate::prompt::system::{CallerSection, Fixed, OnOverflow, Place};
use crate::prompt::{self, KEEP, Prompt};
use crate::testing::{SUMMARY, Session, answered, filler, overflowing};
use crate::tokens::QuarterOfChars;
use crate::transcript::Transcript;
use expect_test::expect_file;
use std::sync::Arc;

const PLACEMENTS: [Placement; 3] =
    [Placement::UserAtBoundary, Placement::SystemMessage, Placement::SystemPromptTail];

fn tool(name: &str, guidelines: &str) -> Tool {
    Tool {
        name: name.into(),
        description: format!("What {name} does."),
        input_schema: serde_json::json!({ "type": "object", "title": "only_in_the_schema" }),
        kind: None,
        guidelines: Some(guidelines.into()),
        approval: Approval::Allow,
        rules: Vec::new(),
        ends_turn: None,
        origin: None,
    }
}

/// Fixed parts with every named section, a section of the caller in each channel, and two tools.
fn fixed(policy: &Policy) -> Fixed {
    let text = SystemText {
        system: None,
        identity: Some("You are an agent in an editor.".into()),
        role: Some("You review parsers.".into()),
        iteration_budget: Some(25),
        tool_rules: Some("Read before you write.".into()),
        toolkit_hints: Some("A debugger is there for the asking.".into()),
        project: Some("The project is /code/parser.".into()),
        instruction_files: Some("AGENTS.md: no regex.".into()),
        core_memories: Some("The user likes short answers.".into()),
        key_reminder: Some("Never push by yourself.".into()),
    };
    let section = |place, name: &str| CallerSection {
        place,
        name: name.into(),
        content: format!("The caller says {name}."),
        priority: 90,
        max_tokens: None,
        on_overflow: OnOverflow::Keep,
    };
    let sections = [section(Place::System, "style"), section(Place::Memory, "glossary")];
    let tools = vec![tool("read", "Read whole files."), tool("bash", "Quote every path.")];
    Fixed::new(&text, &policy.order, &sections, tools, &QuarterOfChars)
}

fn under(policy: Policy) -> Session {
    let mut session = Session::new(8000);
    session.fixed = fixed(&policy);
    session.policy = policy;
    session
}

/// A session of two dozen turns, over the limit.
fn long(policy: Policy) -> Session {
    let mut session = under(policy);
    for turn in 0..24 {
        session.user(&format!("Look at file {turn}.")).reads(&format!("src/{turn}.rs"), 900);
        session.says(&format!("File {turn} is fine."));
    }
    session.user("And now sum it up.");
    session
}

/// Compares sections, order, headings, placement and kept messages. A policy that compacts nothing shows all messages.
#[test]
fn every_preset_has_its_prompt() {
    for preset in ALL {
        let mut session = long(preset.policy.clone());
        let made = match session.descend(Some(&mut |_| answered(SUMMARY))) {
            Step::Accepted(record) => {
                session.transcript.record((*record).clone());
                let span = record.covers.or(record.dropped).map(|span| (span.from.0, span.to.0));
                format!(
                    "{:?}, strength {:?}, stands for {span:?}, {:?}",
                    record.mode, record.strength, record.placement
                )
            }
            Step::Off => "no compaction".to_owned(),
            other => panic!("{}: {other:?}", preset.policy.name),
        };
        let prompt = prompt::draft(session.source(), session.transcript.in_force());
        let to_go: Vec<&str> = prompt.plan.first_to_go().iter().map(|section| &*section.name).collect();
        let system = prompt.items[0].texts().map(|text| format!("| {}\n", text.replace('\n', "\n| ")));
        let golden = format!(
            "{}: {made}\nwould go first: {}\n{}\n{prompt}",
            preset.policy.name,
            to_go.join(", "),
            system.collect::<String>(),
        );
        let file = format!("../../../../../fixtures/prompts/{}.txt", preset.policy.name);
        expect_file![file].assert_eq(&golden);
    }
}

#[test]
fn plan_names_a_channel_for_each_section() {
    let mut session = long(DEFAULT);
    session.compact(Some(answered(SUMMARY)));
    let mut policy = session.policy.clone();
    policy.limit_history = Stage::Off;
    session.policy = policy;
    for turn in 24..40 {
        session.user(&format!("Look at file {turn}.")).reads(&format!("src/{turn}.rs"), 900);
    }
    session.compact(Some(answered(SUMMARY)));
    let prompt = session.render().expect("fits");
    let channels: std::collections::BTreeSet<Channel> =
        prompt.plan.sections.iter().map(|section| section.channel).collect();
    let all = [Channel::System, Channel::Memory, Channel::Summary, Channel::History, Channel::Input];
    assert_eq!(channels.into_iter().collect::<Vec<_>>(), all);
    assert_eq!(prompt.tokens, prompt.plan.sections.iter().map(|section| section.tokens).sum::<u32>());
}

/// Also: guidelines are text and schemas are not; memories are labelled as background, in the channel that the policy
/// sets.
#[test]
fn section_without_content_is_omitted() {
    let bare = Fixed::new(&SystemText::default(), &LAST_TURNS.order, &[], Vec::new(), &QuarterOfChars);
    assert_eq!(bare.tokens(), 0);
    let mut session = under(LAST_TURNS);
    session.user("go");
    let text = |session: &Session| {
        session.render().expect("fits").items[0].texts().fold(String::new(), |all, text| all + text + "\n")
    };
    let said = text(&session);
    for once in [
        "# ITERATION BUDGET",
        "25 rounds",
        "Read whole files.",
        "Quote every path.",
        "# CORE MEMORIES\nBackground",
    ] {
        assert_eq!(said.matches(once).count(), 1, "{once}");
    }
    assert!(!said.contains("only_in_the_schema"));
    let tools = session.render().expect("fits").plan.tokens_of("tools");
    assert!(tools > 0 && tools == session.fixed.tool_tokens());
    let no_cap = SystemText { identity: Some("I".into()), ..SystemText::default() };
    session.fixed = Fixed::new(&no_cap, &LAST_TURNS.order, &[], Vec::new(), &QuarterOfChars);
    assert_eq!(text(&session), "# IDENTITY AND PURPOSE\nI\n");
    let of_memory = |policy: Policy| {
        let mut session = under(policy);
        session.user("go");
        let prompt = session.render().expect("fits");
        let section = prompt.plan.sections.iter().find(|section| section.name == "coreMemories").cloned();
        section.map(|section| (section.channel, section.priority < KEEP))
    };
    assert_eq!(of_memory(LAST_TURNS), Some((Channel::System, true)));
    assert_eq!(of_memory(DEFAULT), Some((Channel::Memory, true)));
}

#[test]
fn summary_stands_once_wherever_it_is_placed() {
    for placement in PLACEMENTS {
        let mut session = overflowing();
        session.fixed = fixed(&DEFAULT);
        session.policy.placement = placement;
        session.compact(Some(answered(&SUMMARY.replace("half done", "half_done_sentinel"))));
        let first = session.render().expect("fits");
        let mut last = first.items.clone();
        for turn in 0..10 {
            let prompt = session.render().expect("fits");
            sound(&prompt, placement);
            let said: String =
                prompt.items.iter().flat_map(Item::texts).map(|text| text.to_string()).collect();
            for once in ["half_done_sentinel", "Background: what happened earlier"] {
                assert_eq!(said.matches(once).count(), 1, "{placement:?} {once}");
            }
            assert_eq!(prompt.items[0], first.items[0], "{placement:?}: the system text is frozen");
            assert!(prompt.items.starts_with(&last), "{placement:?}: a prompt begins with the one before");
            last = prompt.items;
            session.says("yes").user(&format!("go on {turn}"));
        }
        let before = first.items[0].clone();
        session.reads("a.rs", 7000).reads("b.rs", 7000).reads("c.rs", 6000);
        session.compact(Some(answered(SUMMARY)));
        let prompt = session.render().expect("fits");
        sound(&prompt, placement);
        assert_eq!(prompt.items[0] == before, placement != Placement::SystemPromptTail, "{placement:?}");
    }
}

/// Asserts the invariants of a prompt of any placement.
fn sound(prompt: &Prompt, placement: Placement) {
    assert_eq!(prompt.tokens, prompt.plan.sections.iter().map(|section| section.tokens).sum::<u32>());
    let items: u32 = prompt.items.iter().map(|item| item.tokens).sum();
    assert_eq!(prompt.tokens, items + prompt.plan.tokens_of("tools"));
    let marks: Vec<usize> = prompt.plan.breakpoints().collect();
    assert!(prompt.plan.sections.iter().filter(|section| section.cache_breakpoint).count() <= 4);
    assert!(marks.windows(2).all(|two| two[0] < two[1]), "{placement:?}: one mark for each place: {marks:?}");
    assert_eq!(pair_faults(&prompt.items), []);
    let joined = join_neighbours(&prompt.items);
    assert!(
        joined.windows(2).all(|two| two[0].role != two[1].role || two[0].role == Role::Tool),
        "{placement:?}: neighbours of one role are joined"
    );
    let systems = joined.iter().filter(|item| item.role == Role::System).count();
    assert_eq!(systems, 1, "one system message, at the beginning");
}

/// A moved block equals one that was made at that placement.
#[test]
fn block_moves_between_any_two_places() {
    for from in PLACEMENTS {
        for to in PLACEMENTS.into_iter().filter(|to| *to != from) {
            let mut session = overflowing();
            session.policy.placement = from;
            let record = session.compact(Some(answered(SUMMARY)));
            let direct = {
                let mut session = overflowing();
                session.policy.placement = to;
                session.compact(Some(answered(SUMMARY)))
            };
            let moved = placing::replaced(session.source(), to, &QuarterOfChars).expect("a block");
            assert_eq!(
                (&moved.block, moved.block_tokens),
                (&direct.block, direct.block_tokens),
                "{from:?} to {to:?}"
            );
            assert_eq!((moved.covers, &moved.previous), (record.covers, &Some(record.id.clone())));
            session.transcript.record(moved.clone());
            sound(&session.render().expect("fits"), to);
            assert_eq!(placing::replaced(session.source(), to, &QuarterOfChars), None, "already moved");
            let back = placing::replaced(session.source(), from, &QuarterOfChars).expect("a block");
            assert_eq!(back.block, record.block, "{to:?} and back to {from:?}");
        }
    }
}

/// A session of `many` turns: requests of many bytes per character, rounds of parallel calls.
fn turns(many: usize) -> Session {
    let mut session = Session::new(4_000_000);
    for turn in 0..many {
        session.user(&format!("漢字 👩‍👩‍👧‍👦 {turn}"));
        for round in 0..turn % 3 {
            let id = |n: usize| format!("c{turn}-{round}-{n}");
            let calls = (0..=turn % 4).map(|n| ToolCall::new(&id(n), "read", "{\"path\":\"é\"}")).collect();
            let results = (0..=turn % 4).rev().map(|n| Body::result(&id(n), &filler("漢字", 30)));
            for body in [Body::assistant("é", calls)].into_iter().chain(results) {
                session.transcript.append(NewMessage::new(body), &QuarterOfChars);
            }
        }
        if turn % 2 == 0 || turn % 3 == 0 {
            session.says("ok");
        }
    }
    session
}

fn cut(session: &Session) -> Option<Compaction> {
    let slice = slice(session.source(), &session.policy).ok()?;
    session.inputs().with_block(Mode::Ledger, slice, &Ingredients::default())
}

#[test]
fn retention_keeps_exactly_its_user_turns_at_every_length() {
    let whole = turns(200);
    for many in 0..=200_usize {
        let mut session = Session { transcript: Transcript::new(SessionId::new("s")), ..turns(0) };
        let end = whole
            .transcript
            .turns()
            .get(many)
            .map_or(whole.transcript.messages().len(), |turn| turn.first.index());
        for message in whole.transcript.messages().iter().take(end) {
            let turn = whole.transcript.turn_at(message.ord).expect("a turn");
            session.transcript.put_back(turn, Arc::clone(message));
        }
        let keep = 1 + many % 20;
        session.policy = Policy { retention: Retention::UserTurns(keep), ..LAST_TURNS };
        let Some(record) = cut(&session).filter(|_| many > keep) else { continue };
        let first = session.transcript.turns()[many - keep].first;
        assert_eq!(record.resume_at(), first, "{many} turns, {keep} stay");
        let prompt = prompt::draft(session.source(), Some(&record));
        assert_eq!(pair_faults(&prompt.items), []);
        let raw = |item: &&Item| item.sources.iter().any(|source| source.shown == Shown::Raw);
        assert_eq!(prompt.items.iter().filter(raw).filter(|item| item.role == Role::User).count(), keep);
        for message in session.transcript.messages().iter().filter(|message| message.ord >= first) {
            let shows = prompt.items.iter().filter(|item| item.sources.iter().any(|s| s.ord == message.ord));
            assert_eq!(shows.count(), 1, "all after the cut is there");
        }
    }
}

#[test]
fn last_messages_covers_29_of_41() {
    let mut session = Session::new(128_000);
    session.policy = LAST_MESSAGES;
    for turn in 0..20 {
        session.user(&format!("request {turn}")).says("done");
    }
    session.user("request 20");
    assert_eq!(session.transcript.messages().len(), 41);
    let mut asked = 0;
    let Step::Accepted(record) = session.descend(Some(&mut |_| {
        asked += 1;
        answered(SUMMARY)
    })) else {
        panic!("accepted")
    };
    assert_eq!((asked, record.covers.map(|span| (span.from.0, span.to.0))), (1, Some((0, 28))));
    session.transcript.record(*record);
    let prompt = session.render().expect("fits");
    let raw = prompt.items.iter().flat_map(|item| &item.sources).filter(|source| source.shown == Shown::Raw);
    assert_eq!(raw.map(|source| source.ord.0).collect::<Vec<_>>(), (29..41).collect::<Vec<_>>());
    assert_eq!(prompt.items[1].role, Role::System, "the summary is a system message");
}

/// A cut in the middle of parallel calls moves before them; one that would cover the newest round or the request stops
/// there; one that keeps nearly everything is not made.
#[test]
fn every_retention_keeps_pairs_and_the_newest_round() {
    for keep in 1..40 {
        for retention in [
            Retention::Messages(keep),
            Retention::TokenTail(crate::settings::PerMille::new(keep as u32 * 20)),
        ] {
            let mut session = turns(12);
            session.budget.limit = 1500;
            session.reads("newest.rs", 100).reads("newest.rs", 200);
            session.policy = Policy { retention, ..LAST_MESSAGES };
            let Some(record) = cut(&session) else { continue };
            let prompt = prompt::draft(session.source(), Some(&record));
            assert_eq!(pair_faults(&prompt.items), []);
            let newest = session.transcript.rounds().last().expect("a round").assistant;
            assert!(record.resume_at() <= newest, "{retention:?}");
            let counts = coverage(&session.transcript, Some(&record), &prompt);
            assert_eq!(counts.unaccounted, 0);
            if let Retention::Messages(keep) = retention {
                let after = session.transcript.range(record.resume_at(), Ordinal(u32::MAX)).len();
                let round =
                    session.transcript.rounds().iter().find(|round| round.assistant == record.resume_at());
                let in_round = round.map_or(0, |round| round.results.len());
                assert!(after <= keep.max(2) + in_round || after <= 4, "{retention:?}: {after} stay");
            }
        }
    }
}

/// Checked for each retention in each placement, also after a reload.
#[test]
fn summary_is_first_input_last_covered_messages_hidden() {
    let retentions = [ROUNDS, LAST_TURNS, LAST_MESSAGES, SYSTEM_TAIL];
    for (policy, placement) in
        retentions.iter().flat_map(|policy| PLACEMENTS.map(|place| (policy.clone(), place)))
    {
        let mut session = long(Policy { placement, ..policy.clone() });
        let record = session.compact(Some(answered(SUMMARY)));
        let mut reloaded = Transcript::new(SessionId::new("s"));
        for message in session.transcript.messages() {
            reloaded.put_back(session.transcript.turn_at(message.ord).expect("a turn"), Arc::clone(message));
        }
        let text = serde_json::to_string(&record).expect("json");
        reloaded.record(serde_json::from_str(&text).expect("a record"));
        let live = session.render().expect("fits");
        session.transcript = reloaded;
        let prompt = session.render().expect("fits");
        assert_eq!(prompt, live, "a reload changes nothing");

        let at = |wanted: &str| {
            prompt.items.iter().position(|item| item.texts().any(|text| text.contains(wanted)))
        };
        let resume = record.resume_at();
        let first_raw = prompt.items.iter().position(|item| item.sources.iter().any(|s| s.ord >= resume));
        assert!(at("parser with nom") < first_raw, "{}: the summary comes first", policy.name);
        for message in session.transcript.range(resume, Ordinal(u32::MAX)) {
            assert!(
                prompt.items.iter().any(|item| item.sources.iter().any(|s| s.ord == message.ord)),
                "recent messages stay"
            );
        }
        assert_eq!(at("And now sum it up."), Some(prompt.items.len() - 1), "the input is last");
        let hidden = prompt.items.iter().filter(|item| item.role == Role::Tool);
        assert!(
            hidden.flat_map(|item| &item.sources).all(|source| source.ord >= resume),
            "no covered tool result is shown"
        );
        let counts = coverage(&session.transcript, Some(&record), &prompt);
        assert_eq!((counts.unaccounted, counts.dropped), (0, 0));
        assert!(counts.covered > 0);
    }
}

/// Exempt are the current request, the first one and the newest round.
#[test]
fn exempt_messages_survive_every_rung() {
    let rungs: [(Mode, Policy, bool); 5] = [
        (
            Mode::LimitHistory,
            Policy {
                limit_history: Stage::ShortenResults,
                target_ratio: crate::settings::PerMille::new(900),
                ..DEFAULT
            },
            true,
        ),
        (Mode::Full, Policy { limit_history: Stage::Off, ..DEFAULT }, true),
        (
            Mode::Simple,
            Policy { limit_history: Stage::Off, summary_mode: ModeRequested::Simple, ..DEFAULT },
            true,
        ),
        (Mode::Ledger, Policy { limit_history: Stage::Off, ..DEFAULT }, false),
        (
            Mode::Dropped,
            Policy {
                limit_history: Stage::LimitHistory,
                target_ratio: crate::settings::PerMille::new(0),
                ..DEFAULT
            },
            false,
        ),
    ];
    for (mode, policy, has_model) in rungs {
        let mut session = overflowing();
        session.policy = policy;
        let record = session.compact(has_model.then(|| answered(SUMMARY)));
        assert_eq!(record.mode, mode);
        let prompt = session.render().expect("fits");
        let newest = session.transcript.rounds().last().expect("a round");
        let exempt = [Ordinal(0), Ordinal(8), newest.assistant, newest.last];
        for ord in exempt {
            let shown: Vec<_> =
                prompt.items.iter().flat_map(|item| &item.sources).filter(|s| s.ord == ord).collect();
            assert!(
                matches!(shown[..], [source] if source.shown != Shown::Shortened),
                "{mode:?}: message {ord}"
            );
        }
    }
}

#[test]
fn disabled_policy_shows_everything_or_does_not_fit() {
    let mut session = long(Policy::named("off").expect("a preset"));
    assert_eq!(ladder::start(session.inputs(), true), Step::Off);
    assert!(session.render().is_err());
    session.budget.limit = 100_000;
    let prompt = session.render().expect("fits");
    let shown = prompt.items.iter().flat_map(|item| &item.sources).filter(|s| s.shown == Shown::Raw).count();
    assert_eq!(shown, session.transcript.messages().len());
}

#[test]
fn trigger_by_messages_fires_again_after_as_many_more_in_a_large_window() {
    let mut session = Session::new(128_000);
    session.policy = LAST_MESSAGES;
    let mut fired = Vec::new();
    for n in 1..=130 {
        if n % 2 == 1 {
            let request = NewMessage::user(&filler("request", 400));
            session.transcript.append_turn(request, &QuarterOfChars);
        } else {
            session.says(&filler("answer", 400));
        }
        let tokens = session.inputs().tokens_before;
        let Some(trigger) = trigger::due(session.source(), &session.policy, tokens) else { continue };
        assert_eq!(trigger, Trigger::Messages);
        let inputs = Inputs { aim: Aim::of(trigger), ..session.inputs() };
        let Step::Ask(ask) = ladder::start(inputs, true) else { panic!("a model is asked") };
        let Step::Accepted(record) = ask.waiting.answer(inputs, "test", answered(SUMMARY)) else {
            panic!("the summary is accepted")
        };
        session.transcript.record(*record);
        fired.push(n);
    }
    assert_eq!(fired, [41, 81, 121]);
}
