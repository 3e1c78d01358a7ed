//! A recorded body as an OpenCL C kernel. Loads, links and stores are calls of the headers in `cl/`, so that reconstruction, access widths, lanes in
//! vectors, cache hints and the layout in memory are those of the hand-written kernels. Several components of a site that a work-item takes share what
//! does not depend on them: what differs is written once for each, with its number behind the name.

use std::collections::{HashMap, HashSet};

use lanefield_reference::layout::Displacement;

use super::program::{Carry, Id, Index, Kind, Operation, Program, Statement, Where};
use super::text::{Spelling, Text, Writes, apart_from, literal, operation_text};
use super::{BodyError, BodyKernel, FieldUse, Role};

/// What a kernel is called, and of which body it is.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Named<'a> {
    pub name: &'static str,
    pub computes: &'a str,
    pub body: BodyKernel,
}

/// How many components of a site a work-item takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Components {
    /// A site has one: nothing is multiplied by their number.
    Only,
    /// So many of those of a site.
    AtOnce(usize),
}

/// The OpenCL C text of a kernel.
///
/// # Errors
/// [`BodyError::Unsupported`].
pub fn kernel_text(named: Named<'_>, program: &Program, components: Components) -> Result<String, BodyError> {
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
        varying: varying(program, body.roles),
        words: words_of_loads(program),
        counts: HashMap::new(),
        text: Text { indent: 1 + begin.matches("{\n").count(), text: String::new() },
    };
    writer.statements(&program.statements)?;
    let qualifier = match (body.sums(), body.is_stencil()) {
        (0, true) => "STENCIL_KERNEL",
        (0, false) => "__kernel",
        _ => "REDUCTION_KERNEL",
    };
    let arguments = arguments(&body).join(", ");
    text += &format!("\n{qualifier} void {name}({arguments}) {{\n{begin}{}{end}}}\n", writer.text.text);
    Ok(text)
}

