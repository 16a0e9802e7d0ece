//! Effects of shell commands on files, as clients see them.

use protocol::command::{CommandEffect, CommandEffectKind, CommandEffectsParams, CommandEffectsResult};
use shell::{Effect, Effects, Kind};

/// Reads a command.
pub fn command_effects(params: &CommandEffectsParams) -> CommandEffectsResult {
    let CommandEffectsParams { command, cwd, shell } = params;
    let Effects { effects, unknown, programs, folders: _ } =
        shell::effects(command, cwd.as_deref(), shell.as_deref());
    CommandEffectsResult {
        effects: effects.into_iter().map(effect).collect(),
        unknown: unknown.iter().map(ToString::to_string).collect(),
        programs,
    }
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
