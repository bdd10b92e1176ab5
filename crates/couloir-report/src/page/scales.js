// Numbers as text, ticks, and scales from values to pixels.
"use strict";

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// 10⁻³ as text: it can be read aloud, copied and drawn without markup.
function powerOfTen(exponent) {
  return "10" + [...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join("");
}

// A number for people: not more digits than these, powers of ten where it is very large or small.
function readable(value, digits = 5) {
  if (value === null || value === undefined) return "not known";
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-3 && size < 1e6)) {
    return String(Number(value.toPrecision(digits))).replace("-", "−");
  }
  const [factor, exponent] = value.toExponential(digits - 1).split("e");
  const mantissa = String(Number(factor)).replace("-", "−");
  const power = powerOfTen(Number(exponent));
  return mantissa === "1" ? power : `${mantissa}·${power}`;
}

// Values 1, 2 or 5 times a power of ten apart, at most about `count` of them.
function linearTicks(low, high, count) {
  const rough = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    ticks.push({ value: k * step, text: readable(Number((k * step).toPrecision(12))) });
  }
  return ticks;
}

// Decades, with text at every second or third where it would crowd; 1, 2 and 5 times them where there are too few.
function logTicks(low, high, count) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const decades = last - first + 1;
  if (decades >= 3 || (decades === 2 && count <= 3)) {
    const every = Math.ceil(decades / Math.max(count, 2));
    const ticks = [];
    for (let e = first; e <= last; e++) {
      ticks.push({ value: 10 ** e, text: e % every === 0 ? powerOfTen(e) : "" });
    }
    return ticks;
  }
  const ticks = [];
  for (let e = first - 1; e <= last; e++) {
    for (const factor of [1, 2, 5]) {
      const value = Number(`${factor}e${e}`);
      if (value >= low * 0.999999 && value <= high * 1.000001) ticks.push({ value, text: readable(value) });
    }
  }
  return ticks.length >= 2 ? ticks : linearTicks(low, high, count);
}

// From values to pixels, with a little air at both ends.
function makeScale(values, logarithmic, from, to, tickCount) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = logarithmic ? [0.1, 1] : [0, 1];
  if (low === high) {
    // One value only: room on both sides of it.
    [low, high] = logarithmic ? [low / 2, high * 2] : low === 0 ? [-1, 1] : [low - Math.abs(low) / 2, high + Math.abs(high) / 2];
  }
  if (logarithmic) {
    const air = (high / low) ** 0.03;
    [low, high] = [low / air, high * air];
  } else {
    // Work and gaps begin at zero; showing it keeps differences honest.
    if (low > 0) low = 0;
    high += 0.03 * (high - low);
  }
  const place = logarithmic ? Math.log10 : (value) => value;
  const ratio = (to - from) / (place(high) - place(low));
  return {
    pixel: (value) => from + (place(value) - place(low)) * ratio,
    ticks: logarithmic ? logTicks(low, high, tickCount) : linearTicks(low, high, tickCount),
  };
}

// An SVG element with attributes and children.
function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// An HTML element with properties and children; text goes in as text, never as markup.
function html(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Calls `draw(width)` now and whenever the width of the element changes. Charts are drawn anew rather than
// stretched, so that text keeps its size.
function drawAtEachWidth(element, draw) {
  let last = 0;
  const look = () => {
    const width = Math.floor(element.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(look).observe(element);
  look();
}
