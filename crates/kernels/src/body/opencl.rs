//! A recorded kernel function as an OpenCL C kernel. Loads, links and stores call the headers in `cl/`, so gauge compression, access widths, lane
//! vectors, cache hints and memory layout are those of the hand-written kernels. If a work-item computes several components of a site, they share
//! everything that does not depend on the component. The rest is written once for each component, with the number of the component in its names.

use std::collections::{HashMap, HashSet};

use lanefield_reference::layout::Displacement;

use super::dialect::Dialect;
use super::program::{Carry, Id, Operands as _, Operation, Program, Statement};
use super::sites::{Index, SiteAccess, SiteLanguage, Where, Word, words_of_loads};
use super::text::{Text, Writes};
use super::{BodyError, BodyKernel, FieldUse, Role};

/// The name of a kernel, and its kernel function.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Named<'a> {
    pub name: &'static str,
    pub computes: &'a str,
    pub body: BodyKernel,
}

impl Named<'_> {
    /// Refuses sums to which a loop adds.
    pub(super) fn check_sums(&self, program: &Program<SiteLanguage>) -> Result<(), BodyError> {
        match program.sums_in_loops() {
            true => Err(self.unsupported("adds to a sum within a loop", "carry the number, and add it after the loop")),
            false => Ok(()),
        }
    }

    fn unsupported(&self, does: &'static str, expected: &'static str) -> BodyError {
        BodyError::Unsupported { kernel: self.name, does, expected }
    }
}

/// How many components of a site a work-item computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Components {
    /// A site has one component.
    Only,
    /// This many components of a site.
    AtOnce(usize),
}

/// The OpenCL C text of a kernel.
///
/// # Errors
/// [`BodyError::Unsupported`]
pub fn kernel_text(
    named: Named<'_>,
    program: &Program<SiteLanguage>,
    components: Components,
) -> Result<String, BodyError> {
    named.check_sums(program)?;
    let Named { name, computes, body } = named;
    let at_once = if let Components::AtOnce(number) = components { number } else { 1 };
    let headers = [
        (true, "body.clh"),
        (body.is_stencil(), "legs.clh"),
        (body.is_stencil(), "su3.clh"),
        (body.uses_displacements(), "displaced.clh"),
        (body.is_of_words(), "words.clh"),
        (body.converted().is_some(), "converted.clh"),
        (program.draws(), "random.clh"),
        (body.sums() > 0, "reduction.clh"),
    ];
    let mut text = format!("// {name}: {computes}. Written from its body.\n\n");
    for (_, header) in headers.iter().filter(|(is_needed, _)| *is_needed) {
        text += &format!("#include \"{header}\"\n");
    }
    let (begin, end) = frame(&body, components);
    let mut writer = Writer {
        named,
        at_once,
        only: components == Components::Only,
        copy: 0,
        varying: varying(program, body.roles),
        words: words_of_loads(&program.statements),
        counts: HashMap::new(),
        text: Text { indent: 1 + begin.matches("{\n").count(), text: String::new() },
    };
    writer.statements(&program.statements)?;
    let inside = without_unused(&begin, &writer.text.text);
    let qualifier = match (body.sums(), body.is_stencil()) {
        (0, true) => "STENCIL_KERNEL",
        (0, false) => "SITE_KERNEL",
        _ => "REDUCTION_KERNEL",
    };
    let arguments = arguments(&body).join(", ");
    text += &format!("\n{qualifier} void {name}({arguments}) {{\n{inside}{end}}}\n");
    Ok(text)
}

