//! Effects of shell commands on files, as clients see them.

use protocol::command::{
    CommandEffect, CommandEffectKind, CommandEffectsParams, CommandEffectsResult, CommandUnknown,
    CommandUnknownReason,
};
use shell::{Effect, Effects, Kind, Reason, Unknown};

/// Reads a command.
pub fn command_effects(params: &CommandEffectsParams) -> CommandEffectsResult {
    let CommandEffectsParams { command, cwd, shell } = params;
    let Effects { effects, unknown, programs, folders: _ } =
        shell::effects(command, cwd.as_deref(), shell.as_deref());
    CommandEffectsResult {
        effects: effects.into_iter().map(effect).collect(),
        unknown: unknown.into_iter().map(unknown_part).collect(),
        programs,
    }
}

fn unknown_part(Unknown { part, reason }: Unknown) -> CommandUnknown {
    let reason = match reason {
        Reason::Program => CommandUnknownReason::Program,
        Reason::Worktree => CommandUnknownReason::Worktree,
        Reason::Path => CommandUnknownReason::Path,
        Reason::Dynamic => CommandUnknownReason::Dynamic,
        Reason::Syntax => CommandUnknownReason::Syntax,
        Reason::Shell => CommandUnknownReason::Shell,
        Reason::Limit => CommandUnknownReason::Limit,
    };
    CommandUnknown { part, reason }
}

fn effect(effect: Effect) -> CommandEffect {
    let Effect { kind, path, from, if_folder, is_pattern, is_certain } = effect;
    let kind = match kind {
        Kind::Read => CommandEffectKind::Read,
        Kind::Create => CommandEffectKind::Create,
        Kind::Write => CommandEffectKind::Write,
        Kind::Delete => CommandEffectKind::Delete,
        Kind::Move => CommandEffectKind::Move,
        Kind::MakeFolder => CommandEffectKind::MakeFolder,
    };
    CommandEffect { kind, path, from, if_folder, pattern: is_pattern, certain: is_certain }
}
