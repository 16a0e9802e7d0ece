//! Makes the tables of [`src/vocabulary.rs`] and [`src/words.rs`]: the program reads them where they lie, so a process that
//! counts has nothing to unpack first.

#[path = "src/format.rs"]
mod format;

use format::{BLOCK, CLASSES, Class, Head, Slot, hash};
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/format.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);

    let tokens = tokens();
    let (records, slots) = table(&tokens);
    fs::write(folder.join("records"), records)?;
    fs::write(folder.join("slots"), slots)?;

    let (blocks, classes) = classes().map_err(io::Error::other)?;
    fs::write(folder.join("blocks"), blocks)?;
    fs::write(folder.join("classes"), classes)
}

/// Tokens of the vocabulary, the first merged first. Special tokens are not among them: behind the last of the others
/// is a gap.
fn tokens() -> Vec<Vec<u8>> {
    let vocabulary = tiktoken::encoding::o200k_base();
    (0..).map(|rank| vocabulary.decode(&[rank])).take_while(|token| !token.is_empty()).collect()
}

/// The hash table: the records of all tokens, and the slots that say where they start. A token has the slot of its hash or
/// the next that was free.
fn table(tokens: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    let mut records = Vec::new();
    let mut slots = vec![Slot::EMPTY; Slot::COUNT];
    for (rank, token) in tokens.iter().enumerate() {
        let hash = hash(token);
        let mut at = Slot::first(hash);
        while slots[at] != Slot::EMPTY {
            at = Slot::after(at);
        }
        slots[at] = Slot::new(records.len(), hash);
        records.extend(Head::new(token.len(), rank).bytes());
        records.extend(token);
    }
    (records, slots.into_iter().flat_map(|slot| slot.bits().to_le_bytes()).collect())
}

/// The class of each character, in blocks: the number of each block's contents, and the contents once each.
fn classes() -> Result<(Vec<u8>, Vec<u8>), Box<dyn std::error::Error + Send + Sync>> {
    let mut of_char = vec![Class::OTHER.bits(); char::MAX as usize + 1];
    for (class, pattern) in CLASSES {
        let hir = regex_syntax::parse(pattern)?;
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set)) = hir.kind() else {
            return Err(format!("{pattern} is not a set of characters").into());
        };
        for range in set.ranges() {
            of_char[range.start() as usize..=range.end() as usize].fill(class.bits());
        }
    }
    let mut blocks = Vec::new();
    let mut contents: Vec<&[u8]> = Vec::new();
    for block in of_char.chunks(BLOCK) {
        let number = contents.iter().position(|known| *known == block).unwrap_or_else(|| {
            contents.push(block);
            contents.len() - 1
        });
        blocks.push(u8::try_from(number)?);
    }
    Ok((blocks, contents.concat()))
}
