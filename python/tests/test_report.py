"""The page about a fit is that of the command line."""

import json
import re
import subprocess

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits

import couloir
from couloir import RobustClassifier, RobustClassifierCV


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return np.delete(X, np.flatnonzero(X.max(axis=0) == 0), axis=1)[:500], y[:500]


def charts(page):
    """The data of the charts, but for times."""
    (data,) = re.findall(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    data = json.loads(data)
    for panel in data["panels"]:
        for run in panel["runs"]:
            assert len(run["columns"].pop("seconds")) == run["points"] > 3
    return data


def tables(page):
    """The tables of rows and classes."""
    (section,) = re.findall(r'<section aria-labelledby="tables".*?</section>', page, re.DOTALL)
    assert "hardest rows" in section
    return section


def facts(page):
    """Settings, work, versions and the machine, by name."""
    return dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page))


def test_the_page_is_that_of_the_command(command, tmp_path, digits):
    X, y = digits
    data, theirs, ours = (tmp_path / name for name in ("digits.svm", "theirs.html", "ours.html"))
    dump_svmlight_file(X, y, str(data), zero_based=False)
    settings = ["--tol", "0.01", "--seed", "3", "--intercept", "--scale", "off"]
    subprocess.run(
        [command, "fit", str(data), "--report", str(theirs), *settings],
        check=True,
        capture_output=True,
    )
    model = RobustClassifier(tol=0.01, random_state=3, scale=False).fit(X, y)
    couloir.report(model, X, y, ours, data=str(data))
    theirs, ours = theirs.read_text(), ours.read_text()
    assert charts(ours) == charts(theirs)
    assert tables(ours) == tables(theirs)
    # what Python adds comes after; all else is the same but for the time
    more = {"scale", "Python", "NumPy", "scikit-learn"}
    our_facts, their_facts = facts(ours), facts(theirs)
    assert len(their_facts) > 12 and set(our_facts) == set(their_facts) | more
    assert {k: v for k, v in our_facts.items() if k not in more | {"seconds"}} == {
        k: v for k, v in their_facts.items() if k != "seconds"
    }


def test_two_classes_names_and_a_chosen_radius_have_a_page(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    y = np.array(["bad & ill", "good"])[y]
    model = RobustClassifierCV(taus=2, cv=2, tol=0.1).fit(X, y)
    couloir.report(model, X, y, tmp_path / "page.html", data="tumours")
    page = (tmp_path / "page.html").read_text()
    assert "A robust classifier of tumours" in page and "bad &amp; ill" in page
    accuracy = re.search(r"accuracy (\S+),", page).group(1)
    assert float(accuracy) == pytest.approx(model.score(X, y), abs=1e-4)
    assert facts(page)["scale"] == "auto"
    assert "(chosen)" not in facts(page)["tau"]


def test_a_failed_write_leaves_the_old_page(tmp_path, digits):
    X, y = digits
    model = RobustClassifier(tol=0.1).fit(X, y)
    path = tmp_path / "page.html"
    path.write_text("the old page")
    with pytest.raises(ValueError, match="rows of the fit"):
        couloir.report(model, X[:10], y[:10], path)
    with pytest.raises(ValueError, match="label that the fit did not have: 11"):
        couloir.report(model, X, np.full(len(y), 11), path)
    assert path.read_text() == "the old page"
    with pytest.raises(FileNotFoundError):
        couloir.report(model, X, y, tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError):
        couloir.report(model, X, y, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    couloir.report(model, X, y, path)
    assert path.read_text().startswith("<!doctype html>")


def test_the_model_must_be_fitted_and_one_of_ours(tmp_path, digits):
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(NotFittedError):
        couloir.report(RobustClassifier(), *digits, tmp_path / "page.html")
    with pytest.raises(TypeError, match="model must be a RobustClassifier"):
        couloir.report(LogisticRegression(), *digits, tmp_path / "page.html")
