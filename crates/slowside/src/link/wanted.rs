//! Commands as the link sees them: what of a capture each looks at.

/// What a command looks at of a capture: what it does not look at costs it nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// Calls, of which only times, sizes and outcomes are asked: not what held their bytes up.
    Grouped,
    Calls,
    /// The same, and what packets say of files' names.
    Named,
    /// Calls, where a connection is told of behind the last of its calls.
    Sessions,
    /// What connections waited for; of calls only how many there are.
    Accounts,
    /// Also how many calls are outstanding, and the packets that ask for something before there are any.
    Everything,
    /// Everything, and what each connection waited for, also where its calls tell.
    Reported,
    /// The same, and what connections did in each interval of so many nanoseconds.
    Measured(i64),
    /// What connections waited for, and what they and their calls did in each interval of so many
    /// nanoseconds.
    Series(i64),
    /// Calls, and the packets that ask for something before there are any.
    Startup,
    /// Calls, and the packets of SQL*Net.
    SqlNet,
    /// Calls, and every packet as it was seen.
    Packets,
    /// The same, and what connections waited for.
    Worth,
    /// Calls, how many are outstanding, and what connections did in each interval of so many nanoseconds,
    /// told when it is over.
    Live(i64),
}

impl Wanted {
    /// Whether it is for a diagnosis.
    pub(crate) fn is_of_everything(self) -> bool {
        matches!(
            self,
            Wanted::Everything | Wanted::Reported | Wanted::Measured(_)
        )
    }

    /// Whether nothing but calls is looked at, and what they need.
    pub(crate) fn is_of_calls_alone(self) -> bool {
        matches!(self, Wanted::Calls | Wanted::Named)
    }

    /// Whether connections that the end of the capture closes may come before what else it completes.
    pub(crate) fn takes_parts(self) -> bool {
        matches!(
            self,
            Wanted::Grouped | Wanted::Calls | Wanted::Named | Wanted::Accounts | Wanted::Live(_)
        )
    }
}
