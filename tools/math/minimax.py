#!/usr/bin/env python3
"""Derives the polynomials of src/passes/target/math/coefficients.inc.

P is the polynomial for which the largest |f - P| * weight on an interval is least. It is found by Remez' exchange
algorithm in 80 digits: solve for the coefficients and the levelled error on n + 2 points, move the points to the
extrema of the error, repeat. Then the coefficients are rounded to the dtype; what that adds to the error is in the
figure printed, and each polynomial is multiplied by a power of the small argument before it is added to a sum, so that
it weighs little there.

Usage: tools/math/minimax.py > src/passes/target/math/coefficients.inc   (needs python3-mpmath; some minutes)
"""

import functools
import sys

from mpmath import mp, mpf

mp.dps = 80


def round_to(value, bits):
    """To `bits` significant bits, ties to even."""
    if value == 0:
        return value
    exponent = mp.floor(mp.log(abs(value), 2))
    unit = mpf(2) ** (exponent - bits + 1)
    return mp.nint(value / unit) * unit


def solve(target, basis, weight, points):
    """Coefficients and levelled error: target - sum c_i basis_i = (-1)^j E / weight at the points."""
    rows = []
    for j, x in enumerate(points):
        rows.append([b(x) for b in basis] + [(-1) ** j / weight(x)])
    solution = mp.lu_solve(mp.matrix(rows), mp.matrix([target(x) for x in points]))
    return list(solution)[:-1]


def extrema(error, low, high, count):
    """Alternating extrema of the error on a dense grid, with the ends."""
    grid = 60 * count
    xs = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / grid) for i in range(grid + 1)]
    es = [error(x) for x in xs]
    found = []
    for x, e in zip(xs, es):
        if found and mp.sign(found[-1][1]) == mp.sign(e):
            if abs(e) > abs(found[-1][1]):
                found[-1] = (x, e)
        elif e != 0:
            found.append((x, e))
    while len(found) > count:
        found.pop(0 if abs(found[0][1]) < abs(found[-1][1]) else -1)
    return [x for x, _ in found]


def remez(target, basis, weight, low, high):
    count = len(basis) + 1
    points = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / count) for i in range(count)]
    for _ in range(12):
        coefficients = solve(target, basis, weight, points)

        def error(x):
            return (target(x) - sum(c * b(x) for c, b in zip(coefficients, basis))) * weight(x)

        moved = extrema(error, low, high, count)
        if len(moved) < count:
            break
        if max(abs(a - b) for a, b in zip(moved, points)) < (high - low) * mpf(10) ** -6:
            break
        points = moved
    return coefficients


def fit(f, weight, degree, low, high, bits):
    """Rounded coefficients of P near f, lowest first, and the largest weighted error with the rounded ones."""
    low, high = mpf(low), mpf(high)
    powers = [lambda x, i=i: x ** i for i in range(degree + 1)]
    done = [round_to(c, bits) for c in remez(f, powers, weight, low, high)]
    xs = [low + (high - low) * (i + mpf(1) / 3) / 2000 for i in range(2000)]
    worst = max(abs((f(x) - sum(c * p(x) for c, p in zip(done, powers))) * weight(x)) for x in xs)
    return done, worst


def emit(name, comment, result):
    coefficients, worst = result
    print(f"// {comment}; largest error 2^{float(mp.log(worst, 2)):.1f}.")
    print(f"inline constexpr double {name}[] = {{")
    for c in coefficients:
        print(f"    {float(c).hex()},")
    print("};")
    sys.stdout.flush()


def split(name, value, bits, high_bits):
    """value as a leading part of few bits and the rest, each a number of the dtype."""
    high = round_to(value, high_bits)
    print(f"inline constexpr double {name}_high = {float(high).hex()};")
    print(f"inline constexpr double {name}_low = {float(round_to(value - high, bits)).hex()};")


def one(x):
    return mpf(1)


half_ln2 = mp.log(2) / 2 * mpf("1.001")


def series(term):
    """A function given by its power series; term(k) is the coefficient of x^k."""
    coefficients = [term(k) for k in range(60)]
    return lambda x: mp.polyval(coefficients[::-1], x)


def exponentials(suffix, bits, degree, degree2):
    emit(f"expm1_{suffix}", "expm1(r) = r + r^2 P(r), |r| <= ln(2)/2, absolute in P",
         fit(series(lambda k: 1 / mp.factorial(k + 2)), one, degree, -half_ln2, half_ln2, bits))
    emit(f"exp2m1_{suffix}", "2^r = 1 + r P(r), |r| <= 1/2, absolute in P",
         fit(series(lambda k: mp.log(2) ** (k + 1) / mp.factorial(k + 1)), one, degree2, -0.5005, 0.5005, bits))