/// The declarations of a kernel's arguments: those of the kernel function in order, then tables and counts.
fn arguments(body: &BodyKernel) -> Vec<String> {
    let mut declared = Vec::new();
    for (name, role) in body.names.iter().zip(body.roles) {
        let name = Dialect::OpenCl.named(name);
        let stored = match role {
            Role::Field { used: FieldUse::Converted, .. } => "const source_word",
            Role::Field { used: FieldUse::Write | FieldUse::Update, .. } => "stored",
            _ => "const stored",
        };
        match role {
            Role::Field { .. } | Role::Links => declared.push(format!("__global {stored}* restrict {name}")),
            Role::Scalar => declared.push(format!("real {name}")),
            Role::Complex => declared.push(format!("real {name}_re, real {name}_im")),
            Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) | Role::Coordinates => {}
        }
    }
    let table = |name: &str| format!("__global const uint* restrict {name}");
    if body.is_stencil() {
        declared.extend([table("neighbours"), table("lane_steps")]);
    }
    if body.uses_displacements() {
        declared.push(table("of_neighbours"));
    }
    declared.push("uint osites".to_owned());
    if body.is_stencil() {
        declared.push("uint boundary".to_owned());
    }
    declared.push(if body.is_of_words() { "uint words" } else { "uint parts" }.to_owned());
    if body.sums_over_slices() {
        if body.is_of_words() {
            declared.push("uint parts".to_owned());
        }
        declared.extend([table("osites_of_slices"), table("lanes_of_slices")]);
        declared.extend(["osites_a_class", "lanes_a_group", "classes"].map(|count| format!("uint {count}")));
    }
    if body.uses_coordinates() {
        declared.extend(["xy_of_osites", "zt_of_osites", "xy_of_lanes", "zt_of_lanes"].map(table));
    }
    if body.sums() > 0 {
        declared.push("REDUCTION_ARGUMENTS".to_owned());
    }
    declared
}

/// The loop over the elements of a sum over all sites, if each component counts as a site.
const ELEMENTS_OF_WORDS: &str = "    for_elements(element, osites * NSIMD) {
        const ulong component = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
";

/// The loop over the elements of a sum over all sites.
const ELEMENTS_OF_SITES: &str = "    for_elements(element, osites * parts * NSIMD) {
        const ulong component = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        const uint osite = (uint)(component / parts);
        const uint part = (uint)(component % parts);
";

