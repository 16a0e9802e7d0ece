//! Limits of models as their providers list them. They are kept beside the user's settings and asked for anew after a day;
//! no turn waits for them.

use engine::endpoint::Endpoint;
use models::listed::{self, ListedLimits};
use serde::{Deserialize, Serialize};
use session::settings::{ModelFacts, Settings, WindowSource};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The name of the file.
const FILE: &str = "model-limits.json";
/// The version of its form.
const VERSION: u32 = 1;
/// The age from which limits are asked for again, in seconds.
const DAY: u64 = 24 * 60 * 60;
/// The time before the next question after one that failed, in seconds.
const AFTER_FAILURE: u64 = 60 * 60;
/// The largest file that is read, in bytes.
const MOST_FILE: u64 = 4 << 20;

/// The listed limits, shared by settings and models.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct Listed(Arc<Mutex<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    file: Option<PathBuf>,
    models: BTreeMap<String, Entry>,
    /// Models that are being asked for.
    asked: BTreeSet<String>,
}

/// What a provider lists of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// Seconds since 1970.
    at: u64,
    /// `true` if the last question failed; the limits are those of before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_failed: bool,
    limits: ListedLimits,
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    models: BTreeMap<String, Entry>,
}

/// A question about a model. It counts as asked until its answer is told.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) struct Question(String);

impl Listed {
    /// Reads the limits that are kept beside the user's settings. A file that cannot be read is written anew.
    pub fn beside(settings: &Path) -> Self {
        let file = settings.with_file_name(FILE);
        let is_small = std::fs::metadata(&file).is_ok_and(|file| file.is_file() && file.len() <= MOST_FILE);
        let text = is_small.then(|| std::fs::read(&file).ok()).flatten();
        let read = text.and_then(|text| serde_json::from_slice::<File>(&text).ok());
        let models = read.filter(|read| read.version == VERSION).map(|read| read.models).unwrap_or_default();
        Self(Arc::new(Mutex::new(Entries { file: Some(file), models, asked: BTreeSet::new() })))
    }

    /// Returns the question about a model's limits if its answer is missing or old, and the endpoint is to be asked.
    pub fn due(&self, endpoint: &Endpoint, model: &str) -> Option<Question> {
        self.due_at(endpoint, model, now())
    }

    fn due_at(&self, endpoint: &Endpoint, model: &str, now: u64) -> Option<Question> {
        let is_wanted = endpoint.options.look_up_limits.unwrap_or_else(|| listed::is_usual(endpoint));
        if !is_wanted || listed::path(endpoint, model).is_none() {
            return None;
        }
        let name = name(endpoint, model);
        let mut state = self.state();
        let is_fresh = state.models.get(&name).is_some_and(|entry| {
            let most = if entry.has_failed { AFTER_FAILURE } else { DAY };
            // A time in the future is of a clock that was wrong.
            now.checked_sub(entry.at).is_some_and(|age| age < most)
        });
        (!is_fresh && state.asked.insert(name.clone())).then_some(Question(name))
    }

    /// Takes the answer to a question; `None` if it failed. Returns `true` if limits changed.
    pub fn tell(&self, question: Question, limits: Option<ListedLimits>) -> bool {
        self.tell_at(question, limits, now())
    }

    fn tell_at(&self, Question(name): Question, limits: Option<ListedLimits>, now: u64) -> bool {
        let mut state = self.state();
        state.asked.remove(&name);
        let before = state.models.get(&name).map(|entry| entry.limits).unwrap_or_default();
        let entry = Entry { at: now, has_failed: limits.is_none(), limits: limits.unwrap_or(before) };
        state.models.insert(name, entry);
        if let Err(error) = state.save() {
            tracing::warn!(%error, "the limits of models could not be kept");
        }
        entry.limits != before
    }

    /// Gives models the limits that their providers list, unless the settings state a window, or the limits leave no room
    /// for a prompt under these settings.
    pub fn fit(&self, settings: &mut Settings, has_window: bool) {
        if has_window {
            return;
        }
        let mut fitted = settings.clone();
        self.fit_model(&mut fitted.model);
        if let Some(model) = &mut fitted.summary_model {
            self.fit_model(model);
        }
        if fitted.budget().is_ok() {
            *settings = fitted;
        }
    }

    fn fit_model(&self, facts: &mut ModelFacts) {
        let named = facts.endpoint.as_ref().zip(facts.name.as_deref());
        let Some(name) = named.map(|(endpoint, model)| name(endpoint, model)) else { return };
        let Some(limits) = self.state().models.get(&name).map(|entry| entry.limits) else { return };
        let Some(window) = limits.window.filter(|window| facts.max_output.is_none_or(|most| most <= *window))
        else {
            return;
        };
        facts.window = window;
        facts.input = limits.input.or(facts.input).filter(|input| *input < window);
        facts.window_source = WindowSource::Listed;
    }

