//! The figure of `lanefield compare --plot`: where two arrays differ, site by site, and by how much. A square is a slice: x to the right, y up; z from
//! left to right, t from the top. Of lattices with many sites the largest difference along z is shown, one square for each t.

use lanefield::reference::layout::Extents;
use lanefield_figure::{Anchor, Colour, Drawing, power_of_ten, shortened, width, wrapped};
use lanefield_ports::compare::{Comparison, SiteMap};

/// Sites of which each is drawn.
const MOST_SITES: usize = 1 << 16;
/// Widest that a row of squares becomes, in points.
const WIDTH: f64 = 760.0;
const NARROWEST: f64 = 440.0;
const LEFT: f64 = 48.0;
/// Between the title and the squares, below the lines of a cause.
const TOP: f64 = 76.0;
/// From one line to the next.
const LINE: f64 = 12.0;
const BOTTOM: f64 = 58.0;
const GAP: f64 = 4.0;
/// Sizes of text: of the names of the arrays, of what is said of them, of names of slices.
const TITLE: f64 = 12.0;
const SAID: f64 = 9.5;
const SMALL: f64 = 8.0;

const NOTHING: Colour = Colour::Rgb(236, 238, 241);
const NOT_FINITE: Colour = Colour::Rgb(214, 39, 40);
/// From small to large differences: dark blue to yellow, of even steps in lightness (cividis).
const SCALE: [[u8; 3]; 7] =
    [[0, 45, 103], [49, 68, 107], [91, 93, 111], [123, 119, 119], [158, 147, 113], [202, 180, 88], [253, 226, 64]];

/// How the lattice becomes squares: `rows` and `columns` of them, of cells of one size.
struct Squares {
    extents: Extents,
    /// Where they begin, from the top.
    top: f64,
    /// Whether each z has its square.
    each_z: bool,
    columns: usize,
    rows: usize,
    cell: f64,
}

impl Squares {
    fn of(extents: Extents) -> Self {
        let [x, _, z, t] = extents.as_array();
        let each_z = extents.volume() <= MOST_SITES;
        let columns = if each_z { z } else { ((WIDTH / (1.5 * x as f64 + GAP)) as usize).clamp(1, t) };
        let rows = if each_z { t } else { t.div_ceil(columns) };
        let cell = ((WIDTH - columns as f64 * GAP) / (columns * x).max(1) as f64).clamp(1.0, 10.0);
        Self { extents, top: TOP, each_z, columns, rows, cell }
    }

    /// The same picture below a title of this number of lines.
    fn below(self, lines: usize) -> Self {
        Self { top: TOP + LINE * lines as f64, ..self }
    }

    /// Of a square.
    fn edges(&self) -> [f64; 2] {
        let [x, y, ..] = self.extents.as_array();
        [x, y].map(|cells| cells as f64 * self.cell)
    }

    fn width(&self) -> f64 {
        (LEFT + self.columns as f64 * (self.edges()[0] + GAP) + 18.0).max(NARROWEST)
    }

    fn corner(&self, z: usize, t: usize) -> [f64; 2] {
        let (column, row) = if self.each_z { (z, t) } else { (t % self.columns, t / self.columns) };
        let [across, down] = self.edges();
        [LEFT + column as f64 * (across + GAP), self.top + row as f64 * (down + self.gap())]
    }

    /// Between rows; squares that are a t have its label there.
    fn gap(&self) -> f64 {
        if self.each_z { GAP } else { 14.0 }
    }

    fn height(&self) -> f64 {
        self.top + BOTTOM + self.rows as f64 * (self.edges()[1] + self.gap())
    }
}

pub fn plot(comparison: &Comparison, names: [&str; 2]) -> anyhow::Result<Drawing> {
    let Some(lattice) = comparison.lattice else {
        anyhow::bail!("--plot is a map of a lattice, and these arrays have none: they are {}", comparison.object);
    };
    let squares = Squares::of(Extents::new(lattice)?);
    let inner = squares.width() - 18.0;
    let cause = comparison.causes.first().map_or("", |cause| &cause.sentence);
    let cause = wrapped(cause, SAID, inner);
    let squares = squares.below(cause.len());
    let [a, b] = names;
    let title = format!("{a} (A) and {b} (B)");
    let mut drawing = Drawing::new(&title, squares.width(), squares.height());
    let mut line = |y: f64, text: &str, size: f64| drawing.text(text, [9.0, y], size, Anchor::Start);
    line(20.0, &shortened(&title, TITLE, inner), TITLE);
    let said = comparison.to_string();
    line(36.0, &shortened(said.lines().next().unwrap_or_default(), SAID, inner), SAID);
    for (k, text) in cause.iter().enumerate() {
        line(36.0 + LINE * (k + 1) as f64, text, SAID);
    }
    let how = match squares.each_z {
        true => "a square for each z and t; in it x to the right, y up",
        false => "a square for each t; in it x to the right, y up, the largest difference along z",
    };
    line(squares.top - 20.0, how, SMALL);
    let range = decades(&comparison.map);
    draw(&mut drawing, &comparison.map, &squares, range);
    legend(&mut drawing, range, comparison);
    Ok(drawing)
}