def logarithm(suffix, bits, degree):
    emit(f"log_{suffix}", "(2 atanh(s) - 2 s) / s = z P(z), z = s^2 <= (sqrt(2) - 1)^4, absolute in P",
         fit(series(lambda k: mpf(2) / (2 * k + 3)), one, degree, 0, mpf("0.02945"), bits))


def circular(suffix, bits, degree):
    end = (mp.pi / 4 * mpf("1.001")) ** 2
    emit(f"sin_{suffix}", "sin(r) = r + r z P(z), z = r^2, |r| <= pi/4, absolute in P",
         fit(series(lambda k: (-1) ** (k + 1) / mp.factorial(2 * k + 3)), one, degree, 0, end, bits))
    emit(f"cos_{suffix}", "cos(r) = 1 - z/2 + z^2 P(z), z = r^2, |r| <= pi/4, absolute in P",
         fit(series(lambda k: (-1) ** k / mp.factorial(2 * k + 4)), one, degree, 0, end, bits))


def error_function(suffix, bits, small, large, end):
    emit(f"erf_small_{suffix}", "erf(x) = x + x P(x^2), |x| <= 1, absolute in P",
         fit(series(lambda k: 2 / mp.sqrt(mp.pi) * (-1) ** k / mp.factorial(k) / (2 * k + 1) - (k == 0)), one, small,
             0, 1, bits))
    emit(f"erf_large_{suffix}", f"-log(1 - erf(x)) = P(x - 2), 1 <= x <= {end}, weighted with 1 - erf(x)",
         fit(lambda x: -mp.log(mp.erfc(x + 2)), lambda x: mp.erfc(x + 2), large, -1, end - 2, bits))


@functools.cache
def inverse_ratio(w):
    """erfinv(x) / x where w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x if x else mp.sqrt(mp.pi) / 2


def inverse_error_function(suffix, bits, degree, end, tails):
    """Up to w = end by w, from there on by sqrt(w), a polynomial for each of the tails (low, high, degree)."""
    emit(f"erfinv_{suffix}", f"erfinv(x) / x = P(w), w = -log(1 - x^2) <= {end}, relative",
         fit(inverse_ratio, lambda w: 1 / inverse_ratio(w), degree, 0, end, bits))
    for number, (low, high, tail_degree) in enumerate(tails):
        center = (mpf(low) + high) / 2
        emit(f"erfinv_tail{number}_{suffix}",
             f"erfinv(x) / x = P(sqrt(w) - {float(center)}), {low} <= sqrt(w) <= {high}, relative",
             fit(lambda t: inverse_ratio((t + center) ** 2), lambda t: 1 / inverse_ratio((t + center) ** 2),
                 tail_degree,
                 low - center, high - center, bits))


def main():
    print("// Written by tools/math/minimax.py, which says how. Polynomials are listed from the lowest power up.")
    exponentials("f32", 24, 5, 6)
    exponentials("f64", 53, 10, 12)
    logarithm("f32", 24, 3)
    logarithm("f64", 53, 7)
    circular("f64", 53, 6)
    error_function("f32", 24, 7, 8, 4)
    error_function("f64", 53, 14, 22, 6)
    inverse_error_function("f32", 24, 8, mpf(4), [(mpf("1.9375"), mpf("4.0625"), 9)])
    inverse_error_function("f64", 53, 22, mpf("6.25"), [(mpf("2.5"), mpf(4), 18), (mpf(4), mpf("6.125"), 17)])
    print(
        "// Constants in two parts; the leading one of ln2_exact has zeros enough that its product with an exponent is "
        "exact.")
    for suffix, bits, exact in (("f32", 24, 15), ("f64", 53, 41)):
        split(f"ln2_{suffix}", mp.log(2), bits, bits)
        split(f"ln2_exact_{suffix}", mp.log(2), bits, exact)
        split(f"log2e_{suffix}", 1 / mp.log(2), bits, bits)
        gelu = 2 * mp.sqrt(2 / mp.pi)
        split(f"gelu_linear_{suffix}", gelu, bits, bits)
        split(f"gelu_cubic_{suffix}", gelu * mpf("0.044715"), bits, bits)
    split("half_pi_f64", mp.pi / 2, 53, 53)
    print(f"inline constexpr double two_over_pi_nearest = {float(2 / mp.pi).hex()};")
    print("// 2/pi in pieces of 28 bits, from the highest.")
    print("inline constexpr double two_over_pi[] = {")
    rest = 2 / mp.pi
    for i in range(1, 9):
        unit = mpf(2) ** (-28 * i)
        piece = mp.floor(rest / unit) * unit
        rest -= piece
        print(f"    {float(piece).hex()},")
    print("};")


main()
