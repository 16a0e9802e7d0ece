//! Programs that handle files which their arguments name.

use crate::options::{NONE, Options, Takes};
use crate::path::name;
use crate::sink::Sink;
use crate::word::Word;
use crate::{Kind, Reason};

/// Programs that show the content of their operands, with their options that take a value.
const READERS: &[(&str, Takes)] = &[
    (
        "bat",
        Takes {
            short: "rHlm",
            long: &["line-range", "highlight-line", "language", "style", "theme", "paging"],
        },
    ),
    ("batcat", Takes { short: "rHlm", long: &["line-range", "language", "style", "theme", "paging"] }),
    ("cat", NONE),
    ("head", Takes { short: "nc", long: &["lines", "bytes"] }),
    ("less", Takes { short: "pPtT", long: &[] }),
    ("more", NONE),
    ("nl", Takes { short: "bdfhilnsvw", long: &[] }),
    ("tac", Takes { short: "s", long: &[] }),
    ("tail", Takes { short: "ncs", long: &["lines", "bytes", "pid"] }),
];

const COPY: Takes = Takes { short: "tS", long: &["target-directory", "suffix"] };
const INSTALL: Takes =
    Takes { short: "tSmog", long: &["target-directory", "suffix", "mode", "owner", "group"] };

/// Adds the effects of a program; `false` if it is none of these. `words` are those after its name.
pub(crate) fn read(program: &str, words: &[Word], sink: &mut Sink) -> bool {
    if let Some((_, takes)) = READERS.iter().find(|(reader, _)| *reader == program) {
        // `head -20` and `tail +5`.
        let is_file = |word: &&Word| !word.text.starts_with('+');
        let options = Options::of(words, takes);
        options.operands.iter().filter(is_file).for_each(|word| sink.effect(Kind::Read, word));
        return true;
    }
    match program {
        "rm" | "unlink" | "trash" | "trash-put" | "rmdir" => all(Kind::Delete, words, &NONE, sink),
        "shred" => {
            let options = Options::of(words, &Takes { short: "ns", long: &["iterations", "size"] });
            let kind = if options.has(&["u", "remove"]) { Kind::Delete } else { Kind::Write };
            each(kind, &options.operands, sink);
        }
        "mv" => copied(words, &COPY, true, sink),
        "cp" | "gcp" => copied(words, &COPY, false, sink),
        "install" if Options::of(words, &INSTALL).has(&["d", "directory"]) => {
            all(Kind::MakeFolder, words, &INSTALL, sink);
        }
        "install" => copied(words, &INSTALL, false, sink),
        "ln" => linked(words, sink),
        "touch" => {
            let options = Options::of(words, &Takes { short: "rdt", long: &["reference", "date", "time"] });
            if !options.has(&["c", "no-create"]) {
                each(Kind::Write, &options.operands, sink);
            }
        }
        "mkdir" => all(Kind::MakeFolder, words, &Takes { short: "m", long: &["mode"] }, sink),
        "tee" | "sponge" => all(Kind::Write, words, &NONE, sink),
        "truncate" => all(Kind::Write, words, &Takes { short: "sr", long: &["size", "reference"] }, sink),
        "dos2unix" | "unix2dos" => all(Kind::Write, words, &NONE, sink),
        "dd" => {
            for word in words {
                if let Some(path) = word.text.strip_prefix("of=") {
                    sink.effect(Kind::Write, &word.with(path));
                } else if let Some(path) = word.text.strip_prefix("if=") {
                    sink.effect(Kind::Read, &word.with(path));
                }
            }
        }
        "sort" => output(words, &Takes { short: "oktST", long: &["output"] }, &["o", "output"], sink),
        "curl" => fetched(words, sink),
        _ => return false,
    }
    true
}

/// Adds one effect per operand.
fn all(kind: Kind, words: &[Word], takes: &Takes, sink: &mut Sink) {
    each(kind, &Options::of(words, takes).operands, sink);
}

fn each(kind: Kind, operands: &[Word], sink: &mut Sink) {
    operands.iter().for_each(|word| sink.effect(kind, word));
}

