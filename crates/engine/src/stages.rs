//! Loops of stages: each stage runs as a session of its own, one after the other and repeatedly, until a
//! condition holds. Decides the next stage and the reason for the end; the shell runs the stages.

/// The end condition of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    /// The tool whose successful call ends the loop.
    pub tool: Option<String>,
    /// `true` to end the loop once there are todos and all of them are completed.
    pub todos_done: bool,
    /// The most passes through all stages; 0 counts as 1.
    pub passes: u32,
}

impl Default for Until {
    fn default() -> Self {
        Self { tool: Some("agent_finish".to_owned()), todos_done: true, passes: 1 }
    }
}

/// A running loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    count: usize,
    until: Until,
    /// The number of stages begun so far.
    begun: usize,
}

/// The outcome of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageEnd {
    /// The turn completed, with the name of the tool that ended it, if any.
    Completed(Option<String>),
    /// The stage waits for the user's answer and then continues.
    Waits,
    /// The stage was cancelled.
    Cancelled,
    /// The stage failed.
    Failed,
}

/// The next step of a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// Begin the stage with this index.
    Begin(usize),
    /// Wait until the current stage continues.
    Wait,
    /// End the loop for this reason.
    Over(Over),
}

/// The reason for a loop's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A stage called the tool that ends the loop.
    Tool,
    /// All todos are completed.
    TodosDone,
    /// All stages ran as often as allowed.
    Passes,
    /// A stage or the loop was cancelled.
    Cancelled,
    /// A stage failed.
    Failed,
}

impl Stages {
    /// Creates a loop of `count` stages with the first one begun; `None` if `count` is 0.
    pub fn new(count: usize, until: Until) -> Option<Self> {
        (count > 0).then_some(Self { count, until, begun: 1 })
    }

    /// Returns the index of the current stage.
    pub fn stage(&self) -> usize {
        (self.begun - 1) % self.count
    }

    /// Returns the current pass, counted from 1.
    pub fn pass(&self) -> usize {
        (self.begun - 1) / self.count + 1
    }

    /// Handles the end of the current stage. `todos_done` is `true` if there are todos and all of them are completed.
    pub fn ended(&mut self, how: &StageEnd, todos_done: bool) -> Next {
        let tool = match how {
            StageEnd::Waits => return Next::Wait,
            StageEnd::Cancelled => return Next::Over(Over::Cancelled),
            StageEnd::Failed => return Next::Over(Over::Failed),
            StageEnd::Completed(tool) => tool,
        };
        if tool.is_some() && *tool == self.until.tool {
            return Next::Over(Over::Tool);
        }
        if todos_done && self.until.todos_done {
            return Next::Over(Over::TodosDone);
        }
        if self.begun >= self.count.saturating_mul(self.until.passes.max(1) as usize) {
            return Next::Over(Over::Passes);
        }
        self.begun += 1;
        Next::Begin(self.stage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn done() -> StageEnd {
        StageEnd::Completed(None)
    }

    #[test]
    fn stages_run_in_order_and_repeat() {
        let mut stages = Stages::new(3, Until { passes: 2, ..Until::default() }).unwrap();
        let mut ran = vec![(stages.pass(), stages.stage())];
        while let Next::Begin(stage) = stages.ended(&done(), false) {
            ran.push((stages.pass(), stage));
        }
        assert_eq!(ran, [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]);
        assert_eq!(stages.ended(&done(), false), Next::Over(Over::Passes));
        assert_eq!(Stages::new(0, Until::default()), None);
    }

    #[test]
    fn condition_ends_loop_before_last_pass() {
        let stages = || Stages::new(2, Until { passes: 9, ..Until::default() }).unwrap();
        let by = |tool: &str| StageEnd::Completed(Some(tool.to_owned()));
        assert_eq!(stages().ended(&by("agent_finish"), false), Next::Over(Over::Tool));
        assert_eq!(stages().ended(&by("task_done"), false), Next::Begin(1), "task_done ends only its stage");
        assert_eq!(stages().ended(&done(), true), Next::Over(Over::TodosDone));
        assert_eq!(stages().ended(&StageEnd::Failed, true), Next::Over(Over::Failed));
        assert_eq!(stages().ended(&StageEnd::Cancelled, false), Next::Over(Over::Cancelled));
        let mut waits = stages();
        assert_eq!(waits.ended(&StageEnd::Waits, true), Next::Wait);
        assert_eq!(waits.ended(&done(), false), Next::Begin(1), "it continues after the answer");
        let none = Until { tool: None, todos_done: false, passes: 0 };
        assert_eq!(Stages::new(1, none).unwrap().ended(&done(), true), Next::Over(Over::Passes));
    }

    proptest! {
        #[test]
        fn loop_ends_after_all_passes(count in 1usize..6, passes in 0u32..6) {
            let mut stages = Stages::new(count, Until { tool: None, todos_done: false, passes }).unwrap();
            let mut ran = 1;
            while let Next::Begin(_) = stages.ended(&done(), false) {
                ran += 1;
                prop_assert!(ran <= count * passes.max(1) as usize);
            }
            prop_assert_eq!(ran, count * passes.max(1) as usize);
        }
    }
}