/// The powers of ten between which the finite differences lie.
fn decades(map: &SiteMap) -> (i32, i32) {
    let logs = || map.relative.iter().filter(|x| **x > 0.0 && x.is_finite()).map(|x| x.log10());
    let (least, most) = logs().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)));
    match least.is_finite() {
        true => {
            let (least, most) = (least.floor() as i32, most.ceil() as i32);
            (least, most.max(least + 1))
        }
        false => (-16, 0),
    }
}

fn colour(relative: f64, differs: bool, (least, most): (i32, i32)) -> Colour {
    if !differs {
        return NOTHING;
    }
    if !relative.is_finite() {
        return NOT_FINITE;
    }
    let share = (relative.log10() - f64::from(least)) / f64::from(most - least);
    let place = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let part = place - below as f64;
    let mix = |k: usize| {
        let [from, to] = [SCALE[below][k], SCALE[below + 1][k]].map(f64::from);
        (from + part * (to - from)).round() as u8
    };
    Colour::Rgb(mix(0), mix(1), mix(2))
}

fn draw(drawing: &mut Drawing, map: &SiteMap, squares: &Squares, range: (i32, i32)) {
    let [lx, ly, lz, lt] = squares.extents.as_array();
    let (cell, edges) = (squares.cell, squares.edges());
    for t in 0..lt {
        for z in 0..if squares.each_z { lz } else { 1 } {
            let [left, top] = squares.corner(z, t);
            drawing.rectangle([left, top], edges, NOTHING, 1.0);
            let colours = |y: usize| {
                (0..lx).map(move |x| {
                    let along_z = if squares.each_z { z..z + 1 } else { 0..lz };
                    let sites = along_z.map(|z| squares.extents.site([x, y, z, t]));
                    let (relative, differing) = sites.fold((0.0f64, 0), |(relative, differing), site| {
                        (relative.max(map.relative[site]), differing + map.differing[site])
                    });
                    colour(relative, differing > 0, range)
                })
            };
            for y in 0..ly {
                // Neighbours of one colour are one box.
                let colours: Vec<Colour> = colours(y).collect();
                let mut x = 0;
                for run in colours.chunk_by(|a, b| a == b) {
                    if run[0] != NOTHING {
                        let corner = [left + x as f64 * cell, top + (ly - 1 - y) as f64 * cell];
                        drawing.rectangle(corner, [run.len() as f64 * cell, cell], run[0], 1.0);
                    }
                    x += run.len();
                }
            }
            if !squares.each_z {
                let below = [left + edges[0] / 2.0, top + edges[1] + 9.0];
                drawing.text(&format!("t = {t}"), below, SMALL, Anchor::Middle);
            }
        }
    }
    if squares.each_z {
        // As many names as fit.
        let every =
            |number: usize, length: f64, needed: f64| number.is_multiple_of((needed / length).ceil().max(1.0) as usize);
        for z in (0..lz).filter(|&z| every(z, edges[0] + GAP, 30.0)) {
            let [left, _] = squares.corner(z, 0);
            drawing.text(&format!("z = {z}"), [left + edges[0] / 2.0, squares.top - 5.0], SMALL, Anchor::Middle);
        }
        for t in (0..lt).filter(|&t| every(t, edges[1] + GAP, 12.0)) {
            let [_, top] = squares.corner(0, t);
            drawing.text(&format!("t = {t}"), [LEFT - 6.0, top + edges[1] / 2.0 + 3.0], SMALL, Anchor::End);
        }
    }
}

fn legend(drawing: &mut Drawing, range: (i32, i32), comparison: &Comparison) {
    const STEPS: usize = 60;
    const STEP: f64 = 3.0;
    let top = drawing.height - 42.0;
    for step in 0..STEPS {
        let share = (step as f64 + 0.5) / STEPS as f64;
        let log = f64::from(range.0) + f64::from(range.1 - range.0) * share;
        // Without seams between them.
        let length = if step + 1 < STEPS { STEP + 0.5 } else { STEP };
        let corner = [LEFT + step as f64 * STEP, top];
        drawing.rectangle(corner, [length, 9.0], colour(10f64.powf(log), true, range), 1.0);
    }
    let end = LEFT + STEPS as f64 * STEP;
    for (exponent, place) in [(range.0, LEFT), (range.1, end)] {
        drawing.text(&power_of_ten(exponent), [place, top + 19.0], SMALL, Anchor::Middle);
    }
    let words = "largest |A − B| of the site, in units of A's root mean square";
    drawing.text(words, [LEFT, top + 32.0], SMALL, Anchor::Start);
    let mut others = vec![(NOTHING, "same")];
    if comparison.map.relative.iter().any(|x| x.is_infinite()) {
        others.push((NOT_FINITE, "infinite or NaN"));
    }
    let mut left = end + 30.0;
    for (shade, name) in others {
        drawing.rectangle([left, top], [9.0, 9.0], shade, 1.0);
        drawing.text(name, [left + 13.0, top + 7.5], SMALL, Anchor::Start);
        left += 30.0 + width(name, SMALL);
    }
}