/// The loop over the elements of a sum over a slice (`Slices` of the layout), in the order of memory. The number of lanes of a group is a power of
/// two.
const ELEMENTS_OF_SLICES: &str = "    const uint lane_bits = popcount(lanes_a_group - 1);
    for_elements(element, (osites_a_class * parts) << lane_bits) {
        const uint of_class = element >> lane_bits;
        const uint part = of_class % parts;
        const uint osite = osites_of_slices[plane_id() % classes * osites_a_class + of_class / parts];
        const uint lane = lanes_of_slices[plane_id() / classes * lanes_a_group + (element & (lanes_a_group - 1))];
        const ulong component = (ulong)osite * parts + part;
";

/// The number of a work-group's first sum. For sums over slices, each work-group computes one slice.
fn first_sum(body: &BodyKernel) -> String {
    if body.sums_over_slices() { format!("first_sum({})", body.sums()) } else { "0".to_owned() }
}

/// The start of a kernel, without constants that are not used.
fn without_unused(begin: &str, statements: &str) -> String {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut kept = statements.to_owned();
    for line in begin.lines().rev() {
        let declared = line.trim_start().strip_prefix("const ").and_then(|rest| rest.split(' ').nth(1));
        if declared.is_none_or(|name| kept.split(|c| !is_letter(c)).any(|word| word == name)) {
            kept = format!("{line}\n{kept}");
        }
    }
    kept
}

/// The code around the statements, which determines the components of a work-item.
fn frame(body: &BodyKernel, components: Components) -> (String, String) {
    let sums = body.sums();
    let coordinates = match body.uses_coordinates() {
        true => {
            "const vcoordinates site_xy = coordinates_of(xy_of_osites, xy_of_lanes, osite, lane);\n\
             const vcoordinates site_zt = coordinates_of(zt_of_osites, zt_of_lanes, osite, lane);\n"
        }
        false => "",
    };
    let (mut begin, end) = match (sums, body.is_of_words()) {
        (0, true) => ("    accelerator_for(component, osites) {\n".to_owned(), "    }\n".to_owned()),
        (0, false) => {
            let (parts, component) = match components {
                Components::Only => ("parts".to_owned(), String::new()),
                Components::AtOnce(1) => ("parts".to_owned(), "(ulong)osite * parts + part".to_owned()),
                Components::AtOnce(n) => (format!("parts / {n}"), format!("(ulong)osite * parts + part * {n}")),
            };
            let mut begin = format!("    accelerator_for2d(osite, osites, part, {parts}) {{\n");
            if !component.is_empty() {
                begin += &format!("        const ulong component = {component};\n");
            }
            (begin, "    }\n".to_owned())
        }
        _ => {
            let mut begin = format!("    running sum[{sums}];\n");
            for k in 0..sums {
                begin += &format!("    sum[{k}] = running_empty();\n");
            }
            begin += match (body.sums_over_slices(), body.is_of_words()) {
                (true, _) => ELEMENTS_OF_SLICES,
                (false, true) => ELEMENTS_OF_WORDS,
                (false, false) => ELEMENTS_OF_SITES,
            };
            let first = first_sum(body);
            let end = format!(
                "    }}\n    finish_group(sum, {sums}, {first}, partials, result, retired, spills, exchange);\n"
            );
            (begin, end)
        }
    };
    if sums == 0 {
        begin += "        const uint lane = accelerator_lane();\n";
    }
    for line in coordinates.lines() {
        begin += &format!("        {line}\n");
    }
    (begin, end)
}

/// The results that differ between the components of a site: those that depend on a field with several components, and all numbers carried by loops.
fn varying(program: &Program<SiteLanguage>, roles: &[Role]) -> HashSet<Id> {
    let mut varying = HashSet::new();
    for statement in program.flat() {
        match statement {
            Statement::Compute { id, operation, .. } if operation.operands().iter().any(|a| varying.contains(a)) => {
                varying.insert(*id);
            }
            Statement::Access(SiteAccess::Load { id, argument, .. } | SiteAccess::LoadWord { id, argument, .. })
                if is_repeated(roles[*argument]) =>
            {
                varying.insert(*id);
            }
            Statement::Loop { carried, .. } => varying.extend(carried.iter().map(|carry| carry.id)),
            _ => {}
        }
    }
    varying
}

fn is_repeated(role: Role) -> bool {
    matches!(role, Role::Field { repeated: true, .. })
}

struct Writer<'a> {
    named: Named<'a>,
    at_once: usize,
    /// Whether a site has one component.
    only: bool,
    /// The component of the work-item for which code is being written.
    copy: usize,
    varying: HashSet<Id>,
    /// The loads and words that results stand for.
    words: HashMap<Id, Word>,
    /// The number of names so far, by prefix.
    counts: HashMap<String, usize>,
    text: Text,
}

