//! Charts of gaps over time, as SVG.

use anyhow::{Result, anyhow};
use plotters::prelude::*;

/// One line of a chart.
pub struct Series {
    pub name: String,
    /// `(x, y)` with `y` above zero; points that are not are left out.
    pub points: Vec<(f64, f64)>,
}

/// Colours that people with any colour vision can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

/// The lines over a logarithmic vertical axis.
pub fn log_chart(title: &str, x_label: &str, y_label: &str, series: &[Series]) -> Result<String> {
    let seen = |p: &(f64, f64)| p.0.is_finite() && p.1.is_finite() && p.1 > 0.0;
    let points = || series.iter().flat_map(|s| &s.points).copied().filter(seen);
    if points().next().is_none() {
        return Err(anyhow!("there is nothing to draw: no point has a gap above zero"));
    }
    let right = points().map(|p| p.0).fold(0.0, f64::max).max(1e-9);
    let low = points().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.1).fold(0.0, f64::max);
    let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
    let high = if high > low { high } else { 10.0 * low };

    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (800, 500)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(title, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(45)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..right, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(x_label)
            .y_desc(y_label)
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .light_line_style(WHITE)
            .bold_line_style(RGBColor(225, 225, 225))
            .label_style(("sans-serif", 14))
            .draw()?;
        for (s, colour) in series.iter().zip(COLOURS.iter().cycle()) {
            let line = s.points.iter().copied().filter(seen);
            let style = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(line, style))?
                .label(&s.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::MiddleRight)
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 14))
            .draw()?;
        root.present()?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: &[(f64, f64)]) -> Series {
        Series { name: "a method".to_owned(), points: points.to_vec() }
    }

    #[test]
    fn a_chart_has_a_line_and_a_name_for_each_series() {
        let svg =
            log_chart("t", "x", "y", &[line(&[(0.0, 1.0), (1.0, 1e-3)]), line(&[(0.5, 0.1)])])
                .expect("a chart");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert_eq!(svg.matches("a method").count(), 2);
    }

    #[test]
    fn points_that_have_no_logarithm_are_left_out() {
        let odd = line(&[(0.0, 0.0), (0.1, f64::NAN), (0.2, f64::INFINITY), (1.0, 0.5)]);
        assert!(!log_chart("t", "x", "y", &[odd]).expect("a chart").contains("NaN"));
        assert!(log_chart("t", "x", "y", &[line(&[(0.0, 0.0)])]).is_err());
    }
}
