//! Text in pixels: letters of the font that is compiled in, or of one that is given.
//!
//! Letters are placed one after the other, by the widths that the font states. That is right for
//! Latin, Greek, Cyrillic, Chinese, Japanese and Korean; Arabic and Indic scripts need shaping,
//! which this does not do. Nothing depends on the fonts of the system.

use ab_glyph_rasterizer::{Point, Rasterizer, point};
use skrifa::instance::{LocationRef, Size};
use skrifa::metrics::{GlyphMetrics, Metrics};
use skrifa::outline::{DrawSettings, OutlinePen};
use skrifa::{FontRef, GlyphId, MetadataProvider};

/// Fonts, of which the first that has a character draws it.
#[derive(Clone)]
pub struct Fonts<'a> {
    fonts: Vec<FontRef<'a>>,
}

/// A line of text at a size. Lengths are pixels.
pub struct Line<'a> {
    fonts: &'a Fonts<'a>,
    /// The size of the letters.
    pub em: f64,
    /// The distance from its beginning to its end.
    pub width: f64,
    /// Characters that no font has. They are drawn as boxes.
    pub n_missing: usize,
    /// The font and the horizontal offset of each glyph.
    glyphs: Vec<(usize, GlyphId, f32)>,
}

/// The pixels that something covers, row by row.
#[derive(Clone, Debug)]
pub struct Ink {
    /// The place of its first pixel, relative to the start of the baseline.
    pub left: i32,
    /// As `left`. Downwards.
    pub top: i32,
    /// Pixels in a row.
    pub width: usize,
    /// How far each pixel is covered, from 0 to 1.
    pub coverage: Vec<f32>,
}

impl Fonts<'static> {
    /// The font that is compiled in: Latin, Greek, Cyrillic.
    pub fn built_in() -> Self {
        let font = FontRef::new(epaint_default_fonts::UBUNTU_LIGHT);
        Fonts { fonts: vec![font.expect("the font that is compiled in can be read")] }
    }
}

impl<'a> Fonts<'a> {
    /// The font in these bytes (TTF, OTF, or the first of a collection) before the one that is
    /// compiled in. `None` if they are no font.
    pub fn with_first(bytes: &'a [u8]) -> Option<Self> {
        let font = FontRef::from_index(bytes, 0).ok()?;
        let mut fonts: Fonts<'a> = Fonts::built_in();
        fonts.fonts.insert(0, font);
        Some(fonts)
    }

    /// A line of text whose letters have this size.
    pub fn line<'f>(&'f self, text: &str, em: f64) -> Line<'f>
    where
        'a: 'f,
    {
        let size = Size::new(em as f32);
        let charmaps: Vec<_> = self.fonts.iter().map(|font| font.charmap()).collect();
        let metrics: Vec<_> =
            self.fonts.iter().map(|font| GlyphMetrics::new(font, size, LocationRef::default())).collect();
        let (mut end, mut n_missing) = (0.0, 0);
        let mut glyphs = Vec::new();
        for character in text.chars() {
            let found = charmaps.iter().enumerate().find_map(|(font, map)| Some((font, map.map(character)?)));
            n_missing += usize::from(found.is_none());
            let (font, glyph) = found.unwrap_or((0, GlyphId::NOTDEF));
            glyphs.push((font, glyph, end));
            // A damaged font may state any width.
            end += metrics[font].advance_width(glyph).unwrap_or(0.0).clamp(0.0, 4.0 * em as f32);
        }
        Line { fonts: self, em, width: f64::from(end), n_missing, glyphs }
    }

    fn metrics(&self, em: f64) -> impl Iterator<Item = Metrics> {
        self.fonts.iter().map(move |font| Metrics::new(font, Size::new(em as f32), LocationRef::default()))
    }
}