impl Writes<SiteLanguage> for Writer<'_> {
    fn text(&mut self) -> &mut Text {
        &mut self.text
    }
    fn dialect(&self) -> Dialect {
        Dialect::OpenCl
    }
    /// The name of a result, or of a word of a load.
    fn named(&self, id: Id) -> String {
        let Some(word) = self.words.get(&id) else { return self.name(id) };
        let (load, k) = (self.name(word.load), word.number);
        if word.of_link { format!("{load}.row[{}].element[{}]", k / 3, k % 3) } else { format!("{load}[{k}]") }
    }
    fn is_in_place(&self, id: Id) -> bool {
        self.words.contains_key(&id)
    }
    fn turns(&self, turns: &Index) -> String {
        if let Index::Number(turns) = turns { turns.to_string() } else { "words".to_owned() }
    }
    fn within(&mut self, scope: &std::convert::Infallible, _: &[Statement<SiteLanguage>]) -> Result<(), BodyError> {
        match *scope {}
    }

    fn input(&self, operation: &Operation) -> Option<String> {
        use Operation as O;
        Some(match operation {
            O::Word(load, k) => format!("{}[{k}]", self.name(*load)),
            O::Scalar(argument) => format!("(vreal)({})", self.argument(*argument)),
            O::ComplexScalar(argument) => {
                let scalar = self.argument(*argument);
                format!("complex_of((vreal)({scalar}_re), (vreal)({scalar}_im))")
            }
            O::Coordinate(_, direction) => {
                let (pair, shift) = pair_of(direction.index());
                format!("coordinate_of(site_{pair}, {shift})")
            }
            O::Odd(_, set) => {
                let of = |d: usize| {
                    let (pair, shift) = pair_of(d);
                    if shift == 0 { format!("site_{pair}") } else { format!("(site_{pair} >> {shift})") }
                };
                let sum: Vec<String> = (0..4).filter(|d| set >> d & 1 == 1).map(of).collect();
                format!("is_odd({})", if sum.is_empty() { "(vcoordinates)0".to_owned() } else { sum.join(" ^ ") })
            }
            _ => return None,
        })
    }

    /// Writes statements in order. Consecutive statements that differ between components are grouped by component: first all of one component, then
    /// all of the next, so that fewer numbers are alive at a time.
    fn statements(&mut self, statements: &[Statement<SiteLanguage>]) -> Result<(), BodyError> {
        let mut rest = statements;
        while !rest.is_empty() {
            let row = rest.iter().take_while(|statement| self.differs(statement)).count();
            for copy in 0..if row == 0 { 1 } else { self.at_once } {
                self.copy = copy;
                rest[..row.max(1)].iter().try_for_each(|statement| self.statement(statement))?;
            }
            self.copy = 0;
            rest = &rest[row.max(1)..];
        }
        Ok(())
    }

    fn access(&mut self, access: &SiteAccess) -> Result<(), BodyError> {
        match access {
            SiteAccess::Load { id, argument, words, place } => self.load(*id, *argument, *words, *place),
            SiteAccess::Link { id, argument, leg } => {
                let (links, point) = (self.argument(*argument), leg.point());
                self.end_of(point);
                let read = self.of_lane("read_link");
                self.line(&format!(
                    "const colour_matrix v{} = {read}{links}, osite, {point}, end{point}.phase);",
                    id.0
                ));
            }
            SiteAccess::Draw { id, numbers } => {
                let numbers = numbers.map(|number| self.named(number)).join(", ");
                self.line(&format!("vreal v{}[4];", id.0));
                self.line(&format!("draw_uniform(site_xy, site_zt, {numbers}, v{});", id.0));
            }
            SiteAccess::Write { argument, words } => self.write(*argument, words),
            SiteAccess::Sum { argument, part, term } => {
                let body = self.named.body;
                let (number, term, first) = (body.first_sum(*argument) + part, self.named(*term), first_sum(&body));
                self.line(&format!(
                    "running_add(&sum[{number}], {term}, spill_target_of(spills, {first} + {number}));"
                ));
            }
            SiteAccess::LoadWord { .. } | SiteAccess::WriteWord { .. } => {
                return Err(self.named.unsupported(
                    "accesses a word outside of a loop over all words",
                    "read and write words within `repeat(x.words(), …)`",
                ));
            }
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        turn: Id,
        turns: &Index,
        carried: &[Carry],
        statements: &[Statement<SiteLanguage>],
    ) -> Result<(), BodyError> {
        match turns {
            Index::WordsOf(_) => self.words_in_turn(turn, carried, statements),
            Index::Number(_) if !touches_words(statements) => self.turn_by_turn(turn, turns, carried, statements),
            _ => Err(self
                .named
                .unsupported("accesses words in a loop of another length", "make as many turns as there are words")),
        }
    }
}

