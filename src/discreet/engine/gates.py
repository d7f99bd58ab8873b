"""An LSTM's gates, compiled: all that a time step computes besides its matrix product, forward and backward.

    open_gates(projected, gates, cells, tanh_cells, history, t)            # step t, from the products in gates[t]
    close_gates(d_out, gates, cells, tanh_cells, d_parts, d_cell, d_gates, t)

With few records a time step works on some hundred numbers, and calling a dozen torch operations takes several times
as long as what they compute. Here a step is one call. `discreet.engine.recurrence` has the same in torch operations.

Arrays are single precision, T steps of N := records * width numbers. Gates lie one after the other, [T, 4, N], in
torch's order i, f, g, o, because that is how their products come; what the layer's weights see, `projected` and
`d_gates`, lies record by record, [T, records, 4, width].

A compiler makes vector instructions of a loop over exp only where exp is plain arithmetic, so it is written out. NaN
passes through everything; infinite inputs saturate a gate as they do in torch. Each loop touches few arrays: of many
the compiler cannot rule out that they overlap, and then it works number by number.
"""

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})

ONE, TWO = np.float32(1), np.float32(2)
LARGEST = np.float32(88)
"""Beyond it exp leaves single precision; a gate is open or shut long before."""
PER_DOUBLING = np.float32(1.4426950408889634)
DOUBLING, DOUBLING_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)
"""log 2 as a number with few digits, whose multiples are exact, and the rest."""
ROUNDING = np.float32(1.5 * 2**23)
"""What is added to a float32 rounds it to a whole number, which then stands in its low bits."""
ROUNDED, BIAS, MANTISSA = np.int32(0x4B400000), np.int32(127), np.int32(23)
A2, A3, A4, A5, A6, A7 = (
    np.float32(a)
    for a in (5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4)
)
"""exp(r) - 1 - r over r^2, for |r| up to half of log 2 (Cephes)."""


@compiled  # type: ignore[untyped-decorator]
def _expm1(x: Any) -> Any:
    """exp(x) - 1 to two units in the last place, also near zero: 2^n (exp(r) - 1) + (2^n - 1) with x = n log 2 + r."""
    x = LARGEST if x > LARGEST else x  # in this form NaN stays
    x = -LARGEST if x < -LARGEST else x
    whole = x * PER_DOUBLING + ROUNDING
    n = whole - ROUNDING
    r = x - n * DOUBLING - n * DOUBLING_REST
    rest = ((((A7 * r + A6) * r + A5) * r + A4) * r + A3) * r + A2
    rest = rest * r * r + r
    power = np.int32((np.float32(whole).view(np.int32) - ROUNDED + BIAS) << MANTISSA).view(np.float32)
    return power * rest + (power - ONE)


@compiled  # type: ignore[untyped-decorator]
def _sigmoid(values: Floats) -> None:
    for k in range(len(values)):
        values[k] = ONE / (TWO + _expm1(-values[k]))


@compiled  # type: ignore[untyped-decorator]
def _tanh(values: Floats) -> None:
    for k in range(len(values)):
        e = _expm1(TWO * values[k])
        values[k] = e / (TWO + e)


@compiled  # type: ignore[untyped-decorator]
def open_gates(projected: Floats, gates: Floats, cells: Floats, tanh_cells: Floats, history: Floats, t: int) -> None:
    """Step t: gates[t] holds products, then open gates; cells and history go on from t to t + 1."""
    records, width = projected.shape[1], projected.shape[3]
    for record in range(records):
        for gate in range(4):
            own, given = gates[t, gate], projected[t, record, gate]
            for k in range(width):
                own[record * width + k] += given[k]
    i, f, g, o = gates[t, 0], gates[t, 1], gates[t, 2], gates[t, 3]
    _sigmoid(i)
    _sigmoid(f)
    _tanh(g)
    _sigmoid(o)
    before, cell = cells[t], cells[t + 1]
    for k in range(len(cell)):
        cell[k] = f[k] * before[k] + i[k] * g[k]
    tanh_cell, hidden = tanh_cells[t], history[t + 1]
    for k in range(len(cell)):
        tanh_cell[k] = cell[k]
    _tanh(tanh_cell)
    for k in range(len(hidden)):
        hidden[k] = o[k] * tanh_cell[k]


@compiled  # type: ignore[untyped-decorator]
def close_gates(
    d_out: Floats,
    gates: Floats,
    cells: Floats,
    tanh_cells: Floats,
    d_parts: Floats,
    d_cell: Floats,
    d_gates: Floats,
    t: int,
) -> None:
    """Step t backward: fills d_gates[t] and takes d_cell from step t + 1 to step t.

    The gradient of the hidden state comes in four parts, one for each gate of step t + 1; `d_parts` is used up.
    """
    records, width = d_gates.shape[1], d_gates.shape[3]
    i, f, g, o = gates[t, 0], gates[t, 1], gates[t, 2], gates[t, 3]
    before, tanh_cell, given = cells[t], tanh_cells[t], d_out[t]
    d_hidden = d_parts[0]
    for part in range(1, 4):
        other = d_parts[part]
        for k in range(len(d_hidden)):
            d_hidden[k] += other[k]
    for k in range(len(d_hidden)):
        d_hidden[k] += given[k]
    for k in range(len(d_cell)):
        d_cell[k] += d_hidden[k] * o[k] * (ONE - tanh_cell[k] * tanh_cell[k])
    for record in range(records):
        first = record * width
        d_i, d_f = d_gates[t, record, 0], d_gates[t, record, 1]
        d_g, d_o = d_gates[t, record, 2], d_gates[t, record, 3]
        for k in range(width):
            at = first + k
            d_i[k] = d_cell[at] * g[at] * (i[at] * (ONE - i[at]))
        for k in range(width):
            at = first + k
            d_f[k] = d_cell[at] * before[at] * (f[at] * (ONE - f[at]))
        for k in range(width):
            at = first + k
            d_g[k] = d_cell[at] * i[at] * (ONE - g[at] * g[at])
        for k in range(width):
            at = first + k
            d_o[k] = d_hidden[at] * tanh_cell[at] * (o[at] * (ONE - o[at]))
    for k in range(len(d_cell)):
        d_cell[k] *= f[k]
