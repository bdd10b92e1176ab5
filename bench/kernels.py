"""(ii) Each kernel against NumPy and SciPy, and against the memory bandwidth of the machine."""

from common import Peer, data_files, example, in_turn, median, show

KERNELS = ["scores", "adjoint", "softmax", "gram"]


def least_bytes(kernel, n, d, h, entries):
    """Each operand moved once: what no implementation that starts from memory can do without."""
    matrix, by_row, by_feature = 12 * entries, 8 * n * h, 8 * d * h
    return {
        "scores": matrix + by_feature + by_row,
        "adjoint": matrix + by_row + by_feature,
        "softmax": 2 * by_row + 8 * n,
        "gram": by_feature,
    }[kernel]


def run(goals, quick):
    rows = []
    for name, path in data_files().items():
        peer = Peer("kernels.py", path)
        answers = in_turn(1 if quick else 5, ours=lambda: example("kernel_speed", path), theirs=peer)
        peer.close()
        shape = [answers["ours"][0][k] for k in ("n", "d", "h", "entries")]
        bandwidth = median(answers["ours"], "bandwidth")
        print(f"{name}: n, d, h, entries = {shape}; bandwidth (triad, 2 threads) {bandwidth / 1e9:.1f} GB/s")
        for kernel in KERNELS:
            ours, theirs = median(answers["ours"], kernel), median(answers["theirs"], kernel)
            plain = median(answers["theirs"], f"{kernel}_plain")
            moved = least_bytes(kernel, *shape)
            rows.append([f"{name} {kernel}", f"{1e3 * ours:.2f}", f"{1e3 * theirs:.2f}", f"{1e3 * plain:.2f}",
                         f"{theirs / ours:.1f}", f"{plain / ours:.1f}", f"{moved / ours / 1e9:.1f}",
                         f"{100 * moved / ours / bandwidth:.0f} %"])
    print("theirs: SciPy in two pieces on two threads, NumPy; plain: A @ X, one call. GB/s: every operand moved once.")
    show(["kernel", "ours ms", "theirs ms", "plain ms", "times faster", "than plain", "GB/s", "of the bandwidth"], rows)
