//! A loop: stages that run one after the other and again, each as a session of its own, until a condition
//! holds. Which stage is next, and why it is over; who runs them is the shell's.

/// When a loop is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    /// A tool by which a stage ends it, where its call did not fail.
    pub tool: Option<String>,
    /// Whether it is over when something was to do and all of it is done.
    pub todos_done: bool,
    /// How often all stages run at most; at least once.
    pub passes: u32,
}

impl Default for Until {
    fn default() -> Self {
        Self { tool: Some("agent_finish".to_owned()), todos_done: true, passes: 1 }
    }
}

/// A loop that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages {
    count: usize,
    until: Until,
    /// Stages that began.
    begun: usize,
}

/// How a stage came to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageEnd {
    /// Its model had nothing more to do; the tool that ended it, where one did.
    Completed(Option<String>),
    /// It asks the user, and goes on when the user has answered.
    Waits,
    /// Somebody stopped it.
    Cancelled,
    /// It could not go on.
    Failed,
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The stage of this place begins.
    Begin(usize),
    /// The stage that waits goes on first.
    Wait,
    /// It is over; why.
    Over(Over),
}

/// Why a loop is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// A stage called the tool that ends it.
    Tool,
    /// All that was to do is done.
    TodosDone,
    /// All stages ran as often as they may.
    Passes,
    /// A stage was stopped, or the loop was.
    Cancelled,
    /// A stage could not go on.
    Failed,
}

impl Stages {
    /// A loop of this many stages; its first one begins. Nothing where there is no stage.
    pub fn new(count: usize, until: Until) -> Option<Self> {
        (count > 0).then_some(Self { count, until, begun: 1 })
    }

    /// The place of the stage that runs.
    pub fn stage(&self) -> usize {
        (self.begun - 1) % self.count
    }

    /// The pass that runs, from 1.
    pub fn pass(&self) -> usize {
        (self.begun - 1) / self.count + 1
    }

    /// The stage that runs came to rest. `todos_done` says whether something was to do and all of it is done.
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
    fn stages_run_one_after_the_other_and_again() {
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
    fn a_condition_ends_it_before_its_last_pass() {
        let stages = || Stages::new(2, Until { passes: 9, ..Until::default() }).unwrap();
        let by = |tool: &str| StageEnd::Completed(Some(tool.to_owned()));
        assert_eq!(stages().ended(&by("agent_finish"), false), Next::Over(Over::Tool));
        assert_eq!(stages().ended(&by("task_done"), false), Next::Begin(1), "that ends its stage alone");
        assert_eq!(stages().ended(&done(), true), Next::Over(Over::TodosDone));
        assert_eq!(stages().ended(&StageEnd::Failed, true), Next::Over(Over::Failed));
        assert_eq!(stages().ended(&StageEnd::Cancelled, false), Next::Over(Over::Cancelled));
        let mut waits = stages();
        assert_eq!(waits.ended(&StageEnd::Waits, true), Next::Wait);
        assert_eq!(waits.ended(&done(), false), Next::Begin(1), "the user answered, and it went on");
        let none = Until { tool: None, todos_done: false, passes: 0 };
        assert_eq!(Stages::new(1, none).unwrap().ended(&done(), true), Next::Over(Over::Passes));
    }

    proptest! {
        #[test]
        fn a_loop_ends(count in 1usize..6, passes in 0u32..6) {
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