impl Line<'_> {
    /// The height of an "x".
    pub fn x_height(&self) -> f64 {
        let first = self.fonts.metrics(self.em).next().and_then(|metrics| metrics.x_height);
        first.map_or(self.em / 2.0, f64::from)
    }

    /// The pixels that the letters cover. A glyph whose outline is damaged is left out.
    pub fn ink(&self) -> Ink {
        // Letters may extend beyond their boxes.
        let margin = self.em.ceil();
        let width = (self.width + 2.0 * margin).ceil().max(1.0) as usize;
        // A damaged font may state any height.
        let limit = |value: f32| f64::from(value).ceil().clamp(0.0, 3.0 * margin) + 1.0;
        let (above, below) = self.fonts.metrics(self.em).fold((1.0f64, 1.0f64), |(above, below), metrics| {
            (above.max(limit(metrics.ascent)), below.max(limit(-metrics.descent)))
        });
        let height = (above + below) as usize;
        let mut pen = Pen {
            rasterizer: Rasterizer::new(width, height),
            bounds: (width as f32, height as f32),
            origin: point(0.0, above as f32),
            start: point(0.0, 0.0),
            at: point(0.0, 0.0),
        };
        let outlines: Vec<_> = self.fonts.fonts.iter().map(|font| font.outline_glyphs()).collect();
        for &(font, glyph, begin) in &self.glyphs {
            pen.origin.x = margin as f32 + begin;
            let settings = DrawSettings::unhinted(Size::new(self.em as f32), LocationRef::default());
            if let Some(outline) = outlines[font].get(glyph) {
                let _ = outline.draw(settings, &mut pen);
            }
        }
        let mut coverage = vec![0.0; width * height];
        pen.rasterizer.for_each_pixel(|pixel, covered| coverage[pixel] = covered.clamp(0.0, 1.0));
        Ink { left: -(margin as i32), top: -(above as i32), width, coverage }
    }
}

impl Ink {
    /// The pixels that are covered, with their places relative to the start of the baseline.
    pub fn pixels(&self) -> impl Iterator<Item = (i32, i32, f32)> {
        let inked = self.coverage.iter().enumerate().filter(|&(_, &covered)| covered > 0.0);
        inked.map(|(pixel, &covered)| {
            let (x, y) = (pixel % self.width, pixel / self.width);
            (self.left + x as i32, self.top + y as i32, covered)
        })
    }
}

/// Passes outlines on to the rasterizer, whose y axis points down.
struct Pen {
    rasterizer: Rasterizer,
    /// Width and height of what is drawn on.
    bounds: (f32, f32),
    /// Start of the glyph's baseline.
    origin: Point,
    /// Start of the contour.
    start: Point,
    at: Point,
}

impl Pen {
    /// Within the bounds, since outlines of damaged fonts lead anywhere.
    fn place(&self, x: f32, y: f32) -> Point {
        let within = |value: f32, end: f32| if value.is_nan() { 0.0 } else { value.clamp(0.0, end) };
        point(within(self.origin.x + x, self.bounds.0), within(self.origin.y - y, self.bounds.1))
    }
}

impl OutlinePen for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.start = self.place(x, y);
        self.at = self.start;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let end = self.place(x, y);
        self.rasterizer.draw_line(self.at, end);
        self.at = end;
    }

    fn quad_to(&mut self, cx0: f32, cy0: f32, x: f32, y: f32) {
        let end = self.place(x, y);
        self.rasterizer.draw_quad(self.at, self.place(cx0, cy0), end);
        self.at = end;
    }

    fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
        let end = self.place(x, y);
        self.rasterizer.draw_cubic(self.at, self.place(cx0, cy0), self.place(cx1, cy1), end);
        self.at = end;
    }

    fn close(&mut self) {
        self.rasterizer.draw_line(self.at, self.start);
        self.at = self.start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_lie_on_the_line_and_missing_ones_are_counted() {
        let fonts = Fonts::built_in();
        let line = fonts.line("Hx", 40.0);
        assert_eq!(line.n_missing, 0);
        let dark: Vec<(i32, i32)> =
            line.ink().pixels().filter(|pixel| pixel.2 > 0.5).map(|(x, y, _)| (x, y)).collect();
        assert!(dark.len() > 100);
        assert!(dark.iter().all(|&(x, y)| x >= 0 && f64::from(x) < line.width && (-40..0).contains(&y)));
        assert!(fonts.line("Ωж", 40.0).n_missing == 0 && fonts.line("日本", 40.0).n_missing == 2);
    }

    #[test]
    fn a_font_that_is_given_comes_first_and_a_damaged_one_draws_something() {
        let bytes = epaint_default_fonts::HACK_REGULAR;
        let fonts = Fonts::with_first(bytes).unwrap();
        // A font for programs: all letters have one width.
        assert_eq!(fonts.line("iii", 20.0).width, fonts.line("MMM", 20.0).width);
        assert!(Fonts::with_first(b"no font").is_none());
        for at in (0..bytes.len()).step_by(bytes.len() / 300) {
            let mut damaged = bytes.to_vec();
            let end = (at + 40).min(damaged.len());
            damaged[at..end].fill(0xff);
            if let Some(fonts) = Fonts::with_first(&damaged) {
                fonts.line("Ag1", 30.0).ink();
            }
            if let Some(fonts) = Fonts::with_first(&bytes[..at]) {
                fonts.line("Ag1", 30.0).ink();
            }
        }
    }
}
