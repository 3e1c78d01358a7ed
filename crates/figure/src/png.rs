//! Drawings as PNG: drawn by tiny-skia, letters by their outlines. The file is written here: it is four chunks.

use miniz_oxide::deflate::compress_to_vec_zlib;
use tiny_skia::{FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, StrokeDash, Transform};

use crate::drawing::{Drawing, Shape, Stroke, Text};
use crate::font::{self, OutlineBuilder};
use crate::style::Colour;
use crate::text::runs;

/// Pixels to the inch, and to the metre.
const DENSITY: f64 = 300.0;
const TO_THE_METRE: u32 = 11_811;
/// Most pixels along an edge: a drawing that is larger has fewer to the inch.
const MOST: f64 = 8000.0;

fn paint(colour: Colour, opacity: f64) -> Paint<'static> {
    let [red, green, blue] = colour.rgb();
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(red, green, blue, (255.0 * opacity).round() as u8);
    paint
}

fn path_of(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (k, point) in points.iter().enumerate() {
        let [x, y] = point.map(|length| length as f32);
        if k == 0 { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

struct Canvas {
    pixels: Pixmap,
    scale: Transform,
}

impl Canvas {
    fn fill(&mut self, path: &Path, colour: Colour, opacity: f64) {
        self.pixels.fill_path(path, &paint(colour, opacity), FillRule::Winding, self.scale, None);
    }

    fn stroke(&mut self, path: &Path, stroke: Stroke) {
        let lengths = stroke.dash.iter().map(|length| *length as f32).collect();
        let style = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Round,
            dash: if stroke.dash.is_empty() { None } else { StrokeDash::new(lengths, 0.0) },
            ..tiny_skia::Stroke::default()
        };
        self.pixels.stroke_path(path, &paint(stroke.colour, 1.0), &style, self.scale, None);
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rectangle { corner, size, fill, opacity } => {
                let [x, y, width, height] = [corner[0], corner[1], size[0], size[1]].map(|length| length as f32);
                if let Some(rectangle) = Rect::from_xywh(x, y, width, height) {
                    // Whole pixels, so that there are no seams between boxes.
                    let paint = Paint { anti_alias: false, ..paint(*fill, *opacity) };
                    self.pixels.fill_rect(rectangle, &paint, self.scale, None);
                }
            }
            Shape::Lines { points, closed, fill, stroke } => {
                let Some(path) = path_of(points, *closed) else { return };
                if let Some((colour, opacity)) = fill {
                    self.fill(&path, *colour, *opacity);
                }
                if let Some(stroke) = stroke {
                    self.stroke(&path, *stroke);
                }
            }
            Shape::Circle { centre, radius, fill, stroke } => {
                let [x, y, radius] = [centre[0], centre[1], *radius].map(|length| length as f32);
                let Some(path) = PathBuilder::from_circle(x, y, radius) else { return };
                self.fill(&path, *fill, 1.0);
                if let Some(stroke) = stroke {
                    self.stroke(&path, *stroke);
                }
            }
            Shape::Text(text) => {
                if let Some(path) = outlines(text) {
                    self.fill(&path, text.colour, 1.0);
                }
            }
        }
    }
}

/// Letters as a path, turned and moved to their place.
struct Outlines {
    path: PathBuilder,
    /// Where the next letter begins.
    start: [f64; 2],
    /// Points to a unit of the font, and how the text is turned.
    scale: f64,
    turned: (f64, f64),
}

impl Outlines {
    fn at(&self, x: f32, y: f32) -> [f32; 2] {
        let (sin, cos) = self.turned;
        let [x, y] = [x, y].map(|length| f64::from(length) * self.scale);
        [(self.start[0] + x * cos - y * sin) as f32, (self.start[1] - x * sin - y * cos) as f32]
    }
}

impl OutlineBuilder for Outlines {
    fn move_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let [x, y] = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ([x1, y1], [x, y]) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ([x1, y1], [x2, y2], [x, y]) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

fn outlines(text: &Text) -> Option<Path> {
    let turned = text.angle.to_radians().sin_cos();
    let (sin, cos) = turned;
    let mut start = text.start();
    let mut outlines = Outlines { path: PathBuilder::new(), start, scale: 0.0, turned };
    for run in runs(&text.text) {
        let (size, rise) = (text.size * run.size, text.size * run.rise);
        outlines.scale = size / font::units_per_em();
        for glyph in run.text.chars().map(font::glyph) {
            outlines.start = [start[0] - rise * sin, start[1] - rise * cos];
            let _ = font::face().outline_glyph(glyph, &mut outlines);
            let advance = size * font::advance(glyph);
            start = [start[0] + advance * cos, start[1] - advance * sin];
        }
    }
    outlines.path.finish()
}

/// A chunk of a file: length, name, content, checksum.
fn chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(content);
    let checksum = crc32fast::hash(&file[start..]);
    file.extend(checksum.to_be_bytes());
}

impl Drawing {
    /// As PNG, 300 pixels to the inch unless that would be too many.
    pub(crate) fn png(&self) -> Vec<u8> {
        let scale = (DENSITY / 72.0).min(MOST / self.width.max(self.height).max(1.0));
        let [width, height] = [self.width, self.height].map(|length| (scale * length).round().clamp(1.0, MOST) as u32);
        let mut rows = Vec::new();
        if let Some(mut pixels) = Pixmap::new(width, height) {
            pixels.fill(tiny_skia::Color::WHITE);
            let mut canvas = Canvas { pixels, scale: Transform::from_scale(scale as f32, scale as f32) };
            self.shapes.iter().for_each(|shape| canvas.draw(shape));
            rows = filtered(canvas.pixels.data(), width as usize);
        }
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let [width, height] = [width, height].map(u32::to_be_bytes);
        // 8 bits of red, green and blue; one compression, one filter method; not interlaced.
        chunk(&mut file, b"IHDR", &[&width[..], &height, &[8, 2, 0, 0, 0]].concat());
        let density = TO_THE_METRE.to_be_bytes();
        chunk(&mut file, b"pHYs", &[&density[..], &density, &[1]].concat());
        chunk(&mut file, b"IDAT", &compress_to_vec_zlib(&rows, 6));
        chunk(&mut file, b"IEND", &[]);
        file
    }
}

/// Rows of red, green and blue, each as its difference from the row above (filter 2), which compresses better. Paper is opaque.
fn filtered(rgba: &[u8], width: usize) -> Vec<u8> {
    let mut rows = Vec::with_capacity(rgba.len());
    let mut above = vec![0u8; 3 * width];
    for row in rgba.chunks_exact(4 * width) {
        rows.push(2);
        let row: Vec<u8> = row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        rows.extend(row.iter().zip(&above).map(|(here, above)| here.wrapping_sub(*above)));
        above = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Anchor;

    #[test]
    fn a_file_says_its_size_and_has_ink_where_something_is_drawn() {
        let mut drawing = Drawing::new("", 72.0, 36.0);
        drawing.rectangle([0.0, 0.0], [36.0, 36.0], Colour::Ink, 1.0);
        drawing.text("10⁻³", [40.0, 20.0], 10.0, Anchor::Start);
        let file = drawing.png();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && file.ends_with(b"IEND\xaeB`\x82"));
        assert_eq!(file[16..24], [0, 0, 1, 44, 0, 0, 0, 150]);
        let start = file.windows(4).position(|name| name == b"IDAT").unwrap() + 4;
        let rows = miniz_oxide::inflate::decompress_to_vec_zlib(&file[start..file.len() - 16]).unwrap();
        assert_eq!(rows.len(), 150 * (1 + 3 * 300));
        // The first row: its filter, then 150 pixels in black and 150 in white.
        assert_eq!(rows[..4], [2, 0, 0, 0]);
        assert_eq!(rows[1 + 3 * 149..][..6], [0, 0, 0, 255, 255, 255]);
        assert_eq!(file, drawing.png());
    }
}
