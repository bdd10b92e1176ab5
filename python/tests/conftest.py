"""What cargo built, for the tests that compare with it."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def command():
    """The command: where scripts/test says, or where cargo puts it. Tests that miss it fail."""
    built = Path(__file__).parents[2] / "target" / "debug" / "couloir"
    return Path(os.environ.get("COULOIR_COMMAND", built)).resolve()


@pytest.fixture(scope="session")
def rust_examples(command):
    """The folder of the examples, which `cargo test` builds beside the command."""
    return command.parent / "examples"
