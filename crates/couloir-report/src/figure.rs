//! Figures of gaps over time, one panel a data set, as SVG and PNG.

use plotters::coord::Shift;
use plotters::prelude::*;

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend calls it; lines of one name have one colour.
    pub name: String,
    /// `(x, y)` with `y` above zero; points that are not are left out.
    pub points: Vec<(f64, f64)>,
}

/// Lines over a logarithmic vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Above the panel.
    pub title: String,
    /// The lines.
    pub series: Vec<Series>,
}

/// Panels side by side, with one legend.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What runs to the right.
    pub x_label: String,
    /// What runs up.
    pub y_label: String,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// Why there is no figure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// No point can be drawn.
    #[error("there is nothing to draw: no point has a gap above zero")]
    Empty,
    /// What the drawing reports.
    #[error("drawing: {0}")]
    Drawing(String),
}

fn drawing(error: impl std::fmt::Display) -> FigureError {
    FigureError::Drawing(error.to_string())
}

/// Colours that people with any colour vision can tell apart (Okabe and Ito, the yellow darker), one for each method
/// that `compare` knows.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
    RGBColor(176, 164, 0),
];
const GREY: RGBColor = RGBColor(225, 225, 225);
const FONT: &str = "sans-serif";
/// Pixels of a panel where there are several, and of one alone.
const SEVERAL: (u32, u32) = (430, 380);
const ALONE: (u32, u32) = (760, 460);
const LEGEND: u32 = 36;
/// Pixels of the PNG for each of the SVG.
const SHARPNESS: f32 = 2.0;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Beyond this a number is far from all that a gap or a time can be; plotters has no axis for numbers near the largest
/// ones and would look for one without end.
const VAST: f64 = 1e100;

fn seen(point: &(f64, f64)) -> bool {
    point.0.abs() < VAST && point.1 > 1.0 / VAST && point.1 < VAST
}

impl Figure {
    /// The figure as SVG.
    ///
    /// # Errors
    /// No point that can be drawn.
    pub fn svg(&self) -> Result<String, FigureError> {
        let names = self.names();
        if names.is_empty() {
            return Err(FigureError::Empty);
        }
        let count = self.panels.len() as u32;
        let (width, height) = if count == 1 { ALONE } else { SEVERAL };
        let mut svg = String::new();
        {
            let size = (width * count, height + LEGEND);
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&WHITE).map_err(drawing)?;
            let (legend, panels) = root.split_vertically(LEGEND);
            draw_legend(&legend, &names)?;
            let areas = panels.split_evenly((1, self.panels.len()));
            for (panel, area) in self.panels.iter().zip(&areas) {
                self.draw(panel, area, &names)?;
            }
            root.present().map_err(drawing)?;
        }
        Ok(svg)
    }

    /// The names of lines that can be seen, each once.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if series.points.iter().any(seen) && !names.contains(&series.name.as_str()) {
                names.push(&series.name);
            }
        }
        names
    }

    fn draw(&self, panel: &Panel, area: &Area<'_>, names: &[&str]) -> Result<(), FigureError> {
        let points = || panel.series.iter().flat_map(|s| &s.points).copied().filter(seen);
        let right = points().map(|p| p.0).fold(0.0, f64::max).max(1e-9);
        let low = points().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let high = points().map(|p| p.1).fold(0.0, f64::max);
        let (low, high) = match points().next() {
            Some(_) => (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil())),
            None => (0.1, 1.0), // a panel without a run is left empty
        };
        let high = if high > low { high } else { 10.0 * low };
        let mut chart = ChartBuilder::on(area)
            .caption(&panel.title, (FONT, 17))
            .margin(12)
            .x_label_area_size(42)
            .y_label_area_size(58)
            .build_cartesian_2d(0.0..right, (low..high).log_scale())
            .map_err(drawing)?;
        chart
            .configure_mesh()
            .x_desc(&self.x_label)
            .y_desc(&self.y_label)
            .x_labels(6)
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .light_line_style(WHITE)
            .bold_line_style(GREY)
            .label_style((FONT, 13))
            .draw()
            .map_err(drawing)?;
        for series in &panel.series {
            let line = series.points.iter().copied().filter(seen);
            let style = colour(names, &series.name).stroke_width(2);
            chart.draw_series(LineSeries::new(line, style)).map_err(drawing)?;
        }
        Ok(())
    }
}

fn colour(names: &[&str], name: &str) -> RGBColor {
    let index = names.iter().position(|n| *n == name).unwrap_or(0);
    COLOURS[index % COLOURS.len()]
}

