// Bounds, rounded outwards as in `dpcore/outwards.py`: the shortest decimal of a number is rounded,
// digit by digit. This file is prepended to a component.

function outwards(number, digits, up) {
  if (!(Number.isFinite(number) && number > 0)) return number;
  const [mantissa, exponent] = number.toExponential().split("e");
  const figures = mantissa.replace(".", "");
  const kept = Math.max(digits, 0);
  const more = up && /[1-9]/.test(figures.slice(kept)) ? 1 : 0;
  const head = Number(figures.slice(0, kept).padEnd(kept, "0")) + more;
  return Number(`${head}e${Number(exponent) - digits + 1}`);
}

// Rounds to a number of significant digits: an upper bound is never rounded down, a lower one never
// up.
const atMost = (bound, digits) => outwards(bound, digits, true);
const atLeast = (bound, digits) => outwards(bound, digits, false);

// A share of 100 as a whole number, rounded up.
const percentAtMost = (share) => share > 0
  ? Math.round(100 * atMost(share, Number(share.toExponential().split("e")[1]) + 3))
  : 0;

// A quotient in the digits that the division leaves certain.
const withoutNoise = (number) => Number(number.toPrecision(14));
