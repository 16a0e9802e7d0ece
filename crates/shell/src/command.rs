//! A command's words: prefixes such as `sudo` are stripped, shells inside are read again, and the program is found.

use crate::options::{Options, Takes};
use crate::path::{joined, name};
use crate::read::{Reader, State};
use crate::sink::Sink;
use crate::word::Word;
use crate::{Reason, edit, files, git, known, patch};

/// Deepest nesting of shells in shells.
const MOST_SHELLS: u32 = 3;
/// Most prefixes of one command.
const MOST_PREFIXES: usize = 16;
/// Shells that are read when a command starts them.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];

/// Programs that run the command behind them, with their options that take a value and their operands before it.
const PREFIXES: &[(&str, Takes, usize)] = &[
    ("builtin", Takes { short: "", long: &[] }, 0),
    ("caffeinate", Takes { short: "tw", long: &[] }, 0),
    ("chronic", Takes { short: "", long: &[] }, 0),
    ("command", Takes { short: "", long: &[] }, 0),
    ("doas", Takes { short: "uC", long: &[] }, 0),
    ("env", Takes { short: "uC", long: &["unset", "chdir"] }, 0),
    ("exec", Takes { short: "a", long: &[] }, 0),
    ("ionice", Takes { short: "cn", long: &["class", "classdata"] }, 0),
    ("nice", Takes { short: "n", long: &["adjustment"] }, 0),
    ("nohup", Takes { short: "", long: &[] }, 0),
    ("npx", Takes { short: "p", long: &["package"] }, 0),
    ("bunx", Takes { short: "p", long: &["package"] }, 0),
    ("setsid", Takes { short: "", long: &[] }, 0),
    ("stdbuf", Takes { short: "ioe", long: &["input", "output", "error"] }, 0),
    ("sudo", Takes { short: "CDghpRrTtUu", long: &["user", "group", "chdir", "host", "prompt"] }, 0),
    ("time", Takes { short: "of", long: &["format", "output"] }, 0),
    ("timeout", Takes { short: "ks", long: &["kill-after", "signal"] }, 1),
    ("gtimeout", Takes { short: "ks", long: &["kill-after", "signal"] }, 1),
    ("unbuffer", Takes { short: "", long: &[] }, 0),
    ("xvfb-run", Takes { short: "esn", long: &[] }, 0),
];

/// Programs that run the command behind one of these words.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bundle", &["exec"]),
    ("hatch", &["run"]),
    ("npm", &["exec"]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("poetry", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Adds the effects of a command's words. `part` is its text, for reasons; `input` is its standard
/// input, if the text holds it.
pub(crate) fn read(words: &[Word], part: &str, input: Option<&Word>, reader: &mut Reader<'_, '_>) {
    let before = std::mem::take(&mut reader.state.sink.part);
    reader.state.sink.part = part.to_owned();
    let folder = reader.state.sink.folder.clone();
    let mut words = words;
    for _ in 0..MOST_PREFIXES {
        let Some((first, rest)) = words.split_first() else { break };
        if !first.is_known {
            reader.state.sink.unclear(Reason::Dynamic);
            break;
        }
        let program = name(&first.text);
        reader.state.sink.program(program);
        match behind(program, rest, &mut reader.state.sink) {
            Some(after) => words = after,
            None => {
                run(&first.text, program, rest, input, reader);
                break;
            }
        }
    }
    // Only `cd` itself changes the folder for good.
    if !words.first().is_some_and(|first| CHANGES_FOLDER.contains(&&*first.text)) {
        reader.state.sink.folder = folder;
    }
    reader.state.sink.part = before;
}

const CHANGES_FOLDER: &[&str] = &["cd", "chdir", "popd", "pushd", "eval"];

/// The words of the command that a prefix runs.
fn behind<'w>(program: &str, words: &'w [Word], sink: &mut Sink) -> Option<&'w [Word]> {
    if let Some((_, commands)) = RUNNERS.iter().find(|(known, _)| *known == program) {
        let (command, rest) = words.split_first()?;
        return commands
            .contains(&&*command.text)
            .then(|| without_options(rest, &Takes { short: "p", long: &["with", "package"] }));
    }
    let (_, takes, operands) = PREFIXES.iter().find(|(known, ..)| *known == program)?;
    let is_asking = |word: &Word| word.text.starts_with("-v") || word.text.starts_with("-V");
    if program == "command" && words.first().is_some_and(is_asking) {
        return None;
    }
    let rest = without_options(words, takes);
    let options = Options::of(words.get(..words.len() - rest.len()).unwrap_or_default(), takes);
    if let Some(to) = options.value(&["C", "D", "chdir"]).filter(|_| matches!(program, "env" | "sudo")) {
        enter(to, sink);
    }
    let is_variable = |word: &Word| word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let variables =
        rest.iter().take_while(|word| matches!(program, "env" | "sudo") && is_variable(word)).count();
    rest.get(variables + operands..).or(Some(&[]))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The words from the first operand on.
fn without_options<'w>(words: &'w [Word], takes: &Takes) -> &'w [Word] {
    let mut rest = words;
    while let Some((first, after)) = rest.split_first() {
        let text = &*first.text;
        if text == "--" {
            return after;
        }
        if text == "-" || !text.starts_with('-') {
            break;
        }
        let is_taking = match text.strip_prefix("--") {
            Some(long) => takes.long.contains(&long),
            None => text.chars().last().is_some_and(|letter| takes.short.contains(letter)),
        };
        rest = if is_taking { after.get(1..).unwrap_or_default() } else { after };
    }
    rest
}

