//! Images: two-dimensional arrays of four floats a texel that kernels read through the texture units, where a device has them. Fields are
//! never images; measurements compare the two ways to read.

use std::ffi::c_void;
use std::ptr;

use opencl3::device as cl;
use opencl3::memory;
use opencl3::types::{cl_image_desc, cl_image_format};

use super::context::Context;
use super::error::OpenClError;
use super::raw::{RawMem, unsigned};

/// Reals of a texel: the only number that OpenCL 1.2 promises for floats.
const REALS: usize = 4;

/// A read-only image of width × height texels of four floats. Given back when dropped.
#[derive(Debug)]
pub struct Image {
    mem: RawMem,
    extent: [usize; 2],
    what: Box<str>,
    /// The context that it was made in, to be compared only.
    context: usize,
}

impl Image {
    /// Width and height, in texels.
    pub fn extent(&self) -> [usize; 2] {
        self.extent
    }

    /// What the image is for, as errors name it.
    pub fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn mem(&self) -> opencl3::types::cl_mem {
        self.mem.get()
    }
}

impl Context {
    /// The largest width and height of an image; `None` where the device has none.
    pub fn largest_image(&self) -> Option<[usize; 2]> {
        let number = |what| unsigned(cl::get_device_data(self.device().0, what)) as usize;
        (number(cl::CL_DEVICE_IMAGE_SUPPORT) != 0)
            .then(|| [cl::CL_DEVICE_IMAGE2D_MAX_WIDTH, cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT].map(number))
    }

    /// An image of `[width, height]` texels with the given content: four reals a texel, rows one after the other.
    ///
    /// # Errors
    ///
    /// [`OpenClError::ImageSize`] unless there are four reals a texel, at least one texel, and no more than the device takes; otherwise the
    /// failing call.
    pub fn image(&self, extent: [usize; 2], texels: &[f32], what: &str) -> Result<Image, OpenClError> {
        let [width, height] = extent;
        let most = self.largest_image();
        let wanted = width.checked_mul(height).and_then(|number| number.checked_mul(REALS));
        let fits = most.is_some_and(|[most_width, most_height]| width <= most_width && height <= most_height);
        if !fits || wanted != Some(texels.len()) || texels.is_empty() {
            return Err(OpenClError::ImageSize { what: what.to_owned(), extent, reals: texels.len(), most });
        }
        let format =
            cl_image_format { image_channel_order: memory::CL_RGBA, image_channel_data_type: memory::CL_FLOAT };
        let description = cl_image_desc {
            image_type: memory::CL_MEM_OBJECT_IMAGE2D,
            image_width: width,
            image_height: height,
            image_depth: 0,
            image_array_size: 0,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: ptr::null_mut(),
        };
        // SAFETY: format and description live through the call; the content, whose size was checked, is copied by the call and not written.
        let mem = unsafe {
            memory::create_image(
                self.raw().get(),
                memory::CL_MEM_READ_ONLY | memory::CL_MEM_COPY_HOST_PTR,
                &raw const format,
                &raw const description,
                texels.as_ptr().cast::<c_void>().cast_mut(),
            )
        }
        .map(RawMem::own)
        .map_err(|status| OpenClError::call("clCreateImage", status, format!("{what}, {width} × {height} texels")))?;
        Ok(Image { mem, extent, what: what.into(), context: self.raw().get().addr() })
    }

    pub(super) fn check_owns_image(&self, image: &Image) -> Result<(), OpenClError> {
        if image.context == self.raw().get().addr() {
            Ok(())
        } else {
            Err(OpenClError::WrongContext { what: image.what.to_string(), device: self.info().name.clone() })
        }
    }
}
