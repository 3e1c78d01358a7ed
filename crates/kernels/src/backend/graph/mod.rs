//! A graph of launches: declared once, run many times. Which launch must wait for which follows from what each reads and writes, by the roles of its
//! specification; those that need not wait for each other may run side by side, on several queues of a backend that has them. The bits are those of the
//! launches one after the other.
//!
//! A graph makes its launches through a [`LaunchSequence`](super::LaunchSequence) of the backend, as iterations of conjugate gradients do. The first run makes
//! the launches. Each later one repeats what the backend kept of them, without a check, a look-up or an allocation. Scalars that were declared
//! ([`GraphBuilder::scalar`]) and persistent fields may change between runs:
//!
//! ```
//! # use lanefield_kernels::backend::{AnyField, BackendError, Cpu, graph::{GraphBuilder, GraphLaunch}};
//! # use lanefield_kernels::kernel::blas::AXPY;
//! # use lanefield_reference::field::{FieldShape, SiteObject as _, Spinors};
//! # use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, Sites};
//! # use lanefield_reference::real::{Precision, Real as _};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let backend = Cpu::new(None)?;
//! # let lattice = Lattice::new(Extents::new([4, 4, 4, 4])?, f64::COMPLEX, LatticeOptions::default())?;
//! # let shape = FieldShape { lattice, sites: Sites::Full, object: Spinors::ONE.object(), precision: Precision::F64 };
//! # let [x, other] = [0, 1].map(|_| AnyField::zeros(&backend, shape).unwrap());
//! let mut graph = GraphBuilder::new();
//! let (x, y, a) = (graph.persistent(x), graph.own(shape), graph.scalar(0.0));
//! graph.launch(GraphLaunch::new(&AXPY).write("y", y).read("x", x).varying("a", a));
//! let mut graph = graph.build(&backend, 1)?;
//! for step in 0..100 {
//!     graph.set(a, 1.0 / (1.0 + step as f64))?;
//!     graph.run(&backend)?;
//! }
//! graph.put(x, other)?;
//! graph.run(&backend)?;
//! # Ok(())
//! # }
//! ```
//!
//! A graph holds its fields. [`Lifetime`] says how long each of them lives; those that live within a run share memory where no two of them are alive at
//! once. Two neighbouring launches become one where there is a kernel that does both, and the field between them is nobody else's ([`GraphBuilder::fuse`]).
//!
//! | file | subject |
//! |---|---|
//! | `launch.rs` | launches with slots in place of fields |
//! | `plan.rs` | shared memory, edges, queues |
//! | `builder.rs` | recording and fusing launches |
//! | `run.rs` | running a graph, its fields and scalars |

mod builder;
mod launch;
mod plan;
mod run;

pub use builder::GraphBuilder;
pub use launch::{Fusion, GraphError, GraphLaunch, GraphScalar, Slot};
pub use plan::Lifetime;
pub use run::Graph;
