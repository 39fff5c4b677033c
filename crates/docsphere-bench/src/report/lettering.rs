//! Text in figures: measured, and for bitmaps drawn, with the built-in font.
//!
//! SVG names a font and leaves the drawing to the viewer. Both kinds of figures are laid out with
//! the same measures, and text in a bitmap is placed where [`SVGBackend`] puts it.
//!
//! [`SVGBackend`]: plotters::prelude::SVGBackend

use std::sync::LazyLock;

use docsphere_result::lettering::{Fonts, Line};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

static FONTS: LazyLock<Fonts<'static>> = LazyLock::new(Fonts::built_in);

/// Font size, as plotters defines it, per em. (`SVGBackend` divides by the same number.)
const SIZE_PER_EM: f64 = 1.24;

/// From the top of a text to its baseline, in ems, as in `SVGBackend`.
const TOP_TO_BASELINE: f64 = 0.76;

/// What draws the letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// The backend, in a font of its choice.
    OfBackend,
    /// This module, pixel by pixel.
    Pixels,
}

/// A backend whose text is measured with the built-in font. It replaces plotters' own text support,
/// which can only estimate widths and cannot draw at all.
pub(super) struct Lettered<DB> {
    backend: DB,
    letters: Letters,
}

impl<DB> Lettered<DB> {
    pub(super) fn new(backend: DB, letters: Letters) -> Self {
        Lettered { backend, letters }
    }
}

