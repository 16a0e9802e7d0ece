//! `threadhold policy`: lists the built-in policies, or prints one as a file to begin with.

use super::files::{policy, print};
use super::{Failure, SUCCESS};
use clap::Args;
use engine::compact::policy::presets::ALL;
use engine::compact::policy::write;

#[derive(Debug, Args)]
pub(super) struct PolicyCommand {
    /// A built-in policy, or a policy file, to print as TOML; without it the built-in policies are listed
    #[arg(value_name = "NAME|FILE")]
    policy: Option<String>,
}

impl PolicyCommand {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        match &self.policy {
            Some(name) => print(&write(&policy(name)?))?,
            None => print(&list())?,
        }
        Ok(SUCCESS)
    }
}

/// One line for each built-in policy.
fn list() -> String {
    let lines = ALL.iter().map(|preset| {
        let aliases = match preset.aliases {
            [] => String::new(),
            aliases => format!(" (also {})", aliases.join(", ")),
        };
        format!("{:<16}{}{aliases}\n", preset.policy.name, preset.about)
    });
    lines.collect()
}