/// Adds the effects of a program.
fn run(typed: &str, program: &str, words: &[Word], input: Option<&Word>, reader: &mut Reader<'_, '_>) {
    let is_script = typed.contains('/') && !typed.starts_with("/bin/") && !typed.starts_with("/usr/");
    if reader.call(typed) {
        return;
    }
    if SHELLS.contains(&program) {
        return shell(words, input, reader);
    }
    let state = &mut *reader.state;
    match program {
        "cd" | "chdir" => change(words, state),
        "pushd" => {
            state.folders.push(state.sink.folder.clone());
            change(words, state);
        }
        "popd" => state.sink.folder = state.folders.pop().flatten(),
        "apply_patch" | "applypatch" => patch::applied(words, input, &mut state.sink),
        "git" => git::read(words, &mut state.sink),
        "eval" => inner(&joined_words(words), reader),
        "su" => match Options::of(words, &Takes { short: "cs", long: &["command", "shell"] })
            .value(&["c", "command"])
        {
            Some(script) => inner(&script.clone(), reader),
            None => state.sink.unclear(Reason::Program),
        },
        "trap" => {
            if let Some(script) = words.first().filter(|word| !matches!(&*word.text, "-" | "")).cloned() {
                reader.conditionally(|reader| inner(&script, reader));
            }
        }
        "xargs" | "parallel" => each_of_input(words, state),
        "find" | "fd" => found(words, state),
        "read" | "mapfile" | "readarray" => {
            words.iter().for_each(|word| drop(state.variables.remove(&word.text)))
        }
        // A program of the worktree itself, whatever its name.
        _ if is_script && known::may_change("", words) => state.sink.unclear(Reason::Program),
        _ => {
            let is_read =
                files::read(program, words, &mut state.sink) || edit::read(program, words, &mut state.sink);
            if !is_read && known::may_change(program, words) {
                state.sink.unclear(Reason::Program);
            }
        }
    }
}

/// `cd`: to its operand, home without one, back with `-`.
fn change(words: &[Word], state: &mut State) {
    let before = state.sink.folder.clone();
    match words.iter().find(|word| word.text == "-" || !word.text.starts_with('-')) {
        None => state.sink.folder = Some("~".to_owned()),
        Some(word) if word.text == "-" => state.sink.folder = state.last_folder.take().flatten(),
        Some(word) => enter(word, &mut state.sink),
    }
    state.last_folder = Some(before);
    state.sink.entered();
}

fn enter(folder: &Word, sink: &mut Sink) {
    let is_told = folder.is_known && !folder.is_pattern;
    sink.folder = match &sink.folder {
        Some(before) if is_told => Some(joined(before, &folder.text)),
        None if is_told && crate::path::is_absolute(&folder.text) => Some(joined("", &folder.text)),
        _ => None,
    };
}

