//! The arguments of a kernel: a table of them, and a check that all are given.

use crate::kernels::Known;
use crate::prelude::*;
use lanefield::kernel::{Access, FieldContents, FieldRole, Kernel, KernelArgument};

use super::super::output::table;
use super::arguments::{Named, Run};
use super::axes::{axes_in_words, axes_of_matrix, sites_in_words};

impl Run {
    /// Fails if arguments are missing, unknown, or given twice. The error lists the arguments.
    pub(super) fn require_arguments(&self, list: &Known) -> anyhow::Result<()> {
        let kernel = self.kernel;
        let mut wrong = Vec::new();
        if !kernel.takes(self.precision) {
            let known: Vec<String> = kernel.precisions.iter().map(Precision::to_string).collect();
            bail!("{kernel} takes no fields in {}: expected --precision {}", self.precision, known.join(" or "));
        }
        if self.dagger {
            bail!("--dagger: {}", dagger_of(list, kernel));
        }
        if kernel.is_onto_parity_only() && self.sites == Sites::Full {
            bail!("{kernel} computes one parity: add --sites even or --sites odd");
        }
        if kernel.is_full_only() && self.sites != Sites::Full {
            bail!("{kernel} computes all sites: leave out --sites {}", self.sites);
        }
        for role in kernel.fields() {
            let is_given = self.inputs.iter().any(|input| input.name == role.name);
            let is_written = self.outputs.iter().any(|output| output.name == role.name);
            if role.access != Access::Write && !is_given && !(self.is_made(&role) && self.config.is_some()) {
                let or = if self.is_made(&role) { "--config FILE, or " } else { "" };
                wrong.push(format!("{or}--in {}=FILE.npy is missing", role.name));
            }
            if role.access != Access::Read && !is_written && !kernel.sums() {
                wrong.push(format!("--out {}=FILE.npy is missing", role.name));
            }
        }
        for (name, option) in scalar_names(kernel) {
            let given = self.scalars.iter().chain(&self.indices).any(|known| known.name == name);
            if !given {
                wrong.push(format!("--{option} {name}=… is missing"));
            }
        }
        let reads = |name: &str| kernel.fields().any(|role| role.name == name && role.access != Access::Write);
        let writes = |name: &str| kernel.fields().any(|role| role.name == name && role.access != Access::Read);
        let takes = |name: &str, option: &str| scalar_names(kernel).any(|known| known == (name, option));
        let unknown = |option: &str, named: &Named| format!("--{option} {}: there is no such argument", named.name);
        wrong.extend(self.inputs.iter().filter(|named| !reads(&named.name)).map(|named| unknown("in", named)));
        wrong.extend(self.outputs.iter().filter(|named| !writes(&named.name)).map(|named| unknown("out", named)));
        let scalars = self.scalars.iter().filter(|named| !takes(&named.name, "scalar"));
        wrong.extend(scalars.map(|named| unknown("scalar", named)));
        let indices = self.indices.iter().filter(|named| !takes(&named.name, "indices"));
        wrong.extend(indices.map(|named| unknown("indices", named)));
        for (option, all) in [("in", &self.inputs), ("scalar", &self.scalars), ("out", &self.outputs)] {
            let twice = |(place, named): (usize, &Named)| all[..place].iter().any(|other| other.name == named.name);
            let found = all.iter().enumerate().filter(|&pair| twice(pair));
            wrong.extend(found.map(|(_, named)| format!("--{option} {} is given twice", named.name)));
        }
        let mut links =
            kernel.fields().filter(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links));
        if self.config.is_some() && !links.any(|role| self.is_made(&role)) {
            wrong.push("--config is not used: all links are read from --in".to_owned());
        }
        let has_matrix = kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Matrix(_)));
        if has_matrix && self.along_s.matrix.is_none() && (self.along_s.mass.is_none() || self.along_s.ls.is_none()) {
            wrong.push("--matrix FILE.npy, or --mass and --ls, is missing".to_owned());
        }
        ensure!(
            wrong.is_empty(),
            "{}; the arguments of {kernel} are:\n{}",
            wrong.join("; "),
            self.describe_arguments()
        );
        Ok(())
    }

    /// The arguments of the kernel as a table.
    pub(super) fn describe_arguments(&self) -> String {
        let (kernel, precision) = (self.kernel, self.precision);
        let dtype = |role: &FieldRole| match (role.holds, precision) {
            (FieldContents::Converted, _) => "any",
            (_, Precision::F64) => "complex128",
            _ => "complex64",
        };
        let mut rows = table(["argument", "what", "axes", "type"], []);
        for role in kernel.fields() {
            let is_list = kernel
                .arguments
                .iter()
                .any(|known| matches!(known, KernelArgument::Fields(name, _) if *name == role.name));
            let option = match role.access {
                Access::Read => format!("--in {}", role.name),
                Access::Write => format!("--out {}", role.name),
                Access::Update => format!("--in {0}, --out {0}", role.name),
            };
            let made = if self.is_made(&role) { ", or of --config" } else { "" };
            let listed = if is_list { ", one or several" } else { "" };
            let what = format!("{}, {}{listed}{made}", access_in_words(role.access), sites_in_words(role.at));
            rows.add_row([option, what, axes_in_words(kernel, role.holds, self.hop.links), dtype(&role).to_owned()]);
        }
        for (name, option) in scalar_names(kernel) {
            let what = match kernel.arguments.iter().find(|argument| names_of(argument).contains(&name)) {
                Some(KernelArgument::Complex(_)) => "a complex number, RE,IM",
                Some(KernelArgument::Scalars(_)) => "a number for each right-hand side",
                Some(KernelArgument::Coefficients { .. }) => "RE,IM of a matrix of all pairs of right-hand sides",
                Some(KernelArgument::Indices { .. }) => "numbers of right-hand sides",
                _ => "a number",
            };
            rows.add_row([format!("--{option} {name}"), what.to_owned(), String::new(), "float64".to_owned()]);
        }
        for argument in kernel.arguments {
            let row = match argument {
                KernelArgument::Matrix(form) => Some(["--matrix", form.name(), axes_of_matrix(*form)]),
                KernelArgument::RhsParts => Some(["--rhs-parts", "components of a right-hand side", ""]),
                KernelArgument::Slices => Some(["--direction", "across which slices are summed", ""]),
                _ => None,
            };
            rows.add_rows(row.map(|[option, what, axes]| [option, what, axes, ""]));
        }
        format!("{kernel}: {}\n{}", kernel.computes, rows.trim_fmt())
    }
}

