//! A recorded kernel function in C99, CUDA or HIP: a source that does not need the library, on arrays in site order, with the same bits. Every
//! operation calls a function that rounds once; those that a kernel uses are at the head of its source. Counterparts: `cl/complex.clh`,
//! `cl/su3.clh`.

mod about;
mod prelude;
mod source;
mod target;

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::fmt::Write as _;

use lanefield_reference::extreme::Extreme;
use lanefield_reference::layout::Displacement;
use lanefield_reference::links::LinkFormat;

use super::dialect::Dialect;
use super::opencl::Named;
use super::program::{Id, Operation, Program, Statement, flat};
use super::sites::{Index, SiteAccess, SiteLanguage, Where, Word, words_of_loads};
use super::text::{Text, Writes};
use super::{BodyError, BodyKernel, FieldUse, Role};
pub use about::origin;
use about::{about_links, order_of_words};
pub use prelude::operations;
use prelude::{functions, types};
pub use source::Source;
pub use target::Target;
use target::{other_name, real_name};

/// The source of a kernel. A comment at its head describes the arguments and their order.
///
/// # Errors
/// [`BodyError::Unsupported`]
pub fn kernel_text(named: Named<'_>, program: &Program<SiteLanguage>, target: Target) -> Result<String, BodyError> {
    let sums = SumLists::of(&named, program)?;
    let mut writer = Writer {
        named,
        target,
        has_parts: has_parts(&named.body),
        words: words_of_loads(program.flat()),
        displaced: program.displacements(),
        known_ends: BTreeSet::new(),
        known_phases: BTreeSet::new(),
        sums,
        text: Text {
            indent: if target.dialect == Dialect::C { 3 - usize::from(!has_parts(&named.body)) } else { 2 },
            text: String::new(),
        },
    };
    for statement in &program.statements {
        writer.find_ends(statement);
        writer.statement(statement)?;
    }
    Ok(writer.source().text())
}

/// Whether a site may have several components. That is so if all fields that are written may have several.
fn has_parts(body: &BodyKernel) -> bool {
    let fields = |wanted: fn(FieldUse) -> bool| {
        body.roles.iter().filter_map(move |role| match role {
            Role::Field { used, repeated, .. } if wanted(*used) => Some(*repeated),
            _ => None,
        })
    };
    let written = |used| matches!(used, FieldUse::Write | FieldUse::Update);
    match fields(written).next() {
        Some(_) => fields(written).all(|repeated| repeated),
        None => fields(|used| used == FieldUse::Read).next_back().unwrap_or(false),
    }
}

/// The terms of sums. Each statement that adds a term writes a list; the lists of a sum follow one another.
struct SumLists {
    /// The number of lists of each sum.
    of_sum: Vec<usize>,
    /// The number of lists of each sum that have been written so far.
    written: Vec<usize>,
}

impl SumLists {
    fn of(named: &Named<'_>, program: &Program<SiteLanguage>) -> Result<Self, BodyError> {
        named.check_sums(program)?;
        let mut of_sum = vec![0; named.body.sums()];
        for access in program.accesses() {
            if let SiteAccess::Sum { argument, part, .. } = access {
                of_sum[named.body.first_sum(*argument) + part] += 1;
            }
        }
        Ok(Self { written: vec![0; of_sum.len()], of_sum })
    }

    /// The first list of a sum.
    fn first(&self, sum: usize) -> usize {
        self.of_sum[..sum].iter().sum()
    }

    /// The next list of a sum.
    fn next(&mut self, sum: usize) -> usize {
        self.written[sum] += 1;
        self.first(sum) + self.written[sum] - 1
    }
}

struct Writer<'a> {
    named: Named<'a>,
    target: Target,
    has_parts: bool,
    /// The loads and words that results stand for.
    words: HashMap<Id, Word>,
    /// The displacements beyond neighbours, in the order of first use.
    displaced: Vec<Displacement>,
    known_ends: BTreeSet<usize>,
    known_phases: BTreeSet<usize>,
    sums: SumLists,
    text: Text,
}

