"""Fits the polynomials of src/ops/exp/exp-inl.h by Remez exchange, prints coefficients and errors. Needs mpmath."""

import mpmath as mp

mp.mp.dps = 50


def remez(target, basis, terms, low, high):
    """Coefficients c minimising max |sum c[k] basis(k, x) - target(x)| on [low, high], and that maximum."""
    nodes = sorted(
        (low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * (terms + 1))) for i in range(terms + 1)
    )
    grid = [low + (high - low) * mp.mpf(i) / 2000 for i in range(2001)]
    for _ in range(40):
        matrix = mp.matrix(terms + 1, terms + 1)
        right = mp.matrix(terms + 1, 1)
        for row, x in enumerate(nodes):
            for k in range(terms):
                matrix[row, k] = basis(k, x)
            matrix[row, terms] = (-1) ** row
            right[row] = target(x)
        solution = mp.lu_solve(matrix, right)
        errors = [sum(solution[k] * basis(k, x) for k in range(terms)) - target(x) for x in grid]
        worst = max(abs(e) for e in errors)
        nodes = [grid[i] for i in alternating_extrema(errors, terms + 1)]
        if worst - abs(solution[terms]) < worst / 1000 or len(nodes) < terms + 1:
            break
    return [solution[k] for k in range(terms)], worst


def alternating_extrema(errors, count):
    """Grid indices of the largest error of each run of one sign, the smaller end dropped until `count` are left."""
    picked = []
    best = 0
    for i, error in enumerate(errors):
        if (error > 0) != (errors[best] > 0):
            picked.append(best)
            best = i
        elif abs(error) > abs(errors[best]):
            best = i
    picked.append(best)
    while len(picked) > count:
        picked.pop(0 if abs(errors[picked[0]]) < abs(errors[picked[-1]]) else -1)
    return picked


def report(name, coefficients, error):
    print(f"{name}: relative error {mp.nstr(error, 3)}")
    for power, value in enumerate(coefficients):
        print(f"  [{power}] {mp.nstr(value, 20)}")


def main():
    tiny = mp.mpf("1e-6")
    for degree in (6, 11):  # 2^r = 1 + r q(r) on [0, 1]: f32 and f64
        report(
            f"exp2, degree {degree}",
            *remez(
                lambda r: 1 - mp.mpf(2) ** (-r), lambda k, r: r ** (k + 1) * mp.mpf(2) ** (-r), degree, tiny, mp.mpf(1)
            ),
        )
    # tanh x = x + x z P(z), z = x^2 <= 0.4
    report(
        "tanh",
        *remez(
            lambda z: 1 - mp.sqrt(z) / mp.tanh(mp.sqrt(z)),
            lambda k, z: z ** (k + 1) * mp.sqrt(z) / mp.tanh(mp.sqrt(z)),
            5,
            tiny,
            mp.mpf("0.4"),
        ),
    )


if __name__ == "__main__":
    main()