    fn state(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Writes the file whole, so that other processes never read a part of it.
    fn save(&self) -> std::io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let written = file.with_extension(format!("{}.tmp", std::process::id()));
        let text = serde_json::to_vec_pretty(&File { version: VERSION, models: self.models.clone() })?;
        std::fs::write(&written, text)?;
        std::fs::rename(&written, file)
    }
}

/// A model at an address, as the file names it.
fn name(endpoint: &Endpoint, model: &str) -> String {
    format!("{} {model}", endpoint.url())
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::endpoint::Wire;
    use engine::settings::Threshold;

    fn limits(window: u32) -> ListedLimits {
        ListedLimits { window: Some(window), input: None }
    }

    fn claude() -> Endpoint {
        Endpoint::of(Wire::Anthropic)
    }

    #[test]
    fn limits_are_asked_for_once_a_day_and_an_hour_after_a_failure() {
        let listed = Listed::default();
        let due = |at: u64| listed.due_at(&claude(), "m", at);
        let question = due(1_000).unwrap();
        assert_eq!(due(1_000), None, "it is being asked");
        assert!(listed.tell_at(question, Some(limits(9_000)), 1_000));
        assert_eq!(due(1_000 + DAY - 1), None);
        let question = due(1_000 + DAY).unwrap();
        assert!(!listed.tell_at(question, None, 1_000 + DAY), "what was known stays");
        assert_eq!(due(1_000 + DAY + AFTER_FAILURE - 1), None);
        assert!(due(1_000 + DAY + AFTER_FAILURE).is_some());
        assert!(listed.due_at(&claude(), "n", 1_000).is_some(), "another model");
        let fresh = Listed::default();
        let question = fresh.due_at(&claude(), "m", 1_000).unwrap();
        fresh.tell_at(question, Some(limits(9_000)), 1_000);
        assert!(fresh.due_at(&claude(), "m", 10).is_some(), "the clock was wrong");
    }

    #[test]
    fn only_endpoints_with_a_list_are_asked_unless_a_setting_says_so() {
        let listed = Listed::default();
        let mut other = Endpoint { base_url: Some("http://localhost:1/v1".to_owned()), ..claude() };
        assert_eq!(listed.due_at(&other, "m", 1), None);
        other.options.look_up_limits = Some(true);
        assert!(listed.due_at(&other, "m", 1).is_some());
        let mut own = claude();
        own.options.look_up_limits = Some(false);
        assert_eq!(listed.due_at(&own, "m", 1), None);
        assert_eq!(listed.due_at(&Endpoint::of(Wire::Ollama), "m", 1), None);
    }

    #[test]
    fn listed_window_yields_to_settings_and_to_what_leaves_no_room() {
        let listed = Listed::default();
        let question = listed.due_at(&claude(), "m", 1).unwrap();
        listed.tell_at(question, Some(limits(300_000)), 1);
        let fit = |has_window: bool, threshold: Option<Threshold>| {
            let model =
                ModelFacts { endpoint: Some(claude()), name: Some("m".to_owned()), ..ModelFacts::default() };
            let mut settings = Settings { model, ..Settings::default() };
            settings.budget.threshold = threshold;
            listed.fit(&mut settings, has_window);
            (settings.model.window, settings.model.window_source)
        };
        let usual = (ModelFacts::default().window, WindowSource::default());
        assert_eq!(fit(false, None), (300_000, WindowSource::Listed));
        assert_eq!(fit(true, None), usual);
        let question = listed.due_at(&claude(), "m", DAY + 1).unwrap();
        listed.tell_at(question, Some(limits(2_000)), 1);
        assert_eq!(fit(false, None).0, 2_000);
        let tenth = Threshold::from_number(0.1).ok();
        assert!(tenth.is_some());
        assert_eq!(fit(false, tenth), usual, "a prompt would have 200 tokens");
    }

    #[test]
    fn limits_outlive_the_process_and_a_broken_file_is_written_anew() {
        let folder = std::env::temp_dir().join(format!("threadhold-listed-{}", uuid::Uuid::now_v7()));
        let settings = folder.join("config.toml");
        let listed = Listed::beside(&settings);
        let question = listed.due_at(&claude(), "m", 1_000).unwrap();
        assert!(listed.tell_at(question, Some(limits(9_000)), 1_000));
        let kept = || Listed::beside(&settings).due_at(&claude(), "m", 1_001).is_none();
        assert!(kept());
        let file = settings.with_file_name(FILE);
        for broken in ["", "{", "[]", r#"{"version":2,"models":{}}"#, r#"{"version":1,"models":{"a":1}}"#] {
            std::fs::write(&file, broken).unwrap();
            assert!(!kept(), "{broken}");
        }
        let again = Listed::beside(&settings);
        let question = again.due_at(&claude(), "m", 1_000).unwrap();
        again.tell_at(question, Some(limits(9_000)), 1_000);
        assert!(kept());
        let names = std::fs::read_dir(settings.parent().unwrap()).unwrap();
        assert_eq!(names.count(), 1, "nothing else is left");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
