//! Drawings as PDF: one page of the size of the drawing, with its font, so that every letter is there on every machine. It has no dates.

use std::collections::BTreeMap;

use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr};

use crate::drawing::{Drawing, Shape, Stroke, Text};
use crate::font;
use crate::style::Colour;
use crate::text::runs;

const FONT: Name<'_> = Name(b"F1");
const FONT_NAME: Name<'_> = Name(b"Arimo");
const IDENTITY: SystemInfo<'_> = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// From the axis to a handle of a quarter of a circle, in radii.
const HANDLE: f64 = 0.552_284_75;

struct Page {
    content: Content,
    height: f64,
    /// The characters of glyphs that are used.
    glyphs: BTreeMap<u16, char>,
    /// In hundredths; each has a graphics state.
    opacities: BTreeMap<u8, String>,
}

impl Page {
    /// y goes up here.
    fn at(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        [x as f32, (self.height - y) as f32]
    }

    fn rgb(colour: Colour) -> [f32; 3] {
        colour.rgb().map(|part| f32::from(part) / 255.0)
    }

    fn set_fill(&mut self, colour: Colour, opacity: f64) {
        let [red, green, blue] = Self::rgb(colour);
        self.content.set_fill_rgb(red, green, blue);
        let hundredths = (100.0 * opacity).round() as u8;
        let name = self.opacities.entry(hundredths).or_insert_with(|| format!("O{hundredths}"));
        self.content.set_parameters(Name(name.as_bytes()));
    }

    fn set_stroke(&mut self, stroke: Stroke) {
        let [red, green, blue] = Self::rgb(stroke.colour);
        self.content.set_stroke_rgb(red, green, blue);
        self.content.set_line_width(stroke.width as f32);
        self.content.set_dash_pattern(stroke.dash.iter().map(|length| *length as f32), 0.0);
    }

    /// Draws the path that has just been made.
    fn paint(&mut self, fill: bool, stroke: bool) {
        match (fill, stroke) {
            (true, true) => self.content.fill_nonzero_and_stroke(),
            (true, false) => self.content.fill_nonzero(),
            (false, true) => self.content.stroke(),
            (false, false) => self.content.end_path(),
        };
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rectangle { corner, size, fill, opacity } => {
                self.set_fill(*fill, *opacity);
                let [x, y] = self.at([corner[0], corner[1] + size[1]]);
                self.content.rect(x, y, size[0] as f32, size[1] as f32);
                self.paint(true, false);
            }
            Shape::Lines { points, closed, fill, stroke } => {
                if let Some((colour, opacity)) = fill {
                    self.set_fill(*colour, *opacity);
                }
                if let Some(stroke) = stroke {
                    self.set_stroke(*stroke);
                }
                for (k, point) in points.iter().enumerate() {
                    let [x, y] = self.at(*point);
                    if k == 0 {
                        self.content.move_to(x, y)
                    } else {
                        self.content.line_to(x, y)
                    };
                }
                if *closed {
                    self.content.close_path();
                }
                self.paint(fill.is_some(), stroke.is_some());
            }
            Shape::Circle { centre: [x, y], radius, fill, stroke } => {
                self.set_fill(*fill, 1.0);
                if let Some(stroke) = stroke {
                    self.set_stroke(*stroke);
                }
                let at = |across: f64, down: f64| self.at([x + radius * across, y + radius * down]);
                let quarters = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)];
                let curves: Vec<[[f32; 2]; 3]> = quarters
                    .windows(2)
                    .map(|ends| {
                        let [(a, b), (c, d)] = [ends[0], ends[1]];
                        [at(a + HANDLE * c, b + HANDLE * d), at(c + HANDLE * a, d + HANDLE * b), at(c, d)]
                    })
                    .collect();
                let [x, y] = at(1.0, 0.0);
                self.content.move_to(x, y);
                for [[x1, y1], [x2, y2], [x, y]] in curves {
                    self.content.cubic_to(x1, y1, x2, y2, x, y);
                }
                self.content.close_path();
                self.paint(true, stroke.is_some());
            }
            Shape::Text(text) => self.text(text),
        }
    }

    fn text(&mut self, text: &Text) {
        let (sin, cos) = text.angle.to_radians().sin_cos();
        let mut start = text.start();
        self.set_fill(text.colour, 1.0);
        self.content.begin_text();
        for run in runs(&text.text) {
            let (size, rise) = (text.size * run.size, text.size * run.rise);
            let [x, y] = self.at([start[0] - rise * sin, start[1] - rise * cos]);
            self.content.set_font(FONT, size as f32);
            self.content.set_text_matrix([cos as f32, sin as f32, -sin as f32, cos as f32, x, y]);
            let mut bytes = Vec::new();
            for character in run.text.chars() {
                let glyph = font::glyph(character);
                self.glyphs.entry(glyph.0).or_insert(character);
                bytes.extend(glyph.0.to_be_bytes());
                let advance = size * font::advance(glyph);
                start = [start[0] + advance * cos, start[1] - advance * sin];
            }
            self.content.show(Str(&bytes));
        }
        self.content.end_text();
    }
}

