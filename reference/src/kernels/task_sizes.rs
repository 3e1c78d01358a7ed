//! Division of fields into tasks, for kernels that only know a field's reals.

use num_complex::Complex;

use crate::field::FieldData;
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tasks::items_a_task;

/// The number of reals of a field in memory, of a component of an outer site, and of a task. For vector operations and norms, a field with n
/// components at a site is one with n times as many outer sites.
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

    /// Rounds the result of an f32 kernel in a field of these sizes.
    pub(crate) fn quantize(self, width: LaneWidth, field: &mut [Half]) {
        Half::quantize(field, self.an_osite, width.bytes() / size_of::<Complex<f32>>());
    }
}
