//! The picture of `lanefield compare --plot`: where two arrays differ, site by site, and by how much, as SVG. A square is a slice: x to the right, y
//! up; z from left to right, t from the top. Of lattices with many sites the largest difference along z is shown, one square for each t.

use lanefield::reference::layout::Extents;
use lanefield_ports::compare::{Comparison, SiteMap};
use plotters::coord::Shift;
use plotters::prelude::{
    Color as _, DrawingArea, IntoDrawingArea as _, IntoFont as _, RGBColor, Rectangle, SVGBackend, Text, TextStyle,
    WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Sites of which each is drawn.
const MOST_SITES: usize = 1 << 16;
/// Widest that a row of squares becomes, in pixels.
const WIDTH: usize = 1100;
const LEFT: i32 = 64;
/// Between the title and the squares, below the lines of a cause.
const TOP: i32 = 104;
/// From one line to the next.
const LINE: i32 = 18;
const BOTTOM: i32 = 74;
const GAP: usize = 6;

const NOTHING: RGBColor = RGBColor(236, 238, 241);
const NOT_FINITE: RGBColor = RGBColor(214, 39, 40);
const INK: RGBColor = RGBColor(51, 51, 51);
/// From small to large differences: dark blue to yellow, of even steps in lightness (cividis).
const SCALE: [RGBColor; 7] = [
    RGBColor(0, 45, 103),
    RGBColor(49, 68, 107),
    RGBColor(91, 93, 111),
    RGBColor(123, 119, 119),
    RGBColor(158, 147, 113),
    RGBColor(202, 180, 88),
    RGBColor(253, 226, 64),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// How the lattice becomes squares: `rows` and `columns` of squares of `size` [x, y] cells.
struct Squares {
    extents: Extents,
    /// Where they begin, from the top.
    top: i32,
    /// Whether each z has its square.
    each_z: bool,
    columns: usize,
    rows: usize,
    cell: usize,
}

impl Squares {
    fn of(extents: Extents) -> Self {
        let [x, _, z, t] = extents.as_array();
        let each_z = extents.volume() <= MOST_SITES;
        let fit = |columns: usize| (WIDTH.saturating_sub(columns * GAP) / (columns * x).max(1)).clamp(1, 14);
        let columns = if each_z { z } else { (WIDTH / (2 * x + GAP)).clamp(1, t) };
        let rows = if each_z { t } else { t.div_ceil(columns) };
        Self { extents, top: TOP, each_z, columns, rows, cell: fit(columns) }
    }

    /// The same picture below a title of this number of lines.
    fn below(self, lines: usize) -> Self {
        Self { top: TOP + LINE * lines as i32, ..self }
    }

    fn width(&self) -> usize {
        let [x, ..] = self.extents.as_array();
        (LEFT as usize + self.columns * (x * self.cell + GAP) + 24).max(620)
    }

    fn corner(&self, z: usize, t: usize) -> (i32, i32) {
        let (column, row) = if self.each_z { (z, t) } else { (t % self.columns, t / self.columns) };
        let [x, y, ..] = self.extents.as_array();
        let across = column * (x * self.cell + GAP);
        let down = row * (y * self.cell + self.gap());
        (LEFT + across as i32, self.top + down as i32)
    }

    /// Between rows; squares that are a t have its label there.
    fn gap(&self) -> usize {
        if self.each_z { GAP } else { 20 }
    }

    fn size(&self) -> (u32, u32) {
        let [_, y, ..] = self.extents.as_array();
        let height = (self.top + BOTTOM) as usize + self.rows * (y * self.cell + self.gap());
        (self.width() as u32, height as u32)
    }
}

pub fn plot(comparison: &Comparison, names: [&str; 2]) -> anyhow::Result<String> {
    let Some(lattice) = comparison.lattice else {
        anyhow::bail!("--plot is a map of a lattice, and these arrays have none: they are {}", comparison.object);
    };
    let squares = Squares::of(Extents::new(lattice)?);
    let cause = comparison.causes.first().map_or("", |cause| &cause.sentence);
    let cause = wrapped(cause, letters(squares.width(), SMALL));
    let squares = squares.below(cause.len());
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, squares.size()).into_drawing_area();
        root.fill(&WHITE)?;
        title(&root, comparison, names, &cause, &squares)?;
        let range = decades(&comparison.map);
        draw(&root, &comparison.map, &squares, range)?;
        legend(&root, &squares, range, comparison)?;
        root.present()?;
    }
    Ok(svg)
}

fn text(root: &Area<'_>, words: &str, place: (i32, i32), size: u32, anchor: Pos) -> anyhow::Result<()> {
    let style = TextStyle::from(("sans-serif", size).into_font()).color(&INK).pos(anchor);
    root.draw(&Text::new(words.to_owned(), place, style))?;
    Ok(())
}

const LEFT_TOP: Pos = Pos { h_pos: HPos::Left, v_pos: VPos::Top };
const MIDDLE: Pos = Pos { h_pos: HPos::Center, v_pos: VPos::Center };

/// Widths of a letter, in pixels: of the names of the arrays, and of what is said of them.
const LARGE: f64 = 9.4;
const SMALL: f64 = 6.9;

fn letters(width: usize, per_letter: f64) -> usize {
    ((width as f64 - 24.0) / per_letter) as usize
}

fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= most => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn title(
    root: &Area<'_>,
    comparison: &Comparison,
    [a, b]: [&str; 2],
    cause: &[String],
    squares: &Squares,
) -> anyhow::Result<()> {
    let fitted = |words: &str, per_letter: f64| {
        let most = letters(squares.width(), per_letter);
        match words.chars().count() > most {
            true => words.chars().take(most - 1).chain(['…']).collect(),
            false => words.to_owned(),
        }
    };
    text(root, &fitted(&format!("{a} (A) and {b} (B)"), LARGE), (12, 12), 19, LEFT_TOP)?;
    let said = comparison.to_string();
    text(root, &fitted(said.lines().next().unwrap_or_default(), SMALL), (12, 40), 14, LEFT_TOP)?;
    for (place, line) in (58..).step_by(LINE as usize).zip(cause) {
        text(root, line, (12, place), 14, LEFT_TOP)?;
    }
    let how = match squares.each_z {
        true => "a square for each z and t; in it x to the right, y up",
        false => "a square for each t; in it x to the right, y up, the largest difference along z",
    };
    text(root, how, (12, squares.top - 42), 12, LEFT_TOP)
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

fn colour(relative: f64, differs: bool, (least, most): (i32, i32)) -> RGBColor {
    if !differs {
        return NOTHING;
    }
    if !relative.is_finite() {
        return NOT_FINITE;
    }
    let share = (relative.log10() - f64::from(least)) / f64::from(most - least);
    let place = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let (from, to, part) = (SCALE[below], SCALE[below + 1], place - below as f64);
    let mix = |from: u8, to: u8| (f64::from(from) + part * (f64::from(to) - f64::from(from))).round() as u8;
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

fn draw(root: &Area<'_>, map: &SiteMap, squares: &Squares, range: (i32, i32)) -> anyhow::Result<()> {
    let [lx, ly, lz, lt] = squares.extents.as_array();
    let cell = squares.cell as i32;
    for t in 0..lt {
        for z in 0..if squares.each_z { lz } else { 1 } {
            let (left, top) = squares.corner(z, t);
            let box_of = |x: usize, y: usize, length: usize| {
                let (x, y) = (left + x as i32 * cell, top + (ly - 1 - y) as i32 * cell);
                [(x, y), (x + length as i32 * cell, y + cell)]
            };
            let whole = [(left, top), (left + lx as i32 * cell, top + ly as i32 * cell)];
            root.draw(&Rectangle::new(whole, NOTHING.filled()))?;
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
                let colours: Vec<RGBColor> = colours(y).collect();
                let mut x = 0;
                for run in colours.chunk_by(|a, b| a == b) {
                    if run[0] != NOTHING {
                        root.draw(&Rectangle::new(box_of(x, y, run.len()), run[0].filled()))?;
                    }
                    x += run.len();
                }
            }
            if !squares.each_z {
                let below = top + (ly * squares.cell) as i32 + 9;
                text(root, &format!("t {t}"), (left + (lx as i32 * cell) / 2, below), 11, MIDDLE)?;
            }
        }
    }
    if squares.each_z {
        let half = |length: usize| (length * squares.cell / 2) as i32;
        let every = |number: usize, pixels: usize| number.is_multiple_of((24usize).div_ceil(pixels.max(1)).max(1));
        for z in (0..lz).filter(|&z| every(z, lx * squares.cell + GAP)) {
            let (left, _) = squares.corner(z, 0);
            text(root, &format!("z {z}"), (left + half(lx), squares.top - 10), 11, MIDDLE)?;
        }
        for t in (0..lt).filter(|&t| every(t, ly * squares.cell + GAP)) {
            let (_, top) = squares.corner(0, t);
            text(root, &format!("t {t}"), (LEFT / 2 + 8, top + half(ly)), 11, MIDDLE)?;
        }
    }
    Ok(())
}

fn legend(root: &Area<'_>, squares: &Squares, range: (i32, i32), comparison: &Comparison) -> anyhow::Result<()> {
    const STEPS: i32 = 60;
    const STEP: i32 = 4;
    let top = squares.size().1 as i32 - 52;
    for step in 0..STEPS {
        let log = f64::from(range.0) + f64::from(range.1 - range.0) * (f64::from(step) + 0.5) / f64::from(STEPS);
        let left = LEFT + step * STEP;
        let shade = colour(10f64.powf(log), true, range);
        root.draw(&Rectangle::new([(left, top), (left + STEP, top + 12)], shade.filled()))?;
    }
    for (log, place) in [(range.0, LEFT), (range.1, LEFT + STEPS * STEP)] {
        text(root, &format!("1e{log}"), (place, top + 22), 11, MIDDLE)?;
    }
    let words = "largest |A−B| of the site, in units of A's root mean square";
    text(root, words, (12, top + 32), 12, LEFT_TOP)?;
    let mut others = vec![(NOTHING, "same")];
    if comparison.map.relative.iter().any(|x| x.is_infinite()) {
        others.push((NOT_FINITE, "infinite or NaN"));
    }
    let mut left = LEFT + STEPS * STEP + 40;
    for (shade, name) in others {
        root.draw(&Rectangle::new([(left, top), (left + 12, top + 12)], shade.filled()))?;
        text(root, name, (left + 18, top), 12, LEFT_TOP)?;
        left += 80;
    }
    Ok(())
}