/// A shell: its `-c` text, its standard input, or a script.
fn shell(words: &[Word], input: Option<&Word>, reader: &mut Reader<'_, '_>) {
    let options = Options::of(words, &Takes { short: "oO", long: &["rcfile", "init-file"] });
    let is_informing = options.has(&["version", "help", "n"]);
    match options.operands.first() {
        _ if is_informing => {}
        // What follows the text are its arguments. Its own standard input may be that of a lone `apply_patch`.
        Some(script) if options.has(&["c"]) => match input.filter(|_| patch_alone(&script.text)) {
            Some(input) => {
                reader.state.sink.program("apply_patch");
                patch::applied(&[], Some(input), &mut reader.state.sink);
            }
            None => inner(&script.clone(), reader),
        },
        None => match input {
            Some(input) => inner(input, reader),
            None => reader.state.sink.unclear(Reason::Dynamic),
        },
        Some(_) => reader.state.sink.unclear(Reason::Program),
    }
}

fn patch_alone(script: &str) -> bool {
    matches!(script.trim(), "apply_patch" | "applypatch")
}

/// Reads a text as a command of the same shell or of one inside.
fn inner(script: &Word, reader: &mut Reader<'_, '_>) {
    let state = &mut *reader.state;
    if !script.is_known {
        return state.sink.unclear(Reason::Dynamic);
    }
    if state.shells >= MOST_SHELLS {
        return state.sink.unclear(Reason::Limit);
    }
    state.shells += 1;
    crate::read::read_inside(&script.text, state);
    state.shells -= 1;
}

fn joined_words(words: &[Word]) -> Word {
    let text = words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
    Word { is_known: words.iter().all(|word| word.is_known), ..Word::literal(&text) }
}

/// `xargs`: the files that its program gets come from its input.
fn each_of_input(words: &[Word], state: &mut State) {
    let takes = Takes {
        short: "aEIiLnPsdRJS",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "replace", "jobs"],
    };
    if let Some((program, rest)) = without_options(words, &takes).split_first() {
        with_unnamed_files(program, rest, state);
    }
}

/// `find`: only its actions may change files.
fn found(words: &[Word], state: &mut State) {
    const DELETING: &[&str] = &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];
    const RUNNING: &[&str] = &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    if words.iter().any(|word| DELETING.contains(&&*word.text)) {
        state.sink.unclear(Reason::Program);
    }
    for (at, _) in words.iter().enumerate().filter(|(_, word)| RUNNING.contains(&&*word.text)) {
        if let [program, rest @ ..] = words.get(at + 1..).unwrap_or_default() {
            let end = rest.iter().position(|word| matches!(&*word.text, ";" | "+")).unwrap_or(rest.len());
            with_unnamed_files(program, rest.get(..end).unwrap_or_default(), state);
        }
    }
}

/// A program that gets files which the text does not name: unknown unless it only reads.
fn with_unnamed_files(program: &Word, words: &[Word], state: &mut State) {
    let called = name(&program.text);
    state.sink.program(called);
    // An own sink: the effects are on other files than the words name.
    let mut apart = Sink::new(Some("/"));
    let is_read = files::read(called, words, &mut apart) || edit::read(called, words, &mut apart);
    let is_reading = is_read
        && apart.done().unknown.is_empty()
        && (is_reader(called) || (called == "sed" && !words.iter().any(|word| is_editing(&word.text))));
    let is_harmless =
        !is_read && called != "git" && !SHELLS.contains(&called) && !known::may_change(called, words);
    if !is_reading && !is_harmless {
        state.sink.unclear(Reason::Program);
    }
}

fn is_reader(program: &str) -> bool {
    ["awk", "bat", "cat", "gawk", "head", "less", "more", "nl", "sort", "tac", "tail"].contains(&program)
}

/// `true` for an option of `sed` that edits in place.
fn is_editing(word: &str) -> bool {
    word.starts_with("--in-place")
        || word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains('i'))
}