/// Adds the effect of an option that names an output file.
fn output(words: &[Word], takes: &Takes, names: &[&str], sink: &mut Sink) {
    if let Some(path) = Options::of(words, takes).value(names) {
        sink.effect(Kind::Write, path);
    }
}

/// `curl -o FILE`, and `-O`, which takes the name from the address.
fn fetched(words: &[Word], sink: &mut Sink) {
    let takes = Takes {
        short: "oHXdFuAbcetTwmK",
        long: &[
            "output",
            "header",
            "request",
            "data",
            "data-raw",
            "data-binary",
            "form",
            "user",
            "max-time",
            "retry",
            "url",
            "write-out",
            "user-agent",
        ],
    };
    let options = Options::of(words, &takes);
    if let Some(path) = options.value(&["o", "output"]) {
        sink.effect(Kind::Write, path);
    }
    if options.has(&["O", "remote-name", "remote-name-all", "J"]) {
        for address in &options.operands {
            let path = address.text.split(['?', '#']).next().unwrap_or_default();
            let file = Word { is_pattern: false, ..address.with(name(path)) };
            sink.effect(Kind::Write, &file);
        }
    }
}

/// `mv`, `cp` and `install`: sources and a target, which may be a folder.
fn copied(words: &[Word], takes: &Takes, is_moved: bool, sink: &mut Sink) {
    let options = Options::of(words, takes);
    let was_certain = sink.is_certain;
    // Both leave an existing target alone, or a newer one.
    let keeps = ["n", "no-clobber", "u", "update"];
    sink.is_certain &= !options.has(&keeps);
    into_target(&options, is_moved, sink);
    sink.is_certain = was_certain;
}

/// Adds the effects of sources and their target: the last operand, or that of `-t`.
pub(crate) fn into_target(options: &Options, is_moved: bool, sink: &mut Sink) {
    let named = options.value(&["t", "target-directory"]);
    let (sources, target) = match (named, options.operands.as_slice()) {
        (Some(folder), sources) => (sources, folder),
        (None, [sources @ .., target]) if !sources.is_empty() => (sources, target),
        // An unknown word may stand for several.
        (None, operands) => {
            if operands.iter().any(|word| !word.is_known) {
                sink.unclear(Reason::Path);
            }
            return;
        }
    };
    let is_file = options.has(&["T", "no-target-directory"]);
    let is_several = named.is_some()
        || sources.len() > 1
        || sources.iter().any(|source| source.is_pattern && !target.is_pattern);
    for source in sources {
        let is_into = match is_file {
            true => Some(false),
            false if is_several || is_folder(&target.text) => Some(true),
            false if is_likely_file(&source.text, &target.text) => Some(false),
            false => None,
        };
        sink.copy_or_move(source, target, is_into, is_moved);
    }
}

/// `true` if a path can only be a folder.
pub(crate) fn is_folder(path: &str) -> bool {
    path.ends_with('/') || matches!(name(path), "." | ".." | "~")
}

/// `true` if a target has a file's extension, which a folder hardly has; a hidden file's name has none.
fn is_likely_file(source: &str, target: &str) -> bool {
    let extension =
        |path: &str| name(path).trim_start_matches('.').rsplit_once('.').map(|(_, end)| end.to_owned());
    let is_backup = name(target).starts_with(name(source)) && name(target) != name(source);
    is_backup || extension(target).is_some()
}

/// `ln`: its link is the last operand, or in the working directory.
fn linked(words: &[Word], sink: &mut Sink) {
    let options = Options::of(words, &COPY);
    match (options.value(&["t", "target-directory"]), options.operands.as_slice()) {
        (Some(folder), targets) => {
            targets.iter().for_each(|target| sink.effect_in(Kind::Write, folder, target));
        }
        (None, [target]) => sink.effect(Kind::Write, &target.with(name(&target.text))),
        (None, [targets @ .., link]) if targets.len() > 1 || is_folder(&link.text) => {
            targets.iter().for_each(|target| sink.effect_in(Kind::Write, link, target));
        }
        (None, [_, link]) => sink.effect(Kind::Write, link),
        (None, _) => {}
    }
}