type Drawn<DB> = Result<(), DrawingErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl<DB: DrawingBackend> DrawingBackend for Lettered<DB> {
    type ErrorType = DB::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.backend.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<DB> {
        self.backend.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<DB> {
        self.backend.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn<DB> {
        self.backend.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn<DB> {
        self.backend.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn<DB> {
        self.backend.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn<DB> {
        self.backend.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn<DB> {
        self.backend.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn<DB> {
        self.backend.fill_polygon(vert, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, pos: BackendCoord) -> Drawn<DB> {
        if self.letters == Letters::OfBackend {
            return self.backend.draw_text(text, style, pos);
        }
        let line = FONTS.line(text, style.size() / SIZE_PER_EM);
        let (left, baseline) = origin(&line, style.anchor().h_pos, style.anchor().v_pos);
        for (x, y, coverage) in line.ink().pixels() {
            let (x, y) = style.transform().transform(left + x, baseline + y);
            self.backend.draw_pixel((pos.0 + x, pos.1 + y), style.color().mix(f64::from(coverage)))?;
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<DB::ErrorType>> {
        let line = FONTS.line(text, style.size() / SIZE_PER_EM);
        Ok((line.width.ceil() as u32, line.em.round() as u32))
    }

    fn blit_bitmap(&mut self, pos: BackendCoord, size: (u32, u32), src: &[u8]) -> Drawn<DB> {
        self.backend.blit_bitmap(pos, size, src)
    }
}

/// Start of the baseline relative to the anchor, in whole pixels, since fractions blur letters.
fn origin(line: &Line<'_>, horizontal: HPos, vertical: VPos) -> (i32, i32) {
    let left = match horizontal {
        HPos::Left => 0.0,
        HPos::Center => -line.width / 2.0,
        HPos::Right => -line.width,
    };
    let baseline = match vertical {
        VPos::Top => TOP_TO_BASELINE * line.em,
        VPos::Center => line.x_height() / 2.0,
        VPos::Bottom => -line.x_height() / 2.0,
    };
    (left.round() as i32, baseline.round() as i32)
}

#[cfg(test)]
mod tests {
    use plotters::prelude::*;
    use plotters::style::text_anchor::Pos;

    use super::*;

    const SIDE: u32 = 200;
    const MIDDLE: i32 = SIDE as i32 / 2;

    fn style() -> TextStyle<'static> {
        TextStyle::from(("sans-serif", 24).into_font())
    }

    /// Draws a text anchored in the middle of a white square. Returns the bounding box of the dark
    /// pixels relative to the anchor (left, top, right, bottom) and their number.
    fn ink_box(text: &str, style: &TextStyle) -> ([i32; 4], usize) {
        let mut pixels = vec![255; (SIDE * SIDE * 3) as usize];
        let backend = BitMapBackend::with_buffer(&mut pixels, (SIDE, SIDE));
        Lettered::new(backend, Letters::Pixels).draw_text(text, style, (MIDDLE, MIDDLE)).unwrap();
        let dark: Vec<(i32, i32)> = (0..(SIDE * SIDE) as i32)
            .filter(|&n| pixels[3 * n as usize] < 128)
            .map(|n| (n % SIDE as i32 - MIDDLE, n / SIDE as i32 - MIDDLE))
            .collect();
        let (xs, ys) = (|| dark.iter().map(|p| p.0), || dark.iter().map(|p| p.1));
        let edges = [xs().min(), ys().min(), xs().max(), ys().max()].map(|edge| edge.expect("ink"));
        (edges, dark.len())
    }

    fn size(text: &str, style: &TextStyle) -> (u32, u32) {
        let mut svg = String::new();
        let backend = SVGBackend::with_string(&mut svg, (SIDE, SIDE));
        Lettered::new(backend, Letters::OfBackend).estimate_text_size(text, style).unwrap()
    }

    #[test]
    fn letters_fill_the_size_that_was_estimated() {
        let (width, height) = size("HxH", &style());
        let ([left, top, right, bottom], _) = ink_box("HxH", &style());
        assert!((1..=3).contains(&left) && (0..=2).contains(&top), "{left} {top}");
        assert!((1..=4).contains(&(width as i32 - right)), "{right} of {width}");
        assert!((1..=6).contains(&(height as i32 - bottom)), "{bottom} of {height}");
        // Widths are those of the letters, not an estimate from their number.
        assert!(size("MMMM", &style()).0 > 3 * size("iiii", &style()).0);
        assert_eq!(size("", &style()).0, 0);
    }

    #[test]
    fn a_bitmap_of_twice_the_scale_has_twice_the_text() {
        let double = TextStyle::from(("sans-serif", 48).into_font());
        for text in ["documents", "0.05", "growth of all"] {
            let (single, double) = (size(text, &style()), size(text, &double));
            assert!(double.0.abs_diff(2 * single.0) <= 2 && double.1.abs_diff(2 * single.1) <= 1, "{text}");
        }
    }

    #[test]
    fn anchors_and_turns_move_the_same_letters() {
        let (width, _) = size("Hx", &style());
        let (upright, n_dark) = ink_box("Hx", &style());
        let right = style().pos(Pos::new(HPos::Right, VPos::Top));
        let shift = -(width as i32);
        let ([left, top, ..], n_right) = ink_box("Hx", &right);
        assert!((left - upright[0] - shift).abs() <= 1 && top == upright[1]);
        assert_eq!(n_right, n_dark);
        let centre = style().pos(Pos::new(HPos::Center, VPos::Center));
        let ([left, _, right, _], _) = ink_box("Hx", &centre);
        assert!((left + right).abs() <= 3, "{left} {right}");
        let ([.., bottom], _) = ink_box("Hx", &style().pos(Pos::new(HPos::Left, VPos::Bottom)));
        assert!(bottom < 0, "{bottom}");
        let turned = style().transform(FontTransform::Rotate270);
        let ([left, top, right, bottom], n_turned) = ink_box("Hx", &turned);
        assert_eq!([-bottom, left, -top, right], upright);
        assert_eq!(n_turned, n_dark);
    }

    #[test]
    fn text_beyond_the_edge_and_unknown_characters_are_no_errors() {
        let (_, n_dark) = ink_box(&"wide ".repeat(40), &style());
        assert!(n_dark > 0);
        assert!(size("\u{10FFFD}", &style()).0 > 0);
        ink_box("\u{10FFFD}", &style());
    }
}
