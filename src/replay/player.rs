//! A session fed with a recorded conversation, message by message, that renders as for an editor with its own agent
//! loop. The model that writes summaries is polled once per request, as a replay has no clock.

use super::{Options, Summarizer, Unfit};
use engine::compact::metadata::SummaryEntry;
use engine::compact::record::Compaction;
use engine::id::{Generation, SessionId, Time};
use engine::message::{Body, NewMessage};
use engine::prompt::Prompt;
use engine::prompt::order::SystemText;
use engine::prompt::system::Fixed;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;
use import::Import;
use models::Progress;
use session::effect::{Answer, AskModel, Effect, Refusal};
use session::input::{Command, Input, Render, ReplyTo, Timer};
use session::settings::{Client, ModelFacts, Settings};
use session::stored::{Driver, Head, Origin, Prefix};
use session::{Opening, Session, StepContext};
use std::task::{Context, Poll, Waker};

/// Timestamp of every step; no prompt depends on it.
const STAMP: &str = "1970-01-01T00:00:00Z";
/// Identifies the only open request.
const RENDER: ReplyTo = ReplyTo(0);

/// The session of a replay, with the model that writes its summaries.
pub(super) struct Player<'a> {
    session: Session,
    counter: &'a dyn TokenCount,
    model: &'a mut Summarizer,
}

/// The result of one render.
pub(super) struct Rendered {
    pub outcome: Result<Prompt, Unfit>,
    /// The compaction made for this render, even if no prompt fitted in the end.
    pub made: Option<Compaction>,
}

impl<'a> Player<'a> {
    pub fn new(
        import: &Import,
        options: &Options,
        counter: &'a dyn TokenCount,
        model: &'a mut Summarizer,
    ) -> Self {
        let opening = Opening {
            head: head(import),
            settings: settings(import, options, model),
            stored: None,
            stream: "replay".to_owned(),
            scope: Default::default(),
            approvals: Vec::new(),
            memories: Vec::new(),
            agents: Vec::new(),
        };
        Self { session: Session::new(opening, counter), counter, model }
    }

    pub fn transcript(&self) -> &Transcript {
        self.session.transcript()
    }

    pub fn fixed(&self) -> &Fixed {
        self.session.fixed()
    }

    /// Appends a message without its reported usage, which belongs to the source's own prompt.
    pub fn append(&mut self, mut message: NewMessage) {
        if let Body::Assistant { beside, .. } = &mut message.body {
            beside.usage = None;
        }
        self.step(Input::Recorded(Box::new(message)));
    }

    /// Puts a compaction of the source in force. Returns its record, or `None` if a later one covers more.
    pub fn go_on_from(&mut self, summary: SummaryEntry) -> Option<Compaction> {
        let known = self.transcript().compactions().len();
        self.step(Input::RecordedSummary(Box::new(summary)));
        self.transcript().compactions().get(known).cloned()
    }

    /// Renders the prompt of the next model call.
    ///
    /// # Errors
    /// Fails if the session refuses the render for a reason other than size.
    pub fn render(&mut self) -> Result<Rendered, Refusal> {
        let known = self.session.transcript().compactions().len();
        let mut input = Input::Command(RENDER, Command::Render(Box::<Render>::default()));
        let answer = loop {
            let mut asked = None;
            let mut answer = None;
            for effect in self.step(input) {
                match effect {
                    Effect::Reply(RENDER, given) => answer = Some(*given),
                    Effect::AskModel(ask) => asked = Some(ask),
                    _ => {}
                }
            }
            match (answer, asked) {
                (Some(answer), _) => break answer,
                (None, Some(ask)) => input = self.ask(&ask),
                (None, None) => break Err(Refusal::Cancelled),
            }
        };
        let made = self.session.transcript().compactions().get(known).cloned();
        let outcome = match answer {
            Ok(Answer::Rendered(rendered)) => Ok(rendered.prompt),
            Ok(_) => return Err(Refusal::Cancelled),
            Err(Refusal::CannotFit(sizes)) => Err(Unfit::CannotFit(sizes)),
            Err(Refusal::BudgetExceeded(exceeded)) => Err(Unfit::Exceeded(exceeded)),
            Err(refusal) => return Err(refusal),
        };
        Ok(Rendered { outcome, made })
    }

    /// Polls the model once; a pending answer counts as past its deadline.
    fn ask(&mut self, ask: &AskModel) -> Input {
        let Some(model) = self.model.as_deref_mut() else { return Input::Expired(Timer::Model(ask.call)) };
        let mut deltas = Vec::new();
        let mut hear = |said| {
            if let Progress::Delta(delta) = said {
                deltas.push(delta);
            }
        };
        let polled =
            model.answer(&ask.request, &mut hear).as_mut().poll(&mut Context::from_waker(Waker::noop()));
        for delta in deltas {
            self.step(Input::ModelDelta(ask.call, delta));
        }
        match polled {
            Poll::Ready(Ok(answer)) => Input::ModelDone(ask.call, Ok(answer)),
            Poll::Ready(Err(error)) => Input::ModelDone(ask.call, Err(error.to_string().into())),
            Poll::Pending => Input::Expired(Timer::Model(ask.call)),
        }
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let context = StepContext { now: Time(0), stamp: STAMP, counter: self.counter };
        self.session.step(input, context)
    }
}

fn head(import: &Import) -> Head {
    Head {
        id: SessionId::new("replay"),
        workspace: String::new(),
        title: import.title.clone(),
        title_from: None,
        origin: Origin::default(),
        driver: Driver::Editor,
        kind: None,
        parent: None,
        work_scope: None,
        generation: Generation::default(),
        cuts: 0,
        accepted: 0,
        prefix: Prefix { tools: import.tools.clone(), ..Prefix::default() },
        waits: false,
        carried: Default::default(),
        settings: serde_json::Value::Null,
        created_at: Time(0),
        updated_at: Time(0),
    }
}

fn settings(import: &Import, options: &Options, model: &Summarizer) -> Settings {
    let defaults = Settings::default();
    Settings {
        model: ModelFacts {
            name: model.as_ref().map(|model| model.name().to_owned()),
            window: options.window,
            ..ModelFacts::default()
        },
        budget: options.budget.clone(),
        policy: options.policy.clone(),
        system: import.system.as_deref().map(SystemText::whole).unwrap_or_default(),
        max_tool_result_tokens: options.max_result.unwrap_or(defaults.max_tool_result_tokens),
        client: Client { completes: model.is_some(), ..Client::default() },
        ..defaults
    }
}
