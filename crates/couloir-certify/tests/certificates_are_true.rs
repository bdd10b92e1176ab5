//! No certificate is below the truth, and no point is outside of its set: thousands of random problems, every method, the true
//! gap at the returned bits in exact arithmetic. `scripts/certify` judges a hundred thousand.

use couloir::Method;
use couloir_certify::judge::{judge_all, method_names};
use couloir_certify::table::Table;

/// Problems that are judged.
const PROBLEMS: u64 = 3_000;

/// The run that they are taken from: another seed than that of `scripts/certify`.
const SEED: u64 = 20_201;

#[test]
fn no_certificate_is_below_the_truth_and_no_point_outside_its_set() {
    let names = method_names();
    let table = Table::default().and(&judge_all(SEED, 0..PROBLEMS, &names));
    let faults: Vec<String> = table
        .faults(12)
        .iter()
        .map(|fault| {
            format!("{fault}\n(scripts/certify --case and the number of the case repeats it)")
        })
        .collect();
    assert!(
        table.is_clean(),
        "of {PROBLEMS} problems {} certificates are wrong ({} gaps below the true one), {} points outside:\n{}\n\n{}",
        table.all.wrong,
        table.all.gap_below,
        table.all.outside,
        table.markdown(),
        faults.join("\n")
    );
    // what was judged is what it says
    assert_eq!(table.all.problems + table.all.refused, PROBLEMS);
    assert!(
        table.all.refused < PROBLEMS / 20,
        "{} runs ended without a certificate",
        table.all.refused
    );
    for name in &names {
        assert!(table.judged_by(name) > 0, "{name} has solved nothing");
    }
}

#[test]
fn every_method_is_judged() {
    let names = method_names();
    assert!(names.len() >= 9 && names.contains(&Method::default().to_string()), "{names:?}");
    for name in &names {
        assert_eq!(name.parse::<Method>().expect("a method").name(), name);
    }
}