impl Drawing {
    pub(crate) fn pdf(&self) -> Vec<u8> {
        let (glyphs, opacities) = (BTreeMap::new(), BTreeMap::new());
        let mut drawn = Page { content: Content::new(), height: self.height, glyphs, opacities };
        drawn.content.set_line_join(pdf_writer::types::LineJoinStyle::RoundJoin);
        self.shapes.iter().for_each(|shape| drawn.draw(shape));
        let Page { content, glyphs, opacities, .. } = drawn;

        let mut numbers = (1..).map(Ref::new);
        let mut new = || numbers.next().unwrap_or(Ref::new(1));
        let (catalog, pages, page_id, content_id, info) = (new(), new(), new(), new(), new());
        let (font_id, cid_id, descriptor, file, cmap) = (new(), new(), new(), new(), new());
        let states: Vec<(u8, String, Ref)> = opacities.into_iter().map(|(part, name)| (part, name, new())).collect();
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([page_id]).count(1);
        if !self.title.is_empty() {
            pdf.document_info(info).title(TextStr(&self.title));
        }
        let mut page = pdf.page(page_id);
        page.media_box(Rect::new(0.0, 0.0, self.width as f32, self.height as f32)).parent(pages).contents(content_id);
        let mut resources = page.resources();
        resources.fonts().pair(FONT, font_id);
        let mut names = resources.ext_g_states();
        for (_, name, id) in &states {
            names.pair(Name(name.as_bytes()), id);
        }
        names.finish();
        resources.finish();
        page.finish();
        for (part, _, id) in &states {
            pdf.ext_graphics(*id).non_stroking_alpha(f32::from(*part) / 100.0);
        }
        let content = compress_to_vec_zlib(&content.finish(), 6);
        pdf.stream(content_id, &content).filter(Filter::FlateDecode);
        write_font(&mut pdf, &glyphs, [font_id, cid_id, descriptor, file, cmap]);
        pdf.finish()
    }
}

/// The whole font: its parts would need a name that differs from file to file.
fn write_font(pdf: &mut Pdf, glyphs: &BTreeMap<u16, char>, [font_id, cid_id, descriptor, file, cmap_id]: [Ref; 5]) {
    let face = font::face();
    let thousandths = |units: f64| (1000.0 * units / font::units_per_em()).round() as f32;
    pdf.type0_font(font_id)
        .base_font(FONT_NAME)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(cid_id)
        .to_unicode(cmap_id);
    let mut cid = pdf.cid_font(cid_id);
    cid.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(IDENTITY).font_descriptor(descriptor);
    cid.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for glyph in glyphs.keys() {
        let width = 1000.0 * font::advance(font::GlyphId(*glyph));
        widths.consecutive(*glyph, [width.round() as f32]);
    }
    widths.finish();
    cid.finish();
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] = [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(f64::from);
    pdf.font_descriptor(descriptor)
        .name(FONT_NAME)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Rect::new(thousandths(left), thousandths(bottom), thousandths(right), thousandths(top)))
        .italic_angle(0.0)
        .ascent(thousandths(f64::from(face.ascender())))
        .descent(thousandths(f64::from(face.descender())))
        .cap_height(thousandths(f64::from(face.capital_height().unwrap_or(face.ascender()))))
        .stem_v(80.0)
        .font_file2(file);
    let data = compress_to_vec_zlib(font::DATA, 6);
    let mut stream = pdf.stream(file, &data);
    stream.filter(Filter::FlateDecode).pair(Name(b"Length1"), font::DATA.len() as i32);
    stream.finish();
    let mut cmap = UnicodeCmap::new(Name(b"Custom"), IDENTITY);
    for (glyph, character) in glyphs {
        cmap.pair(*glyph, *character);
    }
    pdf.cmap(cmap_id, &cmap.finish());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::Anchor;

    #[test]
    fn a_file_has_one_page_of_the_size_of_the_drawing_and_its_font() {
        let mut drawing = Drawing::new("χ²", 100.0, 50.0);
        drawing.text("χ²/dof = 10⁻³", [10.0, 20.0], 10.0, Anchor::Start);
        drawing.rectangle([0.0, 0.0], [5.0, 5.0], Colour::Series(0), 0.25);
        let file = drawing.pdf();
        assert!(file.starts_with(b"%PDF-1.") && file.ends_with(b"%%EOF"));
        let text = String::from_utf8_lossy(&file);
        assert!(text.contains("[0 0 100 50]") && text.contains("/FontFile2") && text.contains("/ca 0.25"), "{text}");
        assert!(text.contains("<03C7>") || text.contains("<03c7>"), "{text}");
        assert!(!text.contains("CreationDate") && file.len() > 10_000 && file == drawing.pdf());
    }
}
