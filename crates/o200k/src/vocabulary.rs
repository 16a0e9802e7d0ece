//! The tokens of the vocabulary and their ranks: a hash table that is embedded in the binary and read in place.

use crate::format::{Head, Slot, hash};

/// A record of each token, by rank: its head and its bytes.
static RECORDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/records"));
/// Where the records start, by the hash of the token.
static SLOTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots"));

/// The rank of the token with these bytes, if there is one. Tokens of lower ranks are merged first.
pub fn rank(bytes: &[u8]) -> Option<u32> {
    let hash = hash(bytes);
    let mut at = Slot::first(hash);
    loop {
        let slot = Slot::from_bits(u32::from_le_bytes(SLOTS.as_chunks().0[at]));
        let record = &RECORDS[slot.start()?..];
        if slot.agrees(hash)
            && let Some((head, rest)) = record.split_first_chunk()
        {
            let head = Head::from_bytes(*head);
            if rest.get(..head.length()) == Some(bytes) {
                return Some(head.rank());
            }
        }
        at = Slot::after(at);
    }
}
