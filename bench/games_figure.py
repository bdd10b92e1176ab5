"""The figure of docs/games.svg: certified gaps of matrix games over iterations, on a logarithmic scale."""

from math import floor, log10
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 64, 20, 170, 44
COLOURS = ["#1b6ca8", "#c4572b", "#3f8f4f", "#8450a3", "#8a6d1d", "#b03060", "#4a4a4a"]
LEAST = 1e-10


def draw(curves, path):
    """Writes the curves, (name, [(iteration, gap), ...]), to an SVG file."""
    last = max(iteration for _, points in curves for iteration, _ in points)
    top = floor(log10(max(gap for _, points in curves for _, gap in points))) + 1
    bottom = floor(log10(LEAST))
    wide, high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(iteration):
        return LEFT + wide * iteration / last

    def down(gap):
        return TOP + high * (top - log10(max(gap, LEAST))) / (top - bottom)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for power in range(bottom, top + 1, 2):
        y = down(10.0**power)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{LEFT + wide}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for part in range(5):
        iteration = last * part / 4
        x, y = across(iteration), TOP + high + 18
        lines.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{iteration:,.0f}</text>')
    lines.append(f'<text x="{LEFT + wide / 2}" y="{HEIGHT - 6}" text-anchor="middle">iterations</text>')
    for index, (name, points) in enumerate(curves):
        colour, best, shown = COLOURS[index % len(COLOURS)], float("inf"), {}
        for iteration, gap in points:
            if gap < best:
                best = gap
                # one point for each unit of width: the last
                shown[round(across(iteration))] = f"{across(iteration):.1f} {down(gap):.1f}"
        lines.append(f'<path d="M{"L".join(shown.values())}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        y = TOP + 14 + 20 * index
        lines.append(f'<path d="M{LEFT + wide + 12} {y}h20" stroke="{colour}" stroke-width="3"/>')
        lines.append(f'<text x="{LEFT + wide + 38}" y="{y + 4}">{escape(name)}</text>')
    path.write_text("\n".join([*lines, "</svg>"]) + "\n")