fn draw_legend(area: &Area<'_>, names: &[&str]) -> Result<(), FigureError> {
    let mut x = 70;
    let y = LEGEND as i32 / 2 + 4;
    for name in names {
        let style = colour(names, name).stroke_width(3);
        area.draw(&PathElement::new([(x, y), (x + 24, y)], style)).map_err(drawing)?;
        area.draw(&Text::new((*name).to_owned(), (x + 30, y - 7), (FONT, 14))).map_err(drawing)?;
        x += 52 + 8 * name.chars().count() as i32;
    }
    Ok(())
}

/// An SVG as PNG, with a font of our own, so that it looks the same everywhere.
///
/// # Errors
/// A text that is no SVG, or one of no size.
pub fn png(svg: &str) -> Result<Vec<u8>, FigureError> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = usvg::Tree::from_str(svg, &options).map_err(drawing)?;
    let size = tree.size().to_int_size();
    let pixels = |length: u32| (length as f32 * SHARPNESS) as u32;
    let mut image = tiny_skia::Pixmap::new(pixels(size.width()), pixels(size.height()))
        .ok_or_else(|| drawing("the picture has no size"))?;
    let transform = tiny_skia::Transform::from_scale(SHARPNESS, SHARPNESS);
    resvg::render(&tree, transform, &mut image.as_mut());
    image.encode_png().map_err(drawing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec() }
    }

    fn figure(panels: &[&[Series]]) -> Figure {
        Figure {
            x_label: "seconds".to_owned(),
            y_label: "gap".to_owned(),
            panels: panels
                .iter()
                .map(|series| Panel { title: "a set".to_owned(), series: series.to_vec() })
                .collect(),
        }
    }

    #[test]
    fn a_name_is_in_the_legend_once_and_a_line_in_every_panel() {
        let a = line("method a", &[(0.0, 1.0), (1.0, 1e-3)]);
        let b = line("method b", &[(0.0, 1.0), (0.5, 0.1)]);
        let svg = figure(&[&[a.clone(), b.clone()], &[b, a], &[]]).svg().expect("a figure");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!((svg.matches("method a").count(), svg.matches("method b").count()), (1, 1));
        assert_eq!(svg.matches("a set").count(), 3);
        // a line in each of two panels, and one in the legend
        let first = COLOURS.map(|c| format!("stroke=\"#{:02X}{:02X}{:02X}\"", c.0, c.1, c.2));
        assert_eq!((svg.matches(&first[0]).count(), svg.matches(&first[1]).count()), (3, 3));
    }

    #[test]
    fn points_that_have_no_logarithm_are_left_out() {
        let odd = line("odd", &[(0.0, 0.0), (0.1, f64::NAN), (0.2, f64::INFINITY), (1.0, 0.5)]);
        assert!(!figure(&[&[odd]]).svg().expect("a figure").contains("NaN"));
        assert!(matches!(figure(&[&[line("zero", &[(0.0, 0.0)])]]).svg(), Err(FigureError::Empty)));
        assert!(matches!(figure(&[]).svg(), Err(FigureError::Empty)));
    }

    #[test]
    fn names_cannot_become_elements_that_lead_elsewhere() {
        let name = r#"</text><image href="/etc/hostname"/><script>alert(1)</script>"#;
        let mut figure = figure(&[&[line(name, &[(0.0, 1.0), (1.0, 1e-3)])]]);
        figure.panels[0].title = name.to_owned();
        let svg = figure.svg().expect("a figure");
        assert!(!svg.contains("<image") && !svg.contains("<script"), "{svg}");
        assert!(png(&svg).is_ok());
    }

    #[test]
    fn vast_and_tiny_numbers_are_left_out_rather_than_drawn_without_end() {
        let vast = line("vast", &[(0.0, 1e308), (f64::MAX, 1.0), (1e-320, 5e-324), (-1.0, 0.5)]);
        let svg = figure(&[&[vast]]).svg().expect("a figure");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let wide = line("wide", &[(0.0, 1e-99), (1e99, 1e99)]);
        assert!(figure(&[&[wide]]).svg().is_ok());
    }

    #[test]
    fn the_png_has_the_lines_and_the_words_of_the_svg() {
        let with = |name: &str| {
            let figure = figure(&[&[line(name, &[(0.0, 1.0), (1.0, 1e-3)])]]);
            let png = png(&figure.svg().expect("a figure")).expect("a picture");
            let image = resvg::tiny_skia::Pixmap::decode_png(&png).expect("an image");
            assert_eq!((image.width(), image.height()), (2 * ALONE.0, 2 * (ALONE.1 + LEGEND)));
            let blue = image.pixels().iter().filter(|p| p.red() < 30 && p.blue() > 150).count();
            let dark = image.pixels().iter().filter(|p| p.red() < 60 && p.blue() < 60).count();
            (blue, dark)
        };
        let (blue, short) = with("a");
        let (_, long) = with("a much longer name of a method");
        assert!(blue > 1000 && long > short + 300, "{blue} {short} {long}");
        assert!(png("nonsense").is_err());
    }
}
