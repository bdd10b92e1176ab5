"""(iv) Reading news20.scale against scikit-learn's load_svmlight_file: as shipped, plain and as .gz."""

import bz2
import gzip
import tempfile
from pathlib import Path

from common import Peer, data_files, example, in_turn, median, show


def run(goals, quick):
    files = data_files()
    if "news20" not in files:
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        text = bz2.decompress(files["news20"].read_bytes())
        plain, packed = Path(folder) / "news20.scale", Path(folder) / "news20.scale.gz"
        plain.write_bytes(text)
        packed.write_bytes(gzip.compress(text, 6))
        peer = Peer("reading.py")
        for kind, path in {"bz2, as shipped": files["news20"], "plain": plain, "gz": packed}.items():
            answers = in_turn(1 if quick else 5, ours=lambda: example("read_speed", "--json", path),
                              theirs=lambda: peer(path))
            ours, theirs = median(answers["ours"], "seconds"), median(answers["theirs"], "seconds")
            size = len(text) / 1e6
            rows.append([kind, f"{ours:.3f}", f"{size / ours:.0f}", f"{theirs:.3f}", f"{size / theirs:.0f}",
                         f"{theirs / ours:.1f}"])
            if kind == "plain":
                goals.add("reading news20.scale", f"{theirs / ours:.1f} x", "at least 5 x", theirs / ours >= 5)
        peer.close()
    show(["file", "ours s", "MB/s of text", "scikit-learn s", "MB/s of text", "times faster"], rows)