impl Writes<SiteLanguage> for Writer<'_> {
    fn text(&mut self) -> &mut Text {
        &mut self.text
    }
    fn dialect(&self) -> Dialect {
        self.target.dialect
    }
    fn named(&self, id: Id) -> String {
        match self.words.get(&id) {
            None => format!("v{}", id.0),
            Some(word) if word.is_alone => format!("v{}", word.load.0),
            Some(word) => format!("v{}{}[{}]", word.load.0, if word.of_link { ".at" } else { "" }, word.number),
        }
    }
    fn is_in_place(&self, id: Id) -> bool {
        self.words.contains_key(&id)
    }
    fn turns(&self, turns: &Index) -> String {
        self.index(*turns)
    }
    fn within(&mut self, scope: &Infallible, _: &[Statement<SiteLanguage>]) -> Result<(), BodyError> {
        match *scope {}
    }

    fn access(&mut self, access: &SiteAccess) -> Result<(), BodyError> {
        match access {
            SiteAccess::Load { id, argument, words, place } => {
                let from = self.component(*argument, *place);
                self.line(&format!("cplx v{}[{words}];", id.0));
                self.line(&format!("load_words(v{}, {from}, {words});", id.0));
            }
            SiteAccess::LoadWord { id, argument, word } => {
                let (from, word) = (self.component(*argument, Where::Here), self.index(*word));
                let load = match self.named.body.converted() == Some(*argument) {
                    true => "load_converted",
                    false => "load_word",
                };
                self.line(&format!("const cplx v{} = {load}({from}, {word});", id.0));
            }
            SiteAccess::Link { id, argument, leg } => {
                let (links, point, reals) = (self.argument(*argument), leg.point(), self.target.links.reals());
                let phase = if self.rebuilds_links() { format!(", phase{point}") } else { String::new() };
                self.line(&format!(
                    "const link_matrix v{} = read_link({links} + {reals} * (8 * site + {point}){phase});",
                    id.0
                ));
            }
            SiteAccess::Draw { id, numbers } => {
                let numbers = numbers.map(|number| self.named(number)).join(", ");
                self.line(&format!("real v{}[4];", id.0));
                self.line(&format!("draw_uniform(coordinates + 4 * site, {numbers}, v{});", id.0));
            }
            SiteAccess::Write { argument, words } => {
                let to = self.component(*argument, Where::Here);
                for (k, word) in words.iter().enumerate() {
                    let line = format!("store_word({to}, {k}, {});", self.named(*word));
                    self.line(&line);
                }
            }
            SiteAccess::WriteWord { argument, word, value } => {
                let (to, word) = (self.component(*argument, Where::Here), self.index(*word));
                let line = format!("store_word({to}, {word}, {});", self.named(*value));
                self.line(&line);
            }
            SiteAccess::Sum { argument, part, term } => {
                let list = self.sums.next(self.named.body.first_sum(*argument) + part);
                let component = if self.has_parts { "* parts + part" } else { "" };
                let place = match (list, self.has_parts) {
                    (0, true) => "site * parts + part".to_owned(),
                    (_, true) => format!("({list} * (size_t)sites + site) {component}"),
                    (0, false) => "site".to_owned(),
                    (_, false) => format!("{list} * (size_t)sites + site"),
                };
                let line = format!("terms[{place}] = {};", self.named(*term));
                self.line(&line);
            }
        }
        Ok(())
    }

    fn input(&self, operation: &Operation) -> Option<String> {
        use Operation as O;
        Some(match operation {
            O::Word(load, k) => format!("v{}[{k}]", load.0),
            O::Scalar(argument) => self.argument(*argument),
            O::ComplexScalar(argument) => {
                let scalar = self.argument(*argument);
                format!("new_c({scalar}_re, {scalar}_im)")
            }
            O::Coordinate(_, direction) => format!("(real)coordinates[4 * site + {}]", direction.index()),
            O::Odd(_, set) => {
                let coordinate = |d: usize| format!("coordinates[4 * site + {d}]");
                let sum: Vec<String> = (0..4).filter(|d| set >> d & 1 == 1).map(coordinate).collect();
                if sum.is_empty() { "0".to_owned() } else { format!("({}) & 1", sum.join(" ^ ")) }
            }
            _ => return None,
        })
    }
}

