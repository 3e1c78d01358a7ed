//! A graph of launches: declared once, run many times. The roles of arguments say what each launch reads and writes, and this determines which
//! launches must wait for which. The others may run concurrently, on several queues if the backend has them. The bits are those of the launches in
//! sequence.
//!
//! A graph launches through a [`LaunchSequence`](super::LaunchSequence) of the backend, like the iterations of conjugate gradients. The first run
//! launches each kernel. Later runs repeat what the backend kept of these launches, without checks, look-ups or allocations. Scalars that were
//! declared with [`GraphBuilder::scalar`], and persistent fields, may change between runs:
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
//! A graph owns its fields, and [`Lifetime`] says how long each of them lives. Fields that live within a run share memory if they are never alive at
//! the same time. Two neighbouring launches are fused if there is a kernel for both and nothing else uses the field between them
//! ([`GraphBuilder::fuse`]).
//!
//! | file | subject |
//! |---|---|
//! | `launch.rs` | launches with slots instead of fields |
//! | `plan.rs` | shared memory, dependencies, queues |
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
