//! The model that writes a summary, and the spare model if it fails. The ladder decides what follows from a summary.

use super::job::Job;
use super::terms::{on_ladder, summarizer};
use crate::core::Core;
use crate::model::quiet::{BufferedCall, Folded};
use crate::values::effect::{AskModel, Effect, Purpose};
use crate::values::input::{ModelCallId, Timer};
use crate::values::settings::ModelFacts;
use engine::compact::ladder::{self, Ask, Outcome, Waiting};
use engine::compact::record::Mode;
use engine::delta::Delta;
use engine::prompt::request::{self, Failure, Request};
use engine::settings::SettingsError;

/// Reason why an answer that was cut off is no summary.
const ENDLESS: &str = "the model did not come to an end";

/// State while a model writes a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarizing {
    call: BufferedCall,
    /// The ladder stage that asked.
    mode: Mode,
    model: ModelFacts,
    /// The model that is asked the same if this one fails.
    spare: Option<ModelFacts>,
    request: Request,
    /// State of the ladder that takes the answer.
    waiting: Waiting,
    job: Job,
}

/// Outcome of a summary call.
pub(crate) enum Ended {
    Done(Result<request::Answer, Failure>),
    /// The model was silent past its deadline.
    Expired,
    /// The answer is too long, or does not come to an end.
    Endless,
}

/// Next step after a summary call.
pub(crate) enum Resumed {
    /// Another model is asked the same.
    AskedSpare(Box<Summarizing>),
    /// The ladder continues. `mode` is the stage that asked, `before` the number of stages that had failed then.
    Goes { step: Result<ladder::Step, SettingsError>, job: Box<Job>, mode: Mode, before: usize },
}

impl Summarizing {
    /// Sends a summary request.
    pub(crate) fn ask(core: &mut Core<'_>, ask: Ask, job: Job) -> Self {
        let Ask { request, mode, waiting } = ask;
        let (model, spare) = summarizer(core, &job);
        let (model, spare) = (model.clone(), spare.cloned());
        let call = BufferedCall::new(core, Purpose::Summary, &model);
        let running = Self { call, mode, model, spare, request, waiting, job };
        running.send(core);
        running
    }

    fn send(&self, core: &mut Core<'_>) {
        let (call, model, mut request) = (self.call.id(), self.model.clone(), self.request.clone());
        if !model.tool_choice_none {
            request = request.without_forbidden_tools();
        }
        let tools = if request.tools.is_empty() { 0 } else { core.fixed().tool_tokens() };
        let tokens = tools + request.items.iter().map(|item| item.tokens).sum::<u32>();
        let tokens = core.unanchored(&model).read(tokens);
        request.room = Some(core.room(&model, tokens));
        let (turn, deadline) = (core.turn_id(), core.settings().first_word_ms(&model));
        let ask =
            AskModel { call, turn, purpose: Purpose::Summary, model, tokens, count_up_to: None, request };
        core.push(Effect::AskModel(Box::new(ask)));
        core.start(Timer::Model(call), deadline);
    }

    pub(crate) fn call(&self) -> ModelCallId {
        self.call.id()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    pub(crate) fn into_job(self) -> Job {
        self.job
    }

    /// State of the ladder that takes the answer.
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Hands the call over to another job, which needs the summary now.
    pub(crate) fn needed_for(self, mut job: Job) -> Self {
        job.spent.add(self.job.spent);
        Self { waiting: self.waiting.needed(job.must_end()), job, ..self }
    }

    pub(crate) fn hear(&mut self, core: &Core<'_>, delta: Delta) -> Folded {
        self.call.hear(core, delta)
    }

    pub(crate) fn after_sign(&self, core: &Core<'_>, more_ms: u64) -> Option<u64> {
        self.call.after_sign(core, &self.model, more_ms)
    }

    pub(crate) fn begin_again(&mut self, core: &mut Core<'_>) {
        self.call.begin_again(core);
    }

    /// Cancels the model call.
    pub(crate) fn cancel(&mut self, core: &mut Core<'_>) {
        self.call.cancel(core);
    }

    /// Continues with the outcome of the call.
    pub(crate) fn resume(mut self, core: &mut Core<'_>, ended: Ended) -> Resumed {
        let failed = match &ended {
            Ended::Done(Ok(_)) => None,
            Ended::Done(Err(failure)) => Some(failure.why.clone()),
            Ended::Expired => Some("it did not answer in time".to_owned()),
            Ended::Endless => Some(ENDLESS.to_owned()),
        };
        match &ended {
            Ended::Done(Ok(answer)) => self.call.answered(core, answer.usage),
            Ended::Done(Err(_)) | Ended::Expired | Ended::Endless => self.call.broke(core),
        }
        self.job.spent.add(self.call.spent());
        if let Some((why, spare)) = failed.zip(self.spare.take()) {
            core.trace(format!("the model for summaries failed, the main one is asked: {why}"));
            self.call = BufferedCall::new(core, Purpose::Summary, &spare);
            self.model = spare;
            self.waiting.asked_again();
            self.send(core);
            return Resumed::AskedSpare(Box::new(self));
        }
        let Self { call, mode, model, waiting, job, .. } = self;
        let outcome = match ended {
            Ended::Done(Ok(answer)) => Outcome::Answered(answer.completion(&call.into_draft())),
            Ended::Done(Err(failure)) => Outcome::Failed(failure.why),
            Ended::Expired => Outcome::Deadline,
            Ended::Endless => Outcome::Failed(ENDLESS.to_owned()),
        };
        let model = model.name.unwrap_or_else(|| "editor".to_owned());
        let before = waiting.fallbacks().len();
        let step = on_ladder(core, &job, |inputs| Waiting::answer(waiting, inputs, &model, outcome));
        Resumed::Goes { step, job: Box::new(job), mode, before }
    }
}
