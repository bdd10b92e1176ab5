"""Answers a file's name with the seconds that scikit-learn takes to read it."""

import json
import sys
import time

from sklearn.datasets import load_svmlight_file


def main():
    for line in sys.stdin:
        start = time.perf_counter()
        load_svmlight_file(line.rstrip("\n"))
        print(json.dumps({"seconds": time.perf_counter() - start}))


if __name__ == "__main__":
    main()
