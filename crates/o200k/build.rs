//! Writes the tables of `src/vocabulary.rs` and `src/words.rs`. They are embedded in the binary and read in place, so a
//! process that counts has nothing to unpack first.

#[allow(dead_code, reason = "the program reads what is written here")]
#[path = "src/format.rs"]
mod format;

use format::{BLOCK, Class, Head, PATTERNS, Slot, hash};
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/format.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?);

    let (records, slots) = table(&tokens().map_err(io::Error::other)?);
    fs::write(folder.join("records"), records)?;
    fs::write(folder.join("slots"), slots)?;

    let (blocks, classes) = classes().map_err(io::Error::other)?;
    fs::write(folder.join("blocks"), blocks)?;
    fs::write(folder.join("classes"), classes)
}

/// Tokens of the vocabulary without the special ones, the first merged first.
fn tokens() -> Result<Vec<Vec<u8>>, String> {
    let vocabulary = tiktoken::encoding::o200k_base();
    (0..vocabulary.vocab_size() as u32)
        .map(|rank| {
            let token = vocabulary.decode(&[rank]);
            if token.is_empty() { Err(format!("o200k_base has no token of rank {rank}")) } else { Ok(token) }
        })
        .collect()
}

/// The hash table: the records of all tokens, and the slots that say where they start. A token has the slot of its hash or
/// the next that was free.
fn table(tokens: &[Vec<u8>]) -> (Vec<u8>, Vec<u8>) {
    assert!(2 * tokens.len() < Slot::COUNT, "{} tokens need more slots", tokens.len());
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
    for (class, pattern) in PATTERNS {
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
        blocks.push(u8::try_from(number).map_err(|_| "more than 256 blocks of characters differ")?);
    }
    Ok((blocks, contents.concat()))
}