impl Writer<'_> {
    fn argument(&self, number: usize) -> String {
        Dialect::OpenCl.named(self.named.body.names[number])
    }

    /// The name of a result.
    fn name(&self, id: Id) -> String {
        match self.varying.contains(&id) && self.at_once > 1 {
            false => format!("v{}", id.0),
            true => format!("v{}_{}", id.0, self.copy),
        }
    }

    /// Whether a statement is written once for each component of a work-item.
    fn differs(&self, statement: &Statement<SiteLanguage>) -> bool {
        match statement {
            Statement::Compute { id, .. }
            | Statement::Access(SiteAccess::Load { id, .. } | SiteAccess::LoadWord { id, .. }) => {
                self.varying.contains(id)
            }
            Statement::Access(SiteAccess::Write { argument, .. } | SiteAccess::WriteWord { argument, .. }) => {
                is_repeated(self.named.body.roles[*argument])
            }
            _ => false,
        }
    }

    /// The name of a function that depends on the lane. Usually the lane is that of the work-item, but sums number lanes in another way.
    fn of_lane(&self, function: &str) -> String {
        if self.named.body.sums() > 0 { format!("{function}_of(lane, ") } else { format!("{function}(") }
    }

    /// Writes the site to which a leg leads, if that has not been written yet.
    fn end_of(&mut self, point: usize) {
        let name = format!("end{point}");
        if *self.counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1) == 1 {
            let line = format!(
                "const leg_end {name} = {}{point}, osite, neighbours, lane_steps, boundary);",
                self.of_lane("find_neighbour")
            );
            self.line(&line);
        }
    }

    /// The steps of a displacement: for each, its point and the name of the site to which it leads.
    fn steps_of(&self, displacement: Displacement) -> Vec<(usize, String)> {
        let steps = displacement.legs().scan("far".to_owned(), |name, leg| {
            *name += &format!("_{}", leg.point());
            Some((leg.point(), name.clone()))
        });
        steps.collect()
    }

    /// Writes the site to which a displacement leads, step by step, if that has not been written yet.
    fn far_end_of(&mut self, displacement: Displacement) {
        let mut before = "begin_at(osite, lane)".to_owned();
        for (number, (point, end)) in self.steps_of(displacement).into_iter().enumerate() {
            let table = if number % 2 == 0 { "neighbours" } else { "of_neighbours" };
            if *self.counts.entry(end.clone()).and_modify(|count| *count += 1).or_insert(1) == 1 {
                self.line(&format!("const far_end {end} = step_from({before}, {point}, {table}, lane_steps);"));
            }
            before = end;
        }
    }

    /// The number of the component that is read or written.
    fn component(&self, argument: usize, place: Where) -> String {
        let site = match place {
            Where::Here => "osite".to_owned(),
            Where::At(leg) => format!("end{}.osite", leg.point()),
            Where::Displaced(displacement) => {
                format!("{}.osite", self.steps_of(displacement).pop().unwrap_or_default().1)
            }
        };
        let more = if self.copy == 0 { String::new() } else { format!(" + {}", self.copy) };
        match (is_repeated(self.named.body.roles[argument]), place) {
            (false, _) => site,
            (true, _) if self.only => site,
            (true, Where::Here) => format!("component{more}"),
            (true, _) if self.at_once > 1 => format!("(ulong){site} * parts + part * {}{more}", self.at_once),
            (true, _) => format!("(ulong){site} * parts + part"),
        }
    }

    fn load(&mut self, id: Id, argument: usize, words: usize, place: Where) {
        let field = self.argument(argument);
        match place {
            Where::Here => {}
            Where::At(leg) => self.end_of(leg.point()),
            Where::Displaced(displacement) => self.far_end_of(displacement),
        }
        let (name, component) = (self.name(id), self.component(argument, place));
        self.line(&format!("cplx {name}[{words}];"));
        let line = match place {
            Where::Here => format!("extract_words({field}, {component}, 0, {words}, {words}, lane, 0, {name});"),
            Where::At(leg) => {
                let point = leg.point();
                format!("extract_neighbour({field}, {point}, end{point}, {component}, {words}, {name});")
            }
            Where::Displaced(displacement) => {
                let steps = self.steps_of(displacement);
                let last = steps.last().map_or("", |(_, end)| end);
                format!("extract_words({field}, {component}, 0, {words}, {words}, {last}.lane, 0, {name});")
            }
        };
        self.line(&line);
        if let Where::Displaced(displacement) = place {
            for (point, end) in self.steps_of(displacement).into_iter().rev() {
                self.line(&format!("take_lanes_of_step({point}, {end}, {words}, {name});"));
            }
        }
    }

    fn write(&mut self, argument: usize, words: &[Id]) {
        let field = self.argument(argument);
        let list = words.iter().map(|word| self.named(*word)).collect::<Vec<_>>().join(", ");
        let number = self.counts.entry(field.to_owned()).and_modify(|count| *count += 1).or_insert(0);
        let name = format!("to_{field}{}", if *number == 0 { String::new() } else { format!("_{number}") });
        self.line(&format!("cplx {name}[{}] = {{{list}}};", words.len()));
        let component = self.component(argument, Where::Here);
        self.line(&format!("insert_all({field}, {component}, {}, lane, {name});", words.len()));
    }

    /// A loop over the words of any object: a few words at a time, which are all read before one is written.
    fn words_in_turn(
        &mut self,
        turn: Id,
        carried: &[Carry],
        statements: &[Statement<SiteLanguage>],
    ) -> Result<(), BodyError> {
        self.declare_carried(carried);
        let chunk = if self.named.body.sums() > 0 { "NORM_WORDS_AT_ONCE" } else { "WORDS_AT_ONCE" };
        self.open(&format!("UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += {chunk}) {{"));
        let mut written = Vec::new();
        for access in accesses(statements) {
            match access {
                SiteAccess::LoadWord { argument, .. } if written.contains(argument) => {
                    return Err(self
                        .named
                        .unsupported("reads a word after it was written", "use the number that was written"));
                }
                SiteAccess::LoadWord { id, argument, word } if *word == Index::Turn(turn) => {
                    let field = self.argument(*argument);
                    self.line(&format!("cplx v{}[{chunk}];", id.0));
                    let (extract, lane) = match self.named.body.converted() == Some(*argument) {
                        true => ("extract_converted", "lane"),
                        false => ("extract_words", "lane, 0"),
                    };
                    self.line(&format!(
                        "{extract}({field}, component, first, {chunk}, SITE_WORDS(words), {lane}, v{});",
                        id.0
                    ));
                }
                SiteAccess::WriteWord { argument, word, .. } if *word == Index::Turn(turn) => {
                    if written.contains(argument) {
                        return Err(self.named.unsupported("writes a word twice", "write each word once"));
                    }
                    written.push(*argument);
                    let field = self.argument(*argument);
                    self.line(&format!("cplx to_{field}[{chunk}];"));
                }
                _ => {}
            }
        }
        self.line("#pragma unroll");
        self.open(&format!("for (uint k = 0; k < {chunk}; ++k) {{"));
        for statement in statements {
            match statement {
                Statement::Access(SiteAccess::LoadWord { .. }) => {}
                Statement::Access(SiteAccess::WriteWord { argument, value, .. }) => {
                    let (field, value) = (self.argument(*argument), self.named(*value));
                    self.line(&format!("to_{field}[k] = {value};"));
                }
                Statement::Compute { id, kind, operation: Operation::Word(load, 0) }
                    if accesses(statements).any(|a| matches!(a, SiteAccess::LoadWord { id, .. } if id == load)) =>
                {
                    self.line(&format!("const {} v{} = v{}[k];", self.type_of(*kind), id.0, load.0));
                }
                other => self.statement(other)?,
            }
        }
        self.hand_on(carried);
        self.close();
        for argument in written {
            let field = self.argument(argument);
            self.line(&format!(
                "store_site_words({field}, component, first, {chunk}, SITE_WORDS(words), lane, to_{field});"
            ));
        }
        self.close();
        Ok(())
    }
}

fn accesses(statements: &[Statement<SiteLanguage>]) -> impl Iterator<Item = &SiteAccess> {
    statements
        .iter()
        .filter_map(|statement| if let Statement::Access(access) = statement { Some(access) } else { None })
}

fn touches_words(statements: &[Statement<SiteLanguage>]) -> bool {
    accesses(statements).any(|access| matches!(access, SiteAccess::LoadWord { .. } | SiteAccess::WriteWord { .. }))
}

/// The variable with the pair of coordinates that includes this direction, and the shift of its bits there.
fn pair_of(direction: usize) -> (&'static str, u32) {
    (if direction < 2 { "xy" } else { "zt" }, if direction.is_multiple_of(2) { 0 } else { 16 })
}
