//! What the table of methods says is true: needs are needed and nothing else is, and docs/methods.md has the same rows.

use couloir::domain::{Domain, L1Ball, L2Ball, LoSet, Simplex};
use couloir::error::Block;
use couloir::problem::{
    ClosureProblem, MatrixGame, Population, QuadraticBilinear, QuadraticSum, SaddleProblem,
};
use couloir::solver::{CertifiedSettings, Need, SvreSettings};
use couloir::{Error, Inner, Method, Solve};
use std::path::PathBuf;

const DIM: usize = 4;

fn quadratic() -> QuadraticBilinear {
    let ball = L2Ball::new(DIM, 1.0).expect("a ball");
    QuadraticBilinear::on(&ball, &ball).curvature(0.5, 1.0).build().expect("a problem")
}

fn sum(population: Population) -> QuadraticSum {
    QuadraticSum::new(quadratic(), population, 0.2, 0.1, 1).expect("a sum")
}

/// A ball that offers linear minimisation and nothing else.
fn bare_ball() -> LoSet<'static> {
    LoSet::new(DIM, 2.0, vec![0.0; DIM], |g, p| {
        let length = g.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
        p.iter_mut().zip(g).for_each(|(p, g)| *p = -g / length);
    })
    .expect("a set")
}

/// Why a method refuses a problem, if it does.
fn refusal(
    method: &Method,
    problem: &dyn SaddleProblem,
    x_set: &dyn Domain,
    y_set: &dyn Domain,
) -> Option<Error> {
    Solve::new(problem, x_set, y_set).method(method.clone()).start().err()
}

#[test]
fn methods_need_what_their_row_says_and_nothing_else() {
    let polytope = L1Ball::new(DIM, 1.0).expect("a ball");
    let ball = L2Ball::new(DIM, 1.0).expect("a ball");
    let (finite, infinite) = (sum(Population::Finite(50)), sum(Population::Infinite));
    let game = MatrixGame::from_rows(DIM, DIM, vec![1.0; DIM * DIM]).expect("a game");
    let not_bilinear = Some("bilinear form (its capability `bilinear` is missing)");
    for method in Method::all() {
        let polytopes = method.needs(Need::Polytopes);
        let round = polytopes.then_some("away oracle");
        let oracle = |error: Option<Error>| match error {
            Some(Error::MissingOracle { oracle, .. }) => Some(oracle),
            Some(other) => panic!("{method}: {other}"),
            None => None,
        };
        let asks = |problem: &dyn SaddleProblem, x_set: &dyn Domain, y_set: &dyn Domain| {
            oracle(refusal(&method, problem, x_set, y_set))
        };
        // a finite sum on polytopes that can be projected onto has all there is to need, but for a method for games
        let bilinear = method.needs(Need::Bilinear);
        let all: &dyn SaddleProblem = if bilinear { &game } else { &finite };
        assert_eq!(asks(all, &polytope, &polytope), None, "{method}");
        assert_eq!(asks(all, &ball, &ball), round, "{method}");
        for block in [Block::X, Block::Y] {
            let bare = bare_ball();
            let (x_set, y_set): (&dyn Domain, &dyn Domain) = match block {
                Block::X => (&bare, &polytope),
                Block::Y => (&polytope, &bare),
            };
            let projects = method.needs(Need::Projection(block));
            // a set that is known by its oracle alone may be a polytope
            let expected = projects.then_some("exact projection");
            assert_eq!(asks(all, x_set, y_set), expected, "{method}, {block}");
        }
        if bilinear {
            assert_eq!(asks(&finite, &polytope, &polytope), not_bilinear, "{method}");
            continue;
        }
        let batches = method.samples().then_some("batches (its capability `sampled` is missing)");
        assert_eq!(asks(&quadratic(), &polytope, &polytope), batches, "{method}");
        let whole = method.needs(Need::FiniteSum).then_some("full gradient");
        assert_eq!(asks(&infinite, &polytope, &polytope), whole, "{method}");
    }
}

#[test]
fn only_rows_that_say_so_need_constants() {
    let set = Simplex::new(DIM).expect("a simplex");
    let value = |x: &[f64], y: &[f64]| (0..DIM).map(|i| x[i] * y[i] - 0.5 * y[i] * y[i]).sum();
    let grad_x = |_: &[f64], y: &[f64], g: &mut [f64]| g.copy_from_slice(y);
    let grad_y = |x: &[f64], y: &[f64], g: &mut [f64]| (0..DIM).for_each(|i| g[i] = x[i] - y[i]);
    let problem = ClosureProblem::new(DIM, DIM, value, grad_x, grad_y).expect("a problem");
    // those that sample have other needs first
    for method in Method::all().filter(|m| !m.samples() && !m.needs(Need::Bilinear)) {
        let said = method.about().needs.iter().any(|need| matches!(need, Need::Constants(_)));
        let refused = refusal(&method, &problem, &set, &set);
        let missing = matches!(refused, Some(Error::MissingConstant { .. }));
        assert_eq!((missing, refused.is_none()), (said, !said), "{method}: {refused:?}");
    }
}

#[test]
fn settings_that_some_methods_have_are_set_there_and_refused_elsewhere() {
    for method in Method::all() {
        assert_ne!(method.samples(), method.with_seed(7) == method, "{method}");
        match method.with_inner(Inner::Slide) {
            Ok(changed) => assert_eq!(changed.name(), method.name()),
            Err(error) => {
                assert!(error.to_string().contains("methods that do are certified"), "{error}");
            }
        }
        match method.with_steps(0.5, 0.25) {
            Ok(changed) => assert_eq!(changed.steps(), Some((0.5, 0.25)), "{method}"),
            Err(error) => {
                assert!(!method.has_steps());
                assert!(error.to_string().contains("svre, extragradient"), "{error}");
            }
        }
    }
    let slides = Method::certified().with_inner(Inner::Slide).expect("a choice");
    let settings = slides.settings::<CertifiedSettings>().expect("its settings");
    assert_eq!((settings.inner_x, settings.inner_y), (Inner::Slide, Inner::Slide));
    assert_eq!(slides.settings::<SvreSettings>(), None);
    assert_eq!(Method::new(SvreSettings::default().batch(20)).iterations_per_pass(110), 6);
    assert_eq!(Method::certified().iterations_per_pass(110), 1);
}

/// The rows of docs/methods.md.
fn rows() -> String {
    let mut rows = String::from("| name | what it is | needs |\n|---|---|---|\n");
    for about in Method::all().map(|method| method.about()) {
        let needs: Vec<String> = about.needs.iter().map(Need::to_string).collect();
        let needs = if needs.is_empty() { "-".to_owned() } else { needs.join("; ") };
        rows += &format!("| `{}` | {} | {needs} |\n", about.name, about.summary);
    }
    rows
}

#[test]
fn the_docs_have_the_rows_of_the_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/methods.md");
    let docs = std::fs::read_to_string(path).expect("docs/methods.md");
    assert!(docs.contains(&rows()), "docs/methods.md should have these rows:\n{}", rows());
}
