//! What is counted of a host, and in which unit.

/// One kind of counter, whatever tool it is from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counter {
    /// Processors that neither idle nor wait for disks.
    CpuBusy,
    /// Time that a hypervisor gave to others.
    CpuSteal,
    /// Tasks that run or could.
    RunQueue,
    /// Time in which a task waited for a processor.
    CpuPressure,
    /// Time in which a task waited for a disk, or for memory.
    IoPressure,
    MemoryPressure,
    /// Tasks that wait for disks.
    Blocked,
    /// To and from swap.
    Swap,
    /// How long an I/O took, its queue included.
    DiskAwait,
    DiskUtilization,
    DiskQueue,
    /// I/Os.
    DiskOperations,
    /// Packets that the interface, its driver or its queue dropped.
    NicDrops,
    /// What the system dropped although it had arrived: full backlogs and buffers.
    SocketDrops,
    Retransmits,
    /// Of a Linux NFS server.
    NfsdCalls,
    NfsdThreads,
    /// Connections with a request that had to wait for a thread.
    NfsdQueued,
}

/// What thousandths of it are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Percent,
    Milliseconds,
    PerSecond,
    KilobytesPerSecond,
    Count,
}

impl Counter {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Counter::CpuBusy => "cpu-busy",
            Counter::CpuSteal => "cpu-steal",
            Counter::RunQueue => "run-queue",
            Counter::CpuPressure => "cpu-pressure",
            Counter::IoPressure => "io-pressure",
            Counter::MemoryPressure => "memory-pressure",
            Counter::Blocked => "blocked-tasks",
            Counter::Swap => "swap",
            Counter::DiskAwait => "disk-await",
            Counter::DiskUtilization => "disk-utilization",
            Counter::DiskQueue => "disk-queue",
            Counter::DiskOperations => "disk-operations",
            Counter::NicDrops => "nic-drops",
            Counter::SocketDrops => "socket-drops",
            Counter::Retransmits => "retransmits",
            Counter::NfsdCalls => "nfsd-calls",
            Counter::NfsdThreads => "nfsd-threads",
            Counter::NfsdQueued => "nfsd-queued",
        }
    }

    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Counter::CpuBusy
            | Counter::CpuSteal
            | Counter::CpuPressure
            | Counter::IoPressure
            | Counter::MemoryPressure
            | Counter::DiskUtilization => Unit::Percent,
            Counter::DiskAwait => Unit::Milliseconds,
            Counter::Swap => Unit::KilobytesPerSecond,
            Counter::DiskOperations
            | Counter::NicDrops
            | Counter::SocketDrops
            | Counter::Retransmits
            | Counter::NfsdCalls
            | Counter::NfsdQueued => Unit::PerSecond,
            Counter::RunQueue | Counter::Blocked | Counter::DiskQueue | Counter::NfsdThreads => {
                Unit::Count
            }
        }
    }
}

impl Unit {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Percent => "percent",
            Unit::Milliseconds => "ms",
            Unit::PerSecond => "per-second",
            Unit::KilobytesPerSecond => "kB-per-second",
            Unit::Count => "count",
        }
    }
}