impl Writer<'_> {
    fn argument(&self, number: usize) -> String {
        Dialect::C.named(self.named.body.names[number])
    }

    fn reads_neighbours(&self) -> bool {
        let is = |role: &Role| matches!(role, Role::Field { used: FieldUse::Neighbours, .. });
        self.named.body.roles.iter().any(is) || self.rebuilds_links()
    }

    fn rebuilds_links(&self) -> bool {
        self.named.body.roles.contains(&Role::Links) && self.target.links != LinkFormat::Full
    }

    fn index(&self, index: Index) -> String {
        match index {
            Index::Number(number) => number.to_string(),
            Index::Turn(id) => format!("v{}", id.0),
            Index::WordsOf(argument) => self.words_of(argument),
        }
    }

    /// The number of words of a component of a field.
    fn words_of(&self, argument: usize) -> String {
        match self.named.body.roles[argument] {
            Role::Field { object: Some(object), .. } => object.part_words().to_string(),
            _ => "words".to_owned(),
        }
    }

    /// The address of a component of a field.
    fn component(&self, argument: usize, place: Where) -> String {
        let site = match place {
            Where::Here => "site".to_owned(),
            Where::At(leg) => format!("end{}", leg.point()),
            Where::Displaced(displacement) => {
                let number = self.displaced.iter().position(|known| *known == displacement).unwrap_or_default();
                format!("(size_t)displaced[{} * site + {number}]", self.displaced.len())
            }
        };
        let component = match self.named.body.roles[argument] {
            Role::Field { repeated: true, .. } if self.has_parts => format!("({site} * parts + part)"),
            _ => site,
        };
        let field = self.argument(argument);
        match self.named.body.roles[argument] {
            Role::Field { object: Some(object), .. } => format!("{field} + {} * {component}", 2 * object.part_words()),
            _ => format!("{field} + 2 * words * {component}"),
        }
    }

    /// Writes the site to which each leg of a statement leads, if that has not been written yet.
    fn find_ends(&mut self, statement: &Statement<SiteLanguage>) {
        let (mut ends, mut links) = (BTreeSet::new(), BTreeSet::new());
        for statement in flat(std::slice::from_ref(statement)) {
            match statement {
                Statement::Access(SiteAccess::Load { place: Where::At(leg), .. }) => ends.insert(leg.point()),
                Statement::Access(SiteAccess::Link { leg, .. }) if self.rebuilds_links() => links.insert(leg.point()),
                _ => false,
            };
        }
        for point in ends {
            if self.known_ends.insert(point) {
                self.line(&format!("const size_t end{point} = neighbours[8 * site + {point}] & 0x7fffffffu;"));
            }
        }
        for point in links {
            if self.known_phases.insert(point) {
                self.line(&format!(
                    "const real phase{point} = phase_of(neighbours[8 * site + {point}], {point}, boundary);"
                ));
            }
        }
    }

    /// The arguments: type and name of the declaration, and description.
    fn arguments(&self) -> Vec<(String, String, String)> {
        let real = real_name(self.target.precision);
        let restrict = self.target.dialect.restrict();
        let mut arguments = Vec::new();
        let mut add = |ty: &str, name: &str, about: String| {
            arguments.push((format!("{ty} {name}"), name.to_owned(), about));
        };
        let read = |of: &str| format!("const {of}* {restrict}");
        let written = |of: &str| format!("{of}* {restrict}");
        let has_parts = self.has_parts;
        for (name, role) in self.named.body.names.iter().zip(self.named.body.roles) {
            let name = Dialect::C.named(name);
            match role {
                Role::Field { used, object, repeated } => {
                    let words = object.map_or("words".to_owned(), |object| object.part_words().to_string());
                    let parts = if *repeated && has_parts { "[parts]" } else { "" };
                    let what = object.map_or("anything".to_owned(), |object| {
                        format!("{}{}", object.name(), order_of_words(object).unwrap_or_default())
                    });
                    let (ty, does) = match used {
                        FieldUse::Read => (read(real), "read"),
                        FieldUse::Neighbours => (read(real), "read at the neighbours, on whose sites it lies"),
                        FieldUse::OddDistance => {
                            (read(real), "read at sites an odd number of steps away, on which it lies")
                        }
                        FieldUse::EvenDistance => (read(real), "read here and at sites an even number of steps away"),
                        FieldUse::Write => (written(real), "written"),
                        FieldUse::Update => (written(real), "read and written"),
                        FieldUse::Converted => {
                            (read(other_name(self.target.precision)), "read, and rounded to the numbers of the others")
                        }
                    };
                    add(&ty, &name, format!("[site]{parts}[{words} words][re, im], {does}: {what}"));
                }
                Role::Links => add(&read(real), &name, about_links(self.target.links)),
                Role::Scalar => add(real, &name, "a number, rounded to this type".to_owned()),
                Role::Complex => {
                    add(real, &format!("{name}_re"), "real part of a number, rounded to this type".to_owned());
                    add(real, &format!("{name}_im"), "its imaginary part".to_owned());
                }
                Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) | Role::Coordinates => {}
            }
        }
        if self.reads_neighbours() {
            let about = "[site][+x +y +z +t -x -y -z -t], read: in bits 0 to 30 the number of the neighbour, in bit 31 whether the step to it leaves \
                         the lattice (from the last coordinate to 0, or back)";
            add(&read("unsigned int"), "neighbours", about.to_owned());
        }
        if !self.displaced.is_empty() {
            let paths = self.displaced.iter().map(Displacement::to_string).collect::<Vec<_>>().join(" ");
            let about = format!(
                "[site][{paths}], read: the number of the site there, among the sites of the field that is read"
            );
            add(&read("unsigned int"), "displaced", about);
        }
        if self.rebuilds_links() {
            let about = "bit mu set where the boundary phase of direction mu (x = 0) is -1, bit 4 + mu where it is 0";
            add("unsigned int", "boundary", about.to_owned());
        }
        if self.named.body.uses_coordinates() {
            add(&read("unsigned int"), "coordinates", "[site][x, y, z, t], read".to_owned());
        }
        if self.named.body.is_of_words() {
            add("unsigned int", "words", "complex words of a component".to_owned());
        }
        if has_parts {
            add("unsigned int", "parts", "components of a site: spinors or colour vectors, say".to_owned());
        }
        add("unsigned int", "sites", "sites for which the kernel computes".to_owned());
        if self.named.body.sums() > 0 {
            let parts = if has_parts { "[part]" } else { "" };
            let about = format!("[list][site]{parts}, written: {}", self.about_sums());
            add(&written("double"), "terms", about);
        }
        arguments
    }

    fn about_sums(&self) -> String {
        let mut about = String::new();
        let mut sum = 0;
        for (name, role) in self.named.body.names.iter().zip(self.named.body.roles) {
            for part in 0..role.sums() {
                let (first, lists) = (self.sums.first(sum), self.sums.of_sum[sum]);
                let which = match (role.sums(), part) {
                    (1, _) => String::new(),
                    (_, 0) => ", real part".to_owned(),
                    _ => ", imaginary part".to_owned(),
                };
                // Writing to a string does not fail.
                let _ = match lists {
                    0 => write!(about, "no list for the sum {name}{which}, which is 0; "),
                    1 => write!(about, "list {first} for the sum {name}{which}; "),
                    _ => write!(about, "lists {first} to {} for the sum {name}{which}; ", first + lists - 1),
                };
                sum += 1;
            }
        }
        let (name, each) = (self.name(), if self.has_parts { "sites * parts" } else { "sites" });
        let of_lists = |function: String| {
            format!("{name}_{function}(terms + its first list * {each}, its lists * {each}), on the host")
        };
        if let Some(extreme) = self.named.body.extreme() {
            return about.replace("the sum", &format!("the {extreme}"))
                + &format!("it is {}", of_lists(extreme.to_string()));
        }
        if self.named.body.sums_over_slices() {
            about += "a sum over a slice takes the terms of the slice's sites; ";
        }
        about + &format!("a sum is the exact one of its lists, rounded once: {}", of_lists("sum".to_owned()))
    }

    fn name(&self) -> String {
        Dialect::C.named(self.named.name)
    }

    /// The comment at the head: the kernel, how to compile it, and the layout of its arguments.
    fn head(&self) -> Vec<String> {
        let Target { dialect, precision, links, legs } = self.target;
        let body = &self.named.body;
        let mut about = vec![format!("{}: {}. In {precision}.", self.named.name, self.named.computes)];
        if body.roles.contains(&Role::Links) {
            about.push(format!("Links of {} reals; legs in the order {legs}.", links.reals()));
        }
        about.extend(origin(dialect, "kernel", ", which docs/arithmetic.md there defines", ""));
        if dialect != Dialect::C {
            let of = if self.has_parts { "component of a site: sites * parts of them" } else { "site" };
            about
                .push(format!("A thread computes one {of}; blocks of any size in one dimension, which may stick out."));
        }
        about.push(String::new());
        about.push(
            "Sites are numbered as the caller likes, from 0 on; a field that is read at neighbours may have a numbering of its own. Arrays have no gaps, \
             the last index is the fastest. Arrays that are written overlap no other."
                .to_owned(),
        );
        about
    }

    fn source(&self) -> Source {
        let (target, body) = (self.target, &self.text.text);
        let (dialect, thread) = (target.dialect, Source::THREAD);
        let begin = match (dialect, self.has_parts) {
            (Dialect::C, true) => {
                "    for (size_t site = 0; site < sites; ++site) {\n        for (size_t part = 0; part < parts; ++part) {\n".to_owned()
            }
            (Dialect::C, false) => "    for (size_t site = 0; site < sites; ++site) {\n".to_owned(),
            (_, true) => format!(
                "    const size_t component = {thread};\n    const size_t site = component / parts, part = component % parts;\n    if (site < sites) {{\n"
            ),
            (_, false) => format!("    const size_t site = {thread};\n    if (site < sites) {{\n"),
        };
        let end = if dialect == Dialect::C && self.has_parts { "        }\n    }\n" } else { "    }\n" };
        let arguments = self.arguments();
        let widest = arguments.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
        let mut head = self.head();
        head.extend(arguments.iter().map(|(_, name, about)| format!("  {name:widest$}  {about}")));
        Source {
            dialect,
            name: self.name(),
            head,
            indent: widest + 4,
            types: types(target, body),
            functions: functions(target),
            arguments: arguments.into_iter().map(|(declared, ..)| declared).collect(),
            inside: format!("{begin}{body}{end}"),
            after: self.one_of_terms(),
        }
    }

    /// The function that reduces the terms to one number, if the kernel has sums or an extreme.
    fn one_of_terms(&self) -> String {
        match self.named.body.sums() {
            0 => String::new(),
            _ => one_of_terms(self.target.dialect, &self.name(), self.named.body.extreme()),
        }
    }
}

