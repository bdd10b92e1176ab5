//! A robust fit of a LIBSVM file from Rust: prints the bits of the weights, class by class, and of the intercepts, a
//! number a line in hexadecimal. The tests of the Python package compare them with those of the command and of Python.
#![allow(clippy::print_stdout)]

use couloir::Method;
use couloir::model::RobustFit;
use couloir::run::{Algorithm, Flow, TracePoint, WallClock};
use couloir_data::libsvm::{ReadOptions, read};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, method, seed, tol] = arguments.as_slice() else {
        return Err("usage: fit_bits FILE METHOD SEED TOL".into());
    };
    let mut data = read(Path::new(file), &ReadOptions::default())?;
    let rows = data.take_matrix()?;
    let classes = data.classes.len();
    let mut watch = |_: &TracePoint, _: &dyn Algorithm| Flow::Continue;
    let fitted = RobustFit::default()
        .method(method.parse::<Method>()?)
        .seed(seed.parse()?)
        .tol(tol.parse()?)
        .intercept(true)
        .run(rows, data.labels, classes, &WallClock::start(), &mut watch)?;
    for number in fitted.weights().iter().chain(fitted.bias().iter().flatten()) {
        println!("{:016x}", number.to_bits());
    }
    Ok(())
}
