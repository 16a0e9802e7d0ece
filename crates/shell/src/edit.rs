//! Programs that edit files in place: `sed`, `perl`, `ruby`, `awk`, `yq`.

use crate::options::{Options, Takes};
use crate::sink::Sink;
use crate::word::Word;
use crate::{Kind, Reason};

/// Adds the effects of a program; `false` if it is none of these. `words` are those after its name.
pub(crate) fn read(program: &str, words: &[Word], sink: &mut Sink) -> bool {
    match program {
        "sed" | "gsed" => stream_editor(words, sink),
        "perl" | "ruby" => in_place(words, sink),
        "awk" | "gawk" | "mawk" | "nawk" => pattern_program(words, sink),
        "yq" => {
            let options =
                Options::of(words, &Takes { short: "pop", long: &["input-format", "output-format"] });
            // The first operand is the expression; older ones have `w FILE`.
            let kind = if options.has(&["i", "inplace"]) { Kind::Write } else { Kind::Read };
            options.operands.iter().skip(1).for_each(|word| sink.effect(kind, word));
        }
        _ => return false,
    }
    true
}

/// `sed`, BSD's and GNU's: `-i` takes no value, an attached suffix, or (BSD) a suffix as the next word.
fn stream_editor(words: &[Word], sink: &mut Sink) {
    let (mut suffix, mut has_script) = (None, false);
    let mut operands: Vec<&Word> = Vec::new();
    let mut words = words.iter().peekable();
    let mut is_open = true;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !is_open || text == "-" || !text.starts_with('-') {
            operands.push(word);
        } else if text == "--" {
            is_open = false;
        } else if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            match name {
                "in-place" => suffix = Some(value.unwrap_or_default().to_owned()),
                "expression" | "file" => {
                    has_script = true;
                    if value.is_none() {
                        words.next();
                    }
                }
                "line-length" if value.is_none() => drop(words.next()),
                _ => {}
            }
        } else {
            let mut letters = text.chars().skip(1);
            while let Some(letter) = letters.next() {
                match letter {
                    'i' | 'I' => {
                        let attached: String = letters.by_ref().collect();
                        let is_suffix = |word: &&Word| word.text.is_empty() || is_backup(&word.text);
                        let apart = if attached.is_empty() { words.next_if(is_suffix) } else { None };
                        suffix = Some(apart.map_or(attached, |word| word.text.clone()));
                    }
                    'e' | 'f' => {
                        has_script = true;
                        if letters.by_ref().next().is_none() {
                            words.next();
                        }
                        break;
                    }
                    'l' => {
                        if letters.by_ref().next().is_none() {
                            words.next();
                        }
                        break;
                    }
                    _ => {}
                }
            }
        }
    }
    let files = operands.into_iter().skip(usize::from(!has_script));
    edited(files, suffix.as_deref(), sink);
}

/// `true` for a suffix such as `.bak`.
fn is_backup(text: &str) -> bool {
    text.strip_prefix('.')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// Files are written if there is a suffix, which may be empty, else read. A suffix names the backup.
fn edited<'w>(files: impl Iterator<Item = &'w Word>, suffix: Option<&str>, sink: &mut Sink) {
    for file in files {
        let Some(suffix) = suffix else {
            sink.effect(Kind::Read, file);
            continue;
        };
        sink.effect(Kind::Write, file);
        if !suffix.is_empty() && !suffix.contains(['*', '/']) {
            sink.effect(Kind::Write, &file.with(&format!("{}{suffix}", file.text)));
        }
    }
}

/// `perl` and `ruby`: with `-i`, operands are edited; else the script may do anything.
fn in_place(words: &[Word], sink: &mut Sink) {
    let (mut suffix, mut has_script) = (None, false);
    let mut operands: Vec<&Word> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        // Options end at the first operand.
        let Some(letters) = word.text.strip_prefix('-').filter(|_| operands.is_empty()) else {
            operands.push(word);
            continue;
        };
        let mut letters = letters.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                'i' => suffix = Some(letters.by_ref().collect::<String>()),
                'e' | 'E' => {
                    has_script = true;
                    if letters.by_ref().next().is_none() {
                        words.next();
                    }
                }
                // Digits of a separator, and modules.
                '0' | 'l' => while letters.next_if(char::is_ascii_digit).is_some() {},
                'M' | 'm' | 'I' | 'F' | 'r' | 'C' | 'D' => letters.by_ref().for_each(drop),
                _ => {}
            }
        }
    }
    match suffix {
        Some(suffix) => edited(operands.into_iter().skip(usize::from(!has_script)), Some(&suffix), sink),
        None => sink.unclear(Reason::Program),
    }
}

/// `awk`: reads its operands, edits them with `-i inplace`; its program may write elsewhere.
fn pattern_program(words: &[Word], sink: &mut Sink) {
    let takes = Takes { short: "fFvieE", long: &["file", "field-separator", "assign", "include", "source"] };
    let options = Options::of(words, &takes);
    let has_script = options.has(&["f", "file", "e", "source", "E"]);
    let is_edited = options.value(&["i", "include"]).is_some_and(|word| word.text == "inplace");
    let script = options.operands.first().filter(|_| !has_script).map_or("", |word| &*word.text);
    if [">", "system(", "| \"", "|\""].iter().any(|sign| script.contains(sign)) && writes(script) {
        sink.unclear(Reason::Program);
    }
    let files = options.operands.iter().skip(usize::from(!has_script));
    let is_file = |word: &&Word| !word.text.contains('=');
    edited(files.filter(is_file), is_edited.then_some(""), sink);
}

/// `true` if a script of `awk` may write: it calls the system, pipes, or prints to a name; `>` may be a comparison.
fn writes(script: &str) -> bool {
    let prints = script.split("print").skip(1).any(|after| {
        let statement = after.split(['}', ';', '\n']).next().unwrap_or_default();
        statement.rsplit_once('>').is_some_and(|(_, target)| !target.trim_start().starts_with("\"/dev/"))
    });
    prints || ["system(", "| \"", "|\""].iter().any(|sign| script.contains(sign))
}
