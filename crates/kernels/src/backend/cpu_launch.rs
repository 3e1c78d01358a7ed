//! Launches of kernels on the CPU backend, also on local volumes.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

use lanefield_reference::exact::ExactSum;
use lanefield_reference::layout::Face;

use super::any_field::AnyField;
use super::cpu::{Cpu, copy};
use super::error::BackendError;
use super::ghosts::{Ghosts, Halo, HaloRoom, PacketForm, field_of, fill, has_come};
use super::host_field::HostField;
use super::launch::{Launch, Reduce};
use super::specification::{ArgumentValue, Call, HostFunction, PlainLinks};
use super::{PartialSums, Sum};

/// Fields with their halos, by the names of the arguments that read them.
type CopiesOf = Vec<(&'static str, Arc<AnyField<HostField>>)>;

/// The maximum number of face lists that are kept.
const MOST_FACES: usize = 32;

impl Cpu {
    fn plain_links(&self) -> Option<PlainLinks<'_>> {
        let links = self.plain.as_deref();
        links.map(|(configuration, boundary)| PlainLinks { configuration, boundary: *boundary })
    }

    /// The faces of a field. They are computed once.
    fn faces(&self, halo: &Halo) -> Result<Arc<[Face]>, BackendError> {
        let key = (halo.shape.lattice, halo.shape.sites, halo.reach);
        let mut faces = self.faces.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = faces.get(&key) {
            return Ok(Arc::clone(known));
        }
        let made: Arc<[Face]> = halo.faces()?.into();
        if faces.len() >= MOST_FACES {
            faces.clear();
        }
        faces.insert(key, Arc::clone(&made));
        Ok(made)
    }

    /// The fields of a call, with the halos that other ranks sent for this call or an earlier one.
    fn all_with_ghosts(&self, call: &Call<'_, Self>, halos: &mut [HaloRoom<'_>]) -> Result<CopiesOf, BackendError> {
        let copied =
            |HaloRoom { halo, .. }: &HaloRoom<'_>| Ok((copy(field_of(call, halo)?.storage())?, self.faces(halo)?));
        let mut copies: Vec<_> = halos.iter().map(copied).collect::<Result<_, BackendError>>()?;
        // In the order in which OpenCL exchanges them: other ranks may compute on a device.
        let stages: Vec<_> = halos.iter().map(|halo| halo.halo.stages(halo.room.packets().len())).collect();
        for round in 0..stages.iter().map(Vec::len).max().unwrap_or(0) {
            for ((halo, (field, faces)), stages) in halos.iter_mut().zip(&mut copies).zip(&stages) {
                if let Some(stage) = stages.get(round) {
                    fill(field, faces, halo, stage)?;
                }
            }
        }
        let mut come = Vec::with_capacity(halos.len());
        for (HaloRoom { halo, .. }, (field, _)) in halos.iter().zip(copies) {
            let copy = Arc::new(AnyField::store(self, Cow::Owned(field))?);
            has_come(halo, field_of(call, halo)?, Some(Arc::clone(&copy)));
            if halo.form != PacketForm::Whole {
                come.push((halo.name, copy));
            }
        }
        let held = call.values().iter().filter_map(|(name, value)| match value {
            ArgumentValue::Read(field) => Some((*name, field.copy_with_ghosts()?)),
            _ => None,
        });
        come.extend(held);
        Ok(come)
    }
}

/// The copies cost the CPU reference a quarter of a hop's memory traffic, but no kernel has to know about ranks. The copy of links is kept until
/// they are written.
impl Ghosts for Cpu {
    fn launch_on_part(&self, call: Call<'_, Self>, halos: &mut [HaloRoom<'_>]) -> Result<(), BackendError> {
        let copies = self.all_with_ghosts(&call, halos)?;
        let mut call = call;
        copies.iter().for_each(|(name, field)| call.read_instead(name, field));
        self.launch(call)
    }

    fn reduce_on_part(
        &self,
        call: Call<'_, Self>,
        sum: Sum,
        halos: &mut [HaloRoom<'_>],
    ) -> Result<PartialSums, BackendError> {
        let copies = self.all_with_ghosts(&call, halos)?;
        let mut call = call;
        copies.iter().for_each(|(name, field)| call.read_instead(name, field));
        self.reduce(call, sum)
    }
}

/// An exact sum with one term, which rounds to that term.
fn of_one_term(term: f64) -> ExactSum {
    let mut sum = ExactSum::new();
    sum.add(term);
    sum
}

impl Launch for Cpu {
    fn launch(&self, mut call: Call<'_, Self>) -> Result<(), BackendError> {
        call.check_launched()?;
        let kernel = call.kernel();
        match (kernel.cpu, kernel.plain, self.plain_links()) {
            (_, HostFunction::Launch(run), Some(links)) => Ok(self.run(kernel.name, || run(&mut call, &links))?),
            (HostFunction::Launch(run), ..) => Ok(self.run(kernel.name, || run(&mut call))?),
            _ => unreachable!("kernels that are launched have a function that is"),
        }
    }
}

impl Reduce for Cpu {
    fn reduce(&self, mut call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        call.check_reduced(sum)?;
        let kernel = call.kernel();
        match (kernel.cpu, kernel.plain, self.plain_links()) {
            (_, HostFunction::Reduce(run), Some(links)) => {
                let sums = self.run(kernel.name, || run(&mut call, &links, sum))?;
                Ok(match (sum, kernel.extreme()) {
                    (_, Some(extreme)) => PartialSums::Extremes(extreme, sums),
                    (Sum::Exact, _) => PartialSums::Exact(sums.into_iter().map(of_one_term).collect()),
                    (Sum::Tree(_), _) => PartialSums::Tree(sums),
                })
            }
            (HostFunction::Reduce(run), ..) => Ok(self.run(kernel.name, || run(&mut call, sum))?),
            _ => unreachable!("kernels that sum have a function that does"),
        }
    }
}