/// A host function that computes the exact sum, or the extreme, of the terms that a kernel writes.
pub fn one_of_terms(dialect: Dialect, kernel: &str, extreme: Option<Extreme>) -> String {
    let text = match extreme {
        Some(extreme) => {
            let (none, beyond, of_zeros) = match extreme {
                Extreme::Greatest => ("-INFINITY", ">", "!signbit(term)"),
                Extreme::Least => ("INFINITY", "<", "signbit(term)"),
            };
            let function = format!("{kernel}_{extreme}");
            let places = [("EXTREME_OF", &*function), ("NONE", none), ("BEYOND", beyond), ("OF_ZEROS", of_zeros)];
            let fill = |text: String, (place, with): &(&str, &str)| text.replace(place, with);
            places.iter().fold(include_str!("extreme.c").to_owned(), fill)
        }
        None => include_str!("exact_sum.c").replace("EXACT_SUM", &format!("{kernel}_sum")),
    };
    // A function that C can call.
    let in_cpp = text.replacen("\ndouble ", "\nextern \"C\" double ", 1);
    match dialect {
        Dialect::C => format!("\n{text}"),
        Dialect::Cuda => format!("\n#ifndef __CUDACC_RTC__\n{in_cpp}#endif\n"),
        _ => format!("\n{in_cpp}"),
    }
}