/// The declarations of a kernel's arguments: those of the body in their order, then tables and counts.
fn arguments(body: &BodyKernel) -> Vec<String> {
    let mut declared = Vec::new();
    for (name, role) in body.names.iter().zip(body.roles) {
        let name = in_opencl(name);
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

/// Elements of a sum over all sites, where each component is a site.
const ELEMENTS_OF_WORDS: &str = "    for_elements(element, osites * NSIMD) {
        const size_t component = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
";

/// Elements of a sum over all sites.
const ELEMENTS_OF_SITES: &str = "    for_elements(element, osites * parts * NSIMD) {
        const size_t component = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        const uint osite = component / parts, part = component % parts;
";

/// Elements of a sum over a slice (`Slices` of the layout), in the order of memory. Lanes of a group are a power of two.
const ELEMENTS_OF_SLICES: &str = "    const uint lane_bits = popcount(lanes_a_group - 1);
    for_elements(element, (osites_a_class * parts) << lane_bits) {
        const uint of_class = element >> lane_bits, part = of_class % parts;
        const uint osite = osites_of_slices[plane_id() % classes * osites_a_class + of_class / parts];
        const uint lane = lanes_of_slices[plane_id() / classes * lanes_a_group + (element & (lanes_a_group - 1))];
        const size_t component = (size_t)osite * parts + part;
";

/// The number of a work-group's first sum: of slices, each group takes one.
fn first_sum(body: &BodyKernel) -> String {
    if body.sums_over_slices() { format!("first_sum({})", body.sums()) } else { "0".to_owned() }
}

/// What an argument is called: one whose name means something in OpenCL C, or in this text, is followed by a line.
fn in_opencl(name: &str) -> String {
    const WORDS: &str = " auto bool boundary case char classes complex_of coordinate_of coordinates_of complex draw_uniform component conj const constant continue cplx default do \
                         double element event_t exchange extract_converted extract_neighbour far_end begin_at step_from take_lanes_of_step of_neighbours extract_words fabs find_neighbour find_neighbour_of finish_group first \
                         first_sum float fma for_elements global goto half imaginary imaginary_part inline insert_all int is_odd k kernel lane lane_bits lane_steps \
                         lanes_a_group lanes_of_slices leg_end local long madd madd_real mul neighbours not_choice of_class osite osites osites_a_class \
                         osites_of_slices part partials parts philox plane_id popcount private quad read_link read_link_of read_only real real_part register restrict \
                         result retired running running_add running_empty select_complex select_real short signed site_xy site_zt sizeof source_word spill_target_of \
                         spills sqrt stored stored_at store_site_words struct sum switch times_i times_real typedef uchar uint ulong uniform_of union unsigned \
                         ushort vchoice void volatile vreal whole words write_only xy_of_lanes xy_of_osites zt_of_lanes zt_of_osites ";
    match name.starts_with("to_") || name.starts_with("far_") {
        true => format!("{name}_"),
        false => apart_from(WORDS, &["v", "end", "next"], |byte| byte.is_ascii_digit() || byte == b'_', name),
    }
}

/// What stands around the statements: which components a work-item takes.
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
                Components::AtOnce(1) => ("parts".to_owned(), "(size_t)osite * parts + part".to_owned()),
                Components::AtOnce(n) => (format!("parts / {n}"), format!("(size_t)osite * parts + part * {n}")),
            };
            let mut begin = format!("    accelerator_for2d(osite, osites, part, {parts}) {{\n");
            if !component.is_empty() {
                begin += &format!("        const size_t component = {component};\n");
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

/// The results that differ between the components of a site: those that depend on a field with several.
fn varying(program: &Program, roles: &[Role]) -> HashSet<Id> {
    fn visit(statements: &[Statement], roles: &[Role], varying: &mut HashSet<Id>) {
        for statement in statements {
            match statement {
                Statement::Compute { id, operation, .. }
                    if operation.operands().iter().any(|operand| varying.contains(operand)) =>
                {
                    varying.insert(*id);
                }
                Statement::Load { id, argument, .. } | Statement::LoadWord { id, argument, .. }
                    if is_repeated(roles[*argument]) =>
                {
                    varying.insert(*id);
                }
                Statement::Loop { carried, statements, .. } => {
                    // What is carried is taken to differ.
                    varying.extend(carried.iter().map(|carry| carry.id));
                    visit(statements, roles, varying);
                }
                _ => {}
            }
        }
    }
    let mut varying = HashSet::new();
    visit(&program.statements, roles, &mut varying);
    varying
}

/// The words of loads and links, and how they are written.
fn words_of_loads(program: &Program) -> HashMap<Id, (Id, String)> {
    let mut links = HashSet::new();
    let mut words = HashMap::new();
    for statement in &program.statements {
        match statement {
            Statement::Link { id, .. } => {
                links.insert(*id);
            }
            Statement::Compute { id, operation: Operation::Word(load, k), .. } => {
                let place = match links.contains(load) {
                    true => format!(".row[{}].element[{}]", k / 3, k % 3),
                    false => format!("[{k}]"),
                };
                words.insert(*id, (*load, place));
            }
            _ => {}
        }
    }
    words
}

fn is_repeated(role: Role) -> bool {
    matches!(role, Role::Field { repeated: true, .. })
}

struct Writer<'a> {
    named: Named<'a>,
    at_once: usize,
    /// Whether a site has one component.
    only: bool,
    varying: HashSet<Id>,
    /// Words of loads, as they are written: of which load, and what follows its name.
    words: HashMap<Id, (Id, String)>,
    /// Names that were given so far, by what they begin with.
    counts: HashMap<String, usize>,
    text: Text,
}

impl Writes for Writer<'_> {
    type Kind = Kind;

    fn text(&mut self) -> &mut Text {
        &mut self.text
    }
    fn type_of(kind: Kind) -> &'static str {
        type_of(kind)
    }
    fn named(&self, id: Id) -> String {
        self.operand(id, 0)
    }
}

