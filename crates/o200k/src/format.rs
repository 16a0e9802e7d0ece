//! The format of the tables, for the build script that writes them and the program that reads them.

/// A slot of the hash table: nothing, or where a token's record starts beside some bits of the token's hash, so that
/// another token is hardly ever compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// Binary logarithm of the number of slots. Less than half of the slots are taken, so that a search for bytes that
    /// are no token, as merging does all the time, mostly ends at once.
    const BITS: u32 = 19;
    /// Bits of a record's start, counted from one.
    const START: u32 = 22;
    /// The number of slots.
    pub const COUNT: usize = 1 << Self::BITS;
    /// No token.
    pub const EMPTY: Self = Self(0);

    /// The slot of a token.
    pub fn new(start: usize, hash: u64) -> Self {
        assert!(start + 1 < 1 << Self::START, "a record at {start}");
        Self((start as u32 + 1) | (hash as u32) << Self::START)
    }

    /// A slot as it is written.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// A slot as it was written.
    #[inline]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Where the record of the token in the slot starts.
    #[inline]
    pub fn start(self) -> Option<usize> {
        (self.0 & ((1 << Self::START) - 1)).checked_sub(1).map(|start| start as usize)
    }

    /// `true` if the token in the slot may have `hash`.
    #[inline]
    pub fn agrees(self, hash: u64) -> bool {
        (self.0 ^ (hash as u32) << Self::START) >> Self::START == 0
    }

    /// The first slot in which a token with `hash` may stand.
    #[inline]
    pub fn first(hash: u64) -> usize {
        (hash >> (u64::BITS - Self::BITS)) as usize
    }

    /// The slot that follows `at`.
    #[inline]
    pub fn after(at: usize) -> usize {
        (at + 1) % Self::COUNT
    }
}

/// The head of a token's record: its length and its rank. Its bytes follow.
#[derive(Clone, Copy)]
pub struct Head(u32);

impl Head {
    /// Bytes that a head takes.
    pub const SIZE: usize = 4;

    /// The head of a token.
    pub fn new(length: usize, rank: usize) -> Self {
        assert!(length < 1 << 8 && rank < 1 << 24, "{length} bytes of rank {rank}");
        Self(length as u32 | (rank as u32) << 8)
    }

    /// A head as it is written.
    pub fn bytes(self) -> [u8; Self::SIZE] {
        self.0.to_le_bytes()
    }

    /// A head as it was written.
    #[inline]
    pub fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    /// The number of the token's bytes.
    #[inline]
    pub fn length(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// The token's rank.
    #[inline]
    pub fn rank(self) -> u32 {
        self.0 >> 8
    }
}

/// The hash of a token's bytes.
#[inline]
pub fn hash(bytes: &[u8]) -> u64 {
    /// An odd number of many ones and zeros.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(FACTOR);
        (product >> 64) as u64 ^ product as u64
    };
    let mut state = mix(FACTOR, bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = mix(state, u64::from_le_bytes(*word));
    }
    // Pieces of a fixed size are read faster than a piece of any size; they may overlap.
    let rest = match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, [first, .., last]) => {
            u64::from(*first) << 16 | u64::from(rest[rest.len() / 2]) << 8 | u64::from(*last)
        }
        (_, _, [only]) => u64::from(*only),
        _ => return state,
    };
    mix(state, rest)
}

/// Characters in a block of the table of classes. The blocks have 140 different contents, of 256 that can be told apart.
pub const BLOCK: usize = 256;

/// Classes of characters, which the vocabulary's pattern tells apart. Each character has exactly one; a value can also be a
/// set of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// Punctuation, symbols, controls, characters that are not assigned.
    pub const OTHER: Self = Self(1);
    /// Letters in upper and title case.
    pub const UPPER: Self = Self(1 << 1);
    /// Letters in lower case.
    pub const LOWER: Self = Self(1 << 2);
    /// Letters without case, and modifiers.
    pub const CASELESS: Self = Self(1 << 3);
    /// Marks, which stand with letters as well as with punctuation.
    pub const MARK: Self = Self(1 << 4);
    /// Digits and other numbers.
    pub const NUMBER: Self = Self(1 << 5);
    /// White space that ends no line.
    pub const SPACE: Self = Self(1 << 6);
    /// Line feeds and carriage returns.
    pub const BREAK: Self = Self(1 << 7);

    /// The class as it is written.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// A class as it was written.
    #[inline]
    pub fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// These classes and the others.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `true` if this class is among those of `set`.
    #[inline]
    pub fn is_of(self, set: Self) -> bool {
        self.0 & set.0 != 0
    }
}

/// The characters of each class, in the syntax of regular expressions. All that are not here are of [`Class::OTHER`].
pub const PATTERNS: [(Class, &str); 7] = [
    (Class::UPPER, r"[\p{Lu}\p{Lt}]"),
    (Class::LOWER, r"\p{Ll}"),
    (Class::CASELESS, r"[\p{Lm}\p{Lo}]"),
    (Class::MARK, r"\p{M}"),
    (Class::NUMBER, r"\p{N}"),
    (Class::SPACE, r"[\s--[\r\n]]"),
    (Class::BREAK, r"[\r\n]"),
];
