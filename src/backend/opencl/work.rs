//! Operations and bytes of launches, told to a timeline: what the reference counts for the same kernels, each input read once, each output
//! written once. Nothing is computed where nothing is recorded.

use lanefield_reference::field::{CloverBlocks, ColourVectors, SiteObject, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::{clover, hop, laplace};
use lanefield_reference::links::LinkFormat;

use super::{DeviceField, OpenCl};
use crate::backend::timeline::{Work, announce};

/// Operations of a difference of spinors, counted as an axpy.
const DIFFERENCE_FLOPS: u64 = 48;

/// What a vector operation or sum does: operations on a real component, and fields read or written.
fn vector_operation(kernel: &str, fields: usize) -> (u64, u64) {
    let fields = fields as u64;
    match kernel {
        "copy" => (0, 2),
        "scale" => (1, 2),
        "axpy" => (2, 3),
        "axpy_norm" | "column_axpy_norm" => (4, 3),
        "axpby_norm" => (5, 3),
        "cg_update" | "column_cg_update" => (4, 5),
        "complex_axpy" => (4, 3),
        "norm2" => (2, 1),
        "column_products" => (2, 2),
        "inner_products" => (4 * fields, fields + 1),
        "sum" | "slice_sums" => (1, 1),
        "take_columns" | "put_columns" => (0, 2),
        _ => (0, 0),
    }
}

/// Numbers of a field: sites, and objects a site.
fn sites<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> u64 {
    (field.osites() * field.lattice.nsimd()) as u64
}

/// Bytes of a real that is stored; of 16-bit storage without the scale of each spinor.
fn real_bytes<R: Vectors>() -> usize {
    R::BITS as usize / 8
}

impl OpenCl {
    fn announce(&self, work: impl FnOnce() -> Work) {
        if self.context.is_recorded() {
            announce(work());
        }
    }

    /// The next launch is a vector operation, or a sum, over fields like `field`.
    pub(super) fn announce_vector<R: Vectors, K: SiteObject>(
        &self,
        kernel: &str,
        fields: usize,
        field: &DeviceField<R, K>,
    ) {
        self.announce(|| {
            let (flops, moved) = vector_operation(kernel, fields);
            let reals = sites(field) * 2 * field.kind.words() as u64;
            Work { flops: flops * reals, bytes: moved * field.buffer.bytes() as u64 }
        });
    }

    /// The next launch is a hop onto `spinors` spinors a site of `out`.
    pub(super) fn announce_hop<R: Vectors>(&self, out: &DeviceField<R, Spinors>, links: LinkFormat, spinors: usize) {
        self.announce(|| {
            let all = sites(out) * spinors as u64;
            let each = hop::ideal_bytes_per_spinor(links, real_bytes::<R>(), spinors);
            Work { flops: all * hop::FLOPS_PER_SITE, bytes: (all as f64 * each) as u64 }
        });
    }

    /// The next launch is a product with blocks, after a hop with these links, and with χ or without.
    pub(super) fn announce_clover<R: Vectors>(
        &self,
        out: &DeviceField<R, Spinors>,
        links: Option<LinkFormat>,
        with_chi: bool,
    ) {
        self.announce(|| {
            let spinor = (2 * Spinors::WORDS * real_bytes::<R>()) as u64;
            let blocks = (2 * CloverBlocks::WORDS * real_bytes::<R>()) as u64;
            let of_links = links.map_or(0, |links| hop::ideal_bytes_per_site(links, real_bytes::<R>()) - 2 * spinor);
            let after_hop = if links.is_some() { hop::FLOPS_PER_SITE } else { 0 };
            let (difference, moved) = if with_chi { (DIFFERENCE_FLOPS, 3) } else { (0, 2) };
            let (sites, spinors) = (sites(out), out.kind.count() as u64);
            Work {
                flops: sites * spinors * (clover::FLOPS_PER_SITE + after_hop + difference),
                bytes: sites * (of_links + blocks + spinors * moved * spinor),
            }
        });
    }

    /// The next launch is the Laplacian's hop.
    pub(super) fn announce_laplace<R: Vectors>(&self, out: &DeviceField<R, ColourVectors>, links: LinkFormat) {
        self.announce(|| {
            let (sites, vectors) = (sites(out), out.kind.count());
            Work {
                flops: sites * vectors as u64 * laplace::FLOPS_PER_VECTOR,
                bytes: sites * laplace::ideal_bytes_per_site(links, real_bytes::<R>(), vectors),
            }
        });
    }

    /// The next launch reads and writes so many bytes, and computes nothing that is counted.
    pub(super) fn announce_bytes(&self, bytes: usize) {
        self.announce(|| Work { flops: 0, bytes: bytes as u64 });
    }
}
