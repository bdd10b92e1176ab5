"""The package knows its version."""

from importlib.metadata import version

import couloir


def test_the_version_is_that_of_the_installed_package():
    assert couloir.__version__ == version("couloir")
