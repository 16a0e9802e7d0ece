//! Contents stored under their hash, for rows that refer to them.

use crate::postgres::fault::Done;
use crate::postgres::tx::Tx;
use crate::postgres::value::{bytes, text, values};
use engine::text::sha256_hex;
use std::collections::{BTreeMap, BTreeSet};

const CONTENTS: &str = "SELECT hash, bytes FROM blobs WHERE tenant = $1 AND hash = ANY($2)";

/// Contents that were read, and those that rows asked for.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Contents {
    read: BTreeMap<String, Result<String, String>>,
    missing: BTreeSet<String>,
}

impl Contents {
    /// Adds a content, which must be that of the hash.
    pub fn insert(&mut self, hash: String, bytes: Vec<u8>) {
        let content = if sha256_hex(&bytes) == hash {
            String::from_utf8(bytes).map_err(|error| error.to_string())
        } else {
            Err(format!("the content {hash} changed since it was written"))
        };
        self.read.insert(hash, content);
    }

    /// The content of a hash; of one that was not read, a stand-in.
    pub fn fetch(&mut self, hash: &str) -> Result<String, String> {
        match self.read.get(hash) {
            Some(content) => content.clone(),
            None => {
                self.missing.insert(hash.to_owned());
                Ok(String::new())
            }
        }
    }

    /// Reads what was asked for in vain. Returns `false` if that was nothing.
    async fn read_missing(&mut self, tx: &mut Tx<'_>) -> Done<bool> {
        if self.missing.is_empty() {
            return Ok(false);
        }
        let hashes: Vec<String> = std::mem::take(&mut self.missing).into_iter().collect();
        for row in tx.query(CONTENTS, values![&hashes[..]]).await? {
            self.insert(text(&row, 0)?, bytes(&row, 1)?);
        }
        for hash in hashes {
            let missing = format!("the content {hash} is missing");
            self.read.entry(hash).or_insert(Err(missing));
        }
        Ok(true)
    }
}

/// Values of rows and their contents: a second round trip, if there are any.
pub(in crate::postgres) async fn decoded<T>(
    tx: &mut Tx<'_>,
    contents: &mut Contents,
    decode: impl Fn(&mut Contents) -> T,
) -> Done<T> {
    loop {
        let value = decode(contents);
        if !contents.read_missing(tx).await? {
            return Ok(value);
        }
    }
}