impl Writer<'_> {
    fn unsupported(&self, does: &'static str, expected: &'static str) -> BodyError {
        BodyError::Unsupported { kernel: self.named.name, does, expected }
    }

    fn argument(&self, number: usize) -> String {
        in_opencl(self.named.body.names[number])
    }

    fn copies(&self, id: Id) -> usize {
        if self.varying.contains(&id) { self.at_once } else { 1 }
    }

    /// The name of a result, of component `copy`.
    fn name(&self, id: Id, copy: usize) -> String {
        match self.copies(id) {
            1 => format!("v{}", id.0),
            _ => format!("v{}_{copy}", id.0),
        }
    }

    /// A result, or a word of a load, as an operand.
    fn operand(&self, id: Id, copy: usize) -> String {
        match self.words.get(&id) {
            Some((load, place)) => format!("{}{place}", self.name(*load, copy)),
            None => self.name(id, copy),
        }
    }

    /// Statements in their order; of those in a row that differ between the components of a work-item, all of one component, then all of the next: fewer
    /// numbers are then alive at a time.
    fn statements(&mut self, statements: &[Statement]) -> Result<(), BodyError> {
        let mut rest = statements;
        while let Some(first) = rest.first() {
            let row = rest.iter().take_while(|statement| self.differs(statement)).count();
            if row == 0 {
                self.statement(first, 0)?;
            }
            for copy in 0..if row == 0 { 0 } else { self.at_once } {
                rest[..row].iter().try_for_each(|statement| self.statement(statement, copy))?;
            }
            rest = &rest[row.max(1)..];
        }
        Ok(())
    }

    /// Whether a statement is one for each component of a work-item.
    fn differs(&self, statement: &Statement) -> bool {
        match statement {
            Statement::Compute { id, .. } | Statement::Load { id, .. } | Statement::LoadWord { id, .. } => {
                self.varying.contains(id)
            }
            Statement::Write { argument, .. } | Statement::WriteWord { argument, .. } => {
                is_repeated(self.named.body.roles[*argument])
            }
            Statement::Link { .. } | Statement::Draw { .. } | Statement::Sum { .. } | Statement::Loop { .. } => false,
        }
    }

    /// A statement, of component `copy` where it differs between components.
    fn statement(&mut self, statement: &Statement, copy: usize) -> Result<(), BodyError> {
        match statement {
            Statement::Compute { id, .. } if self.words.contains_key(id) => {}
            Statement::Compute { id, kind, operation } => {
                let (name, value) = (self.name(*id, copy), self.expression(*kind, operation, copy));
                self.line(&format!("const {} {name} = {value};", type_of(*kind)));
            }
            Statement::Load { id, argument, words, place } => self.load(*id, *argument, *words, *place, copy),
            Statement::Link { id, argument, leg } => {
                let (links, point) = (self.argument(*argument), leg.point());
                self.end_of(point);
                let line = format!(
                    "const colour_matrix v{} = {}{links}, osite, {point}, end{point}.phase);",
                    id.0,
                    self.of_lane("read_link")
                );
                self.line(&line);
            }
            Statement::Draw { id, numbers } => {
                let numbers = numbers.map(|number| self.operand(number, copy)).join(", ");
                self.line(&format!("vreal v{}[4];", id.0));
                self.line(&format!("draw_uniform(site_xy, site_zt, {numbers}, v{});", id.0));
            }
            Statement::Write { argument, words } => self.write(*argument, words, copy),
            Statement::Sum { argument, part, term } => {
                if self.named.body.sums() == 0 || self.text.indent > 2 {
                    return Err(
                        self.unsupported("adds to a sum within a loop", "carry the number, and add it after the loop")
                    );
                }
                let body = self.named.body;
                let (number, term) = (body.first_sum(*argument) + part, self.operand(*term, 0));
                let line = format!(
                    "running_add(&sum[{number}], {term}, spill_target_of(spills, {} + {number}));",
                    first_sum(&body)
                );
                self.line(&line);
            }
            Statement::LoadWord { .. } | Statement::WriteWord { .. } => {
                return Err(self.unsupported(
                    "goes to a word outside of a loop over all words",
                    "read and write words within `repeat(x.words(), …)`",
                ));
            }
            Statement::Loop { turn, turns, carried, statements } => {
                return self.repeat(*turn, *turns, carried, statements);
            }
        }
        Ok(())
    }

    /// How a function is called that finds something in a lane: the work-item's, but for sums, which number lanes in another way.
    fn of_lane(&self, function: &str) -> String {
        if self.named.body.sums() > 0 { format!("{function}_of(lane, ") } else { format!("{function}(") }
    }

    /// Where a leg leads, if that was not said before.
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

    /// The steps of a displacement: the point of each, and what is called where it leads.
    fn steps_of(&self, displacement: Displacement) -> Vec<(usize, String)> {
        let steps = displacement.legs().scan("far".to_owned(), |name, leg| {
            *name += &format!("_{}", leg.point());
            Some((leg.point(), name.clone()))
        });
        steps.collect()
    }

    /// Where a displacement leads, step by step, if that was not said before.
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

    /// The number of the component that is read, of component `copy` of the work-item.
    fn component(&self, argument: usize, place: Where, copy: usize) -> String {
        let site = match place {
            Where::Here => "osite".to_owned(),
            Where::At(leg) => format!("end{}.osite", leg.point()),
            Where::Displaced(displacement) => {
                format!("{}.osite", self.steps_of(displacement).pop().unwrap_or_default().1)
            }
        };
        let more = if copy == 0 { String::new() } else { format!(" + {copy}") };
        match (is_repeated(self.named.body.roles[argument]), place) {
            (false, _) => site,
            (true, _) if self.only => site,
            (true, Where::Here) => format!("component{more}"),
            (true, _) if self.at_once > 1 => format!("(size_t){site} * parts + part * {}{more}", self.at_once),
            (true, _) => format!("(size_t){site} * parts + part"),
        }
    }

    fn load(&mut self, id: Id, argument: usize, words: usize, place: Where, copy: usize) {
        let field = self.argument(argument);
        match place {
            Where::Here => {}
            Where::At(leg) => self.end_of(leg.point()),
            Where::Displaced(displacement) => self.far_end_of(displacement),
        }
        let (name, component) = (self.name(id, copy), self.component(argument, place, copy));
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

    fn write(&mut self, argument: usize, words: &[Id], copy: usize) {
        let field = self.argument(argument);
        let list = words.iter().map(|word| self.operand(*word, copy)).collect::<Vec<_>>().join(", ");
        let number = self.counts.entry(field.to_owned()).and_modify(|count| *count += 1).or_insert(0);
        let name = format!("to_{field}{}", if *number == 0 { String::new() } else { format!("_{number}") });
        self.line(&format!("cplx {name}[{}] = {{{list}}};", words.len()));
        let component = self.component(argument, Where::Here, copy);
        self.line(&format!("insert_all({field}, {component}, {}, lane, {name});", words.len()));
    }

    /// A loop over all words of whatever fields hold: a few words at a time, all read before one is written.
    fn repeat(&mut self, turn: Id, turns: Index, carried: &[Carry], statements: &[Statement]) -> Result<(), BodyError> {
        if let (Index::Number(turns), false) = (turns, touches_words(statements)) {
            self.declare_carried(carried);
            self.open(&format!("for (uint v{0} = 0; v{0} < {turns}; ++v{0}) {{", turn.0));
            self.statements(statements)?;
            self.hand_on(carried);
            self.close();
            return Ok(());
        }
        let Index::WordsOf(_) = turns else {
            return Err(
                self.unsupported("goes to words in a loop of another length", "make as many turns as there are words")
            );
        };
        self.declare_carried(carried);
        let chunk = if self.named.body.sums() > 0 { "NORM_WORDS_AT_ONCE" } else { "WORDS_AT_ONCE" };
        self.open(&format!("UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += {chunk}) {{"));
        let mut written = Vec::new();
        for statement in statements {
            match statement {
                Statement::LoadWord { argument, .. } if written.contains(argument) => {
                    return Err(
                        self.unsupported("reads a word after it was written", "go on with the number that was written")
                    );
                }
                Statement::LoadWord { id, argument, word } if *word == Index::Turn(turn) => {
                    let field = self.argument(*argument);
                    self.line(&format!("cplx v{}[{chunk}];", id.0));
                    let line = match self.named.body.converted() == Some(*argument) {
                        true => format!(
                            "extract_converted({field}, component, first, {chunk}, SITE_WORDS(words), lane, v{});",
                            id.0
                        ),
                        false => format!(
                            "extract_words({field}, component, first, {chunk}, SITE_WORDS(words), lane, 0, v{});",
                            id.0
                        ),
                    };
                    self.line(&line);
                }
                Statement::WriteWord { argument, word, .. } if *word == Index::Turn(turn) => {
                    if written.contains(argument) {
                        return Err(self.unsupported("writes a word twice", "write each word once"));
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
                Statement::LoadWord { .. } => {}
                Statement::WriteWord { argument, value, .. } => {
                    let (field, value) = (self.argument(*argument), self.operand(*value, 0));
                    self.line(&format!("to_{field}[k] = {value};"));
                }
                Statement::Compute { id, kind, operation: Operation::Word(load, 0) }
                    if self.is_word(statements, *load) =>
                {
                    self.line(&format!("const {} v{} = v{}[k];", type_of(*kind), id.0, load.0));
                }
                other => self.statement(other, 0)?,
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

    /// Whether a load is of one word.
    fn is_word(&self, statements: &[Statement], load: Id) -> bool {
        statements.iter().any(|statement| matches!(statement, Statement::LoadWord { id, .. } if *id == load))
    }

    fn expression(&self, kind: Kind, operation: &Operation, copy: usize) -> String {
        use Operation as O;
        match operation {
            O::Constant(value) if kind == Kind::Double => literal(*value),
            O::Constant(value) => format!("(vreal)((real){})", literal(*value)),
            O::Word(load, k) => format!("{}[{k}]", self.name(*load, copy)),
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
            other => operation_text(spelling(kind), other, &|id| self.operand(id, copy)),
        }
    }
}

fn touches_words(statements: &[Statement]) -> bool {
    statements.iter().any(|s| matches!(s, Statement::LoadWord { .. } | Statement::WriteWord { .. }))
}

/// The pair of coordinates that a direction is one of, and by how many bits it is shifted there.
fn pair_of(direction: usize) -> (&'static str, u32) {
    (if direction < 2 { "xy" } else { "zt" }, if direction.is_multiple_of(2) { 0 } else { 16 })
}

/// How operations that give such a number are written.
pub fn spelling(kind: Kind) -> Spelling {
    if kind == Kind::Complex { Spelling::Complex } else { Spelling::Real }
}

/// The type of a value in OpenCL C.
pub fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Complex => "cplx",
        Kind::Real => "vreal",
        Kind::Double => "double",
        Kind::Choice => "vchoice",
    }
}
