//! The OpenCL backend as every kernel sees it: memory, launches, sums.

use std::borrow::Cow;
use std::time::Duration;

use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::layout::{LaneChoice, Stencil};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;

use super::backend::OpenCl;
use super::device::DeviceKind;
use super::queued_cg::Iterations;
use super::sequence::Sequence;
use super::storage::{DeviceStorage, DeviceTable};
use crate::backend::specification::Call;
use crate::backend::{AnyField, BackendError, HostField, Launch, LaunchSequence, Memory, QueuedIterations, Reduce};

impl Memory for OpenCl {
    type Storage = DeviceStorage;
    type Table = DeviceTable;

    fn describe(&self) -> String {
        let info = self.context.info();
        format!("{} ({}, driver {})", info.name, info.platform_name, info.driver_version)
    }

    fn building(&self) -> Duration {
        self.context.builds().time()
    }

    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        match asked_for {
            LaneChoice::Auto if self.context.info().kind != DeviceKind::Cpu => LaneChoice::OF_GPUS,
            _ => asked_for,
        }
    }

    fn takes_links(&self, format: LinkFormat, precision: Precision) -> Result<(), BackendError> {
        Ok(self.context.info().takes_links(format, precision)?)
    }

    fn allocate(&self, shape: &FieldShape) -> Result<DeviceStorage, BackendError> {
        self.context.check_process()?;
        let storage = self.room(shape)?;
        self.context.fill_zero(&storage.buffer)?;
        Ok(storage)
    }

    fn fill_zero(&self, field: &mut AnyField<DeviceStorage>) -> Result<(), BackendError> {
        self.context.check_process()?;
        Ok(self.context.fill_zero(&field.storage().buffer)?)
    }

    fn store(&self, field: Cow<'_, HostField>) -> Result<DeviceStorage, BackendError> {
        self.context.check_process()?;
        self.upload_field(&field)
    }

    fn load(&self, field: &AnyField<DeviceStorage>) -> Result<HostField, BackendError> {
        self.context.check_process()?;
        self.download_field(field)
    }

    fn stencil(&self, stencil: Stencil) -> Result<DeviceTable, BackendError> {
        self.context.check_process()?;
        self.upload_stencil(&stencil)
    }

    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<DeviceTable, BackendError> {
        self.context.check_process()?;
        self.upload_matrix(matrix, precision)
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.context.check_process()?;
        Ok(self.context.finish()?)
    }
}

impl Launch for OpenCl {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        self.context.check_process()?;
        call.check_launched()?;
        self.takes(call.shape())?;
        self.launch_call(&call, self.context.own_place()).map(drop)
    }

    fn sequence(&self, queues: usize) -> Box<dyn LaunchSequence<Self>> {
        Box::new(Sequence::new(queues))
    }
}

impl Reduce for OpenCl {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        call.check_reduced(sum)?;
        self.takes(call.shape())?;
        self.sum(&call, sum)
    }

    fn queued_iterations(&self, sum: Sum) -> Option<Box<dyn QueuedIterations<Self>>> {
        Some(Box::new(Iterations::new(self, sum)))
    }
}
