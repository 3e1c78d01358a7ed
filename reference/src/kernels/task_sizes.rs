//! How kernels that know nothing of a field but its reals divide it into tasks.

use num_complex::Complex;

use crate::field::FieldData;
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::items_a_task;

/// Reals in memory of one field, and how many of them make a part of an outer site, and a task. To vector operations and norms, a field
/// with n parts a site is one with n times as many outer sites.
#[derive(Clone, Copy)]
pub(crate) struct TaskSizes {
    pub an_osite: usize,
    pub a_task: usize,
}

impl TaskSizes {
    pub(crate) fn of<R: Real>(field: &FieldData<R>) -> Self {
        let an_osite = field.reals_a_part();
        Self { an_osite, a_task: items_a_task(field.osites() * field.object().parts()) * an_osite }
    }

    /// Rounds what a kernel of f32 wrote into a field of these sizes.
    pub(crate) fn quantize(self, width: LaneWidth, field: &mut [Half]) {
        Half::quantize(field, self.an_osite, width.bytes() / size_of::<Complex<f32>>());
    }
}