fn dagger_of(list: &Known, kernel: &Kernel) -> String {
    let kin = |other: &&'static Kernel| {
        (other.family, other.tuned_as) == (kernel.family, kernel.tuned_as) && other.dagger != kernel.dagger
    };
    let has_matrix = kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Matrix(_)));
    match (list.every().find(kin), kernel.dagger) {
        (Some(other), Dagger::No) => format!("that of {kernel} is a kernel of its own: --kernel {other}"),
        (Some(other), Dagger::Yes) => format!("{kernel} is the dagger of {other}"),
        (None, _) if has_matrix => "that of a matrix along s is --matrix-dagger".to_owned(),
        (None, _) => format!("{kernel} has none"),
    }
}

fn access_in_words(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::Update => "read and written",
    }
}

/// The names of the numbers of an argument.
pub(super) fn names_of(argument: &KernelArgument) -> Vec<&'static str> {
    match *argument {
        KernelArgument::Scalar(name)
        | KernelArgument::Double(name)
        | KernelArgument::Complex(name)
        | KernelArgument::Coefficients { name, .. }
        | KernelArgument::Indices { name, .. } => vec![name],
        KernelArgument::Scalars(names) => names.to_vec(),
        _ => Vec::new(),
    }
}

/// The numbers of a kernel's arguments, with the options that set them.
fn scalar_names(kernel: &Kernel) -> impl Iterator<Item = (&'static str, &'static str)> {
    kernel.arguments.iter().flat_map(|argument| {
        let option = if matches!(argument, KernelArgument::Indices { .. }) { "indices" } else { "scalar" };
        names_of(argument).into_iter().map(move |name| (name, option))
    })
}
