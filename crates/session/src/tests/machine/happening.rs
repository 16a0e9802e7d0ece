//! Everything that can happen to a session, drawn at random. Numbers stand for things that exist at the time:
//! the nth message, the nth call.

use proptest::prelude::*;

#[derive(Debug, Clone)]
pub enum Happening {
    Starts {
        size: u16,
        priority: bool,
        key: Key,
        what: Beside,
    },
    Rewinds(Rewind, At, Key),
    Cancels {
        which: Which,
        queued: bool,
    },
    CancelsQueued(u8),
    Branches(At, Key),
    Resets {
        keep_queue: bool,
        key: Key,
    },
    Restores {
        calls: bool,
    },
    /// A changed copy: the message that differs, and the kind of change.
    TakesIn(u8, u8),
    Drafts(u8),
    Notices,
    /// A request for another process.
    LeavesTask(u16),
    /// The process serves the session's folder.
    RunsTask,
    Configures(Set),
    SharedSettings(Set),
    Scopes(u8),
    Approvals(u8),
    Opens {
        titled: bool,
    },
    Compacts {
        redo: bool,
        keep: Option<u8>,
        preview: bool,
    },
    /// A compaction by its number, or the newest.
    Undoes(Option<u8>),
    EditsSummary {
        nth: u8,
        size: u16,
    },
    Excludes(u8, Option<u8>),
    /// A message, or a text of this size.
    Pins(Result<u8, u16>),
    Unpins(u8),
    Inspects,
    Recalls(u8),
    /// This many entries of the ledger, from the next page on if there is one.
    AsksForLedger(u8),
    Searches,
    Subscribes(u8),
    Abandons,
    /// Volatile context for the next request.
    Attaches(u8),
    /// Instruction files that were read; every fourth time there is none.
    Instructs(u8),
    Renders {
        turns: u8,
        resent: bool,
        rounds: u8,
        size: u16,
        how: u8,
    },
    AppendsRound {
        calls: u8,
        results: u8,
    },
    EndsTurn(u8),
    Says(Said, u16),
    Answers(Vec<u8>, Stop),
    Fails,
    /// An answer breaks after some words, and is asked for again; `true` if the next attempt has words too.
    Breaks(bool),
    /// The provider finds the request too large.
    Overflows(Option<u16>),
    Reviews(u8),
    Late(u8),
    ToolDoes(u8, Tool, u16),
    Decides {
        nth: u8,
        how: Decided,
        all: bool,
        by_answer: bool,
    },
    Expires(u8),
    Ends,
    Dies,
    StoreFails(u8),
    /// The second follower misses this many events.
    Misses(u8),
}

/// The key of a command; few exist, so that they repeat.
pub type Key = Option<u8>;

/// An addition to a request.
#[derive(Debug, Clone, Copy)]
pub enum Beside {
    Nothing,
    Model,
    Tools,
    Empty,
}

/// A change of the past.
#[derive(Debug, Clone, Copy)]
pub enum Rewind {
    Retry { words: bool },
    Regenerate,
    Update { regenerate: bool, empty: bool },
    Remove,
    Truncate,
}

#[derive(Debug, Clone, Copy)]
pub enum At {
    Id(u8),
    Index(u8),
    Nobody,
}

/// The turn to cancel.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    Running,
    Newest,
    Waiting(u8),
    Nobody,
}

#[derive(Debug, Clone, Copy)]
pub enum Set {
    Same,
    Rounds(u8),
    Interval,
    Titles,
    NoModel,
    NoTools,
    Permits,
    Window(bool),
    Off,
    Ask,
    NoConsent,
    Idle,
    Exit,
    OwnTools(bool),
}

/// A delta of a model.
#[derive(Debug, Clone, Copy)]
pub enum Said {
    Content,
    Reasoning,
    Calls(u8),
    Arguments,
    Block,
    Citation,
    OfServer,
    Usage,
    Extra,
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub enum Stop {
    End,
    Streamed,
    Length,
    Paused,
    Refused,
    Cancelled,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy)]
