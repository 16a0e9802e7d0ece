//! Token counting: the trait, the overheads, and a fallback without vocabulary.

/// Counts the tokens of a text. A pure function of the text: equal in every process.
pub trait TokenCount {
    /// Returns the estimator's name, shown with every figure that it produced.
    fn name(&self) -> &str;

    /// Counts the tokens of `text` alone, without any message overhead.
    fn count(&self, text: &str) -> u32;
}

/// Tokens that a wire adds per message: role, separators.
pub const PER_MESSAGE: u32 = 4;
/// Tokens that a wire adds per tool call, beside its name and arguments.
pub const PER_CALL: u32 = 8;
/// Tokens that a wire adds per tool definition, beside its name, description and schema.
pub(crate) const PER_TOOL: u32 = 8;
/// Tokens assumed for an image of unknown size. Providers charge by tiles; this is an image of 1,024 × 768.
pub(crate) const PER_IMAGE: u32 = 765;

/// A quarter of the characters, rounded up: for models with an unknown vocabulary, and for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct QuarterOfChars;

impl TokenCount for QuarterOfChars {
    fn name(&self) -> &str {
        "chars/4"
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(text.chars().count().div_ceil(4)).unwrap_or(u32::MAX)
    }
}
