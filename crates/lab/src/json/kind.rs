//! The kinds of JSON documents that the program prints, in the order of a report. `docs/json.md` describes each.

use serde::Serialize;

macro_rules! kinds {
    ($($kind:ident = $name:literal, $schema:literal, $title:literal;)+) => {
        /// The kind of a document: the command that printed it.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`: ", $title, ".")] #[serde(rename = $name)] $kind,)+
        }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            fn row(self) -> (&'static str, u64, &'static str) {
                match self {
                    $(Self::$kind => ($name, $schema, $title),)+
                }
            }
        }
    };
}

kinds! {
    Devices = "devices", 1, "Devices";
    Peak = "peak", 1, "Capabilities of the machine";
    Doctor = "doctor", 1, "Findings";
    Bench = "bench", 1, "Kernels";
    BenchSprint = "bench sprint", 1, "Optimisations, one after the other";
    BenchThreads = "bench threads", 1, "Sizes of work-groups";
    BenchOrders = "bench orders", 1, "Orders of the legs";
    BenchGauge = "bench gauge", 1, "Steps of gauge fields";
    BenchRanks = "bench ranks", 1, "Several ranks";
    BenchReduce = "bench reduce", 1, "Sums of large objects";
    Tune = "tune", 1, "Tuning";
    Guidelines = "guidelines", 1, "Guidelines";
    Occupancy = "occupancy", 1, "Occupancy";
    AccessKernel = "access kernel", 1, "Accesses of kernels";
    AccessPattern = "access pattern", 1, "Patterns of accesses";
    AccessRow = "access row", 1, "Rows in memory";
    EstimateKernel = "estimate kernel", 1, "Estimates of kernels";
    EstimateTraversal = "estimate traversal", 1, "Estimate of a traversal";
    EstimateWorkload = "estimate workload", 1, "Estimate of a workload";
    Counters = "counters", 1, "Counters";
    Trace = "trace", 1, "Trace";
    Solve = "solve", 1, "Solves";
    Eigen = "eigen", 1, "Eigenpairs";
    SolveDifference = "solve difference", 1, "A solve that is not its record";
    Propagator = "propagator", 1, "Propagators";
    Correlator = "correlator", 1, "Correlators";
    Flow = "flow", 1, "Gradient flows";
    Smear = "smear", 1, "Smeared configurations";
    Gaugefix = "gaugefix", 1, "Configurations in a gauge";
    Observe = "observe", 1, "Gauge observables";
    Potential = "potential", 1, "Static potential and r₀";
    SpectrumMeasure = "spectrum measure", 1, "Correlators measured";
    SpectrumFit = "spectrum fit", 1, "Masses of hadrons";
    Apply = "apply", 1, "Operators applied";
    Reduce = "reduce", 1, "Sums";
    Compare = "compare", 1, "Arrays compared";
    Config = "config", 1, "Gauge configurations";
    ConfigCheck = "config check", 1, "Defects of configurations";
    Ensemble = "ensemble", 1, "Ensembles";
    Demo = "demo", 1, "The solve of the demo";
    Verify = "verify", 1, "The bits";
    Hunt = "hunt", 1, "Random kernels";
    Source = "source", 1, "Sources";
    Run = "run", 1, "Kernels run on arrays";
    GoldenExport = "golden export", 1, "Golden data";
    GoldenCheck = "golden check", 1, "Comparison with golden data";
    VerifyRanks = "verify ranks", 1, "Same bits on ranks";
    VerifyList = "verify list", 1, "What verify compares";
    GuidelinesList = "guidelines list", 1, "What the guidelines advise";
    EstimateRanks = "estimate ranks", 1, "Estimates of many devices";
    EstimateList = "estimate list", 1, "Built-in machines";
}

impl Kind {
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// The version of its keys. It increases when a key is renamed, removed, or changes its meaning.
    pub fn schema(self) -> u64 {
        self.row().1
    }

    pub fn title(self) -> &'static str {
        self.row().2
    }

    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}