pub enum Tool {
    Answers,
    Fails,
    SaysError,
    Pending,
    /// Waits for agents, if it is the sidecar's.
    Waits,
    /// Answers by `tool/result`.
    Hands,
    Twice,
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub enum Decided {
    Approve,
    Reject,
    /// Approves for good: all of the tool, or what matches a pattern.
    Always(bool),
    /// Rejects for good.
    Never(bool),
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![3 => Just(None), 1 => (0u8..6).prop_map(Some)]
}

fn at() -> impl Strategy<Value = At> {
    prop_oneof![
        5 => any::<u8>().prop_map(At::Id),
        5 => any::<u8>().prop_map(At::Index),
        1 => Just(At::Nobody),
    ]
}

fn size() -> impl Strategy<Value = u16> {
    prop_oneof![8 => 0u16..60, 2 => 0u16..900, 1 => 900u16..5000]
}

fn set() -> impl Strategy<Value = Set> {
    prop_oneof![
        1 => Just(Set::Same),
        1 => (0u8..4).prop_map(Set::Rounds),
        1 => Just(Set::Interval),
        1 => Just(Set::Titles),
        1 => Just(Set::NoModel),
        1 => Just(Set::NoTools),
        1 => Just(Set::Permits),
        1 => any::<bool>().prop_map(Set::Window),
        1 => Just(Set::Off),
        6 => Just(Set::Ask),
        1 => Just(Set::NoConsent),
        1 => Just(Set::Idle),
        1 => Just(Set::Exit),
        1 => any::<bool>().prop_map(Set::OwnTools),
    ]
}

fn rewind() -> impl Strategy<Value = Rewind> {
    prop_oneof![
        any::<bool>().prop_map(|words| Rewind::Retry { words }),
        Just(Rewind::Regenerate),
        (any::<bool>(), prop::bool::weighted(0.1))
            .prop_map(|(regenerate, empty)| Rewind::Update { regenerate, empty }),
        Just(Rewind::Remove),
        Just(Rewind::Truncate),
    ]
}

fn said() -> impl Strategy<Value = Said> {
    prop_oneof![
        4 => Just(Said::Content),
        2 => Just(Said::Reasoning),
        2 => (0u8..3).prop_map(Said::Calls),
        2 => Just(Said::Arguments),
        1 => Just(Said::Block),
        1 => Just(Said::Citation),
        1 => Just(Said::OfServer),
        1 => Just(Said::Usage),
        1 => Just(Said::Extra),
        1 => Just(Said::Unknown),
    ]
}

fn stop() -> impl Strategy<Value = Stop> {
    prop_oneof![
        20 => Just(Stop::End),
        5 => Just(Stop::Streamed),
        1 => Just(Stop::Length),
        1 => Just(Stop::Paused),
        1 => Just(Stop::Refused),
        1 => Just(Stop::Cancelled),
    ]
}

fn tool() -> impl Strategy<Value = Tool> {
    prop_oneof![
        6 => Just(Tool::Answers),
        1 => Just(Tool::Fails),
        1 => Just(Tool::SaysError),
        1 => Just(Tool::Pending),
        1 => Just(Tool::Waits),
        2 => Just(Tool::Hands),
        1 => Just(Tool::Twice),
        1 => Just(Tool::Unknown),
    ]
}

fn decided() -> impl Strategy<Value = Decided> {
    prop_oneof![
        3 => Just(Decided::Approve),
        2 => Just(Decided::Reject),
        1 => any::<bool>().prop_map(Decided::Always),
        1 => any::<bool>().prop_map(Decided::Never),
    ]
}

/// A command of a user or an editor.
fn command() -> BoxedStrategy<Happening> {
    let beside = prop_oneof![
        20 => Just(Beside::Nothing), 1 => Just(Beside::Model), 1 => Just(Beside::Tools), 1 => Just(Beside::Empty),
    ];
    let which = prop_oneof![
        4 => Just(Which::Running), 2 => Just(Which::Newest), 2 => any::<u8>().prop_map(Which::Waiting),
        1 => Just(Which::Nobody),
    ];
    prop_oneof![
        12 => (size(), prop::bool::weighted(0.3), key(), beside)
            .prop_map(|(size, priority, key, what)| Happening::Starts { size, priority, key, what }),
        6 => (rewind(), at(), key()).prop_map(|(rewind, at, key)| Happening::Rewinds(rewind, at, key)),
        3 => (which, any::<bool>()).prop_map(|(which, queued)| Happening::Cancels { which, queued }),
        1 => any::<u8>().prop_map(Happening::CancelsQueued),
        1 => (at(), key()).prop_map(|(at, key)| Happening::Branches(at, key)),
        1 => (any::<bool>(), key()).prop_map(|(keep_queue, key)| Happening::Resets { keep_queue, key }),
        1 => any::<bool>().prop_map(|calls| Happening::Restores { calls }),
        2 => (any::<u8>(), 0u8..5).prop_map(|(nth, how)| Happening::TakesIn(nth, how)),
        1 => (0u8..3).prop_map(Happening::Drafts),
        1 => Just(Happening::Notices),
        2 => (1..200u16).prop_map(Happening::LeavesTask),
        1 => Just(Happening::RunsTask),
        3 => set().prop_map(Happening::Configures),
        1 => set().prop_map(Happening::SharedSettings),
        1 => (0u8..3).prop_map(Happening::Scopes),
        1 => (0u8..3).prop_map(Happening::Approvals),
        1 => any::<bool>().prop_map(|titled| Happening::Opens { titled }),
        6 => (prop::bool::weighted(0.3), prop::option::weighted(0.2, any::<u8>()), prop::bool::weighted(0.2))
            .prop_map(|(redo, keep, preview)| Happening::Compacts { redo, keep, preview }),
        6 => prop::option::weighted(0.4, any::<u8>()).prop_map(Happening::Undoes),
        10 => (any::<u8>(), prop_oneof![size(), 900u16..5000])
            .prop_map(|(nth, size)| Happening::EditsSummary { nth, size }),
        2 => (any::<u8>(), prop::option::weighted(0.3, any::<u8>()))
            .prop_map(|(nth, more)| Happening::Excludes(nth, more)),
        2 => prop_oneof![3 => any::<u8>().prop_map(Ok), 1 => size().prop_map(Err)].prop_map(Happening::Pins),
        1 => any::<u8>().prop_map(Happening::Unpins),
        1 => Just(Happening::Inspects),
        1 => any::<u8>().prop_map(Happening::Recalls),
        1 => (1u8..4).prop_map(Happening::AsksForLedger),
        1 => Just(Happening::Searches),
        1 => (0u8..5).prop_map(Happening::Subscribes),
        1 => Just(Happening::Abandons),
        2 => any::<u8>().prop_map(Happening::Attaches),
        2 => any::<u8>().prop_map(Happening::Instructs),
        5 => (0u8..5, prop::bool::weighted(0.1), 0u8..4, size(), any::<u8>()).prop_map(
            |(turns, resent, rounds, size, how)| Happening::Renders { turns, resent, rounds, size, how }
        ),
        2 => (0u8..3, 0u8..3).prop_map(|(calls, results)| Happening::AppendsRound { calls, results }),
        2 => (0u8..3).prop_map(Happening::EndsTurn),
    ]
    .boxed()
}

pub fn happening() -> BoxedStrategy<Happening> {
    prop_oneof![
        16 => command(),
        4 => (said(), size()).prop_map(|(said, size)| Happening::Says(said, size)),
        8 => (prop::collection::vec(0u8..8, 0..4), stop())
            .prop_map(|(calls, stop)| Happening::Answers(calls, stop)),
        1 => Just(Happening::Fails),
        1 => prop::bool::weighted(0.7).prop_map(Happening::Breaks),
        1 => prop::option::of(1000u16..3000).prop_map(Happening::Overflows),
        2 => (0u8..5).prop_map(Happening::Reviews),
        1 => any::<u8>().prop_map(Happening::Late),
        8 => (any::<u8>(), tool(), size()).prop_map(|(nth, tool, size)| Happening::ToolDoes(nth, tool, size)),
        4 => (any::<u8>(), decided(), any::<bool>(), prop::bool::weighted(0.3))
            .prop_map(|(nth, how, all, by_answer)| Happening::Decides { nth, how, all, by_answer }),
        3 => any::<u8>().prop_map(Happening::Expires),
        1 => Just(Happening::Ends),
        1 => Just(Happening::Dies),
        1 => (1u8..3).prop_map(Happening::StoreFails),
        1 => (1u8..6).prop_map(Happening::Misses),
    ]
    .boxed()
}

/// A sequence from the beginning of a session. Some begin with a prompt that must be compacted, for a user who reviews
/// compactions or not: what happens while one waits is too rare to be seen in each run otherwise.
pub fn sequence() -> impl Strategy<Value = Vec<Happening>> {
    let opening = |set| {
        let renders = Happening::Renders { turns: 3, resent: false, rounds: 3, size: 700, how: 1 };
        Just(vec![Happening::Configures(set), renders])
    };
    let opening = prop_oneof![8 => Just(Vec::new()), 1 => opening(Set::Ask), 1 => opening(Set::Same)];
    let then = prop::collection::vec(happening(), 1..40);
    (opening, then).prop_map(|(opening, then)| opening.into_iter().chain(then).collect())
}
