"""The laws of other systems once more, in another language and from the descriptions of their code alone.

Reads a line for each policy, the name of a system and its numbers, and prints the delays of each as ranges of nanoseconds.
Floats are doubles; `single` rounds to 32 bits. Exact fractions are used where a system's own arithmetic has no error.
"""

import math
import struct
import sys
from fractions import Fraction

SECOND = 10**9
MILLISECOND = 10**6


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def around(nanos):
    return math.floor(Fraction(nanos) * 4 / 5), math.floor(Fraction(nanos) * 6 / 5)


def step_functions(interval, retries, rate, cap, full):
    delay = float(interval)
    for _ in range(int(retries)):
        seconds = delay if cap == "none" else min(delay, float(cap))
        nanos = round(Fraction(seconds) * SECOND)
        yield (0 if full == "true" else nanos), nanos
        delay *= float(rate)


def grpc(client, attempts, initial, maximum, multiplier):
    retries = min(int(attempts), 5) - 1
    initial, maximum, multiplier = int(initial), int(maximum), float(multiplier)
    if client == "core":
        current = min(initial, maximum)
        for _ in range(retries):
            yield current * 8 // 10 * MILLISECOND, current * 12 // 10 * MILLISECOND
            current = min(int(current * single(multiplier)), maximum)
        return
    initial, maximum = initial * MILLISECOND, maximum * MILLISECOND
    if client == "go":
        for n in range(retries):
            yield around(min(int(initial * math.pow(multiplier, n)), maximum))
    elif client == "java":
        current = initial
        for _ in range(retries):
            yield around(current)
            current = min(int(current * multiplier), maximum)
    else:
        current = initial / 1e9
        for _ in range(retries):
            yield around(Fraction(current) * SECOND)
            current = min(current * multiplier, maximum / 1e9)


def polly(retries, base, maximum, kind, jitter):
    base = int(base) * MILLISECOND
    cap = math.inf if maximum == "none" else int(maximum) * MILLISECOND

    def height(t):
        return 2.0**t * math.tanh(math.sqrt(4.0 * t))

    for n in range(int(retries)):
        grown = base * {"Constant": 1, "Linear": n + 1, "Exponential": 2**n}[kind]
        low, high = grown, grown
        if jitter == "true" and kind == "Exponential":
            rise = (height(n + 1) - (height(n - 1) if n > 0 else 0)) * (base / 1.4)
            low, high = 0, int(rise) // 100 * 100
        elif jitter == "true":
            low, high = grown * 3 // 4, grown * 5 // 4
        yield min(low, cap), min(high, cap)


def aws(client, mode, attempts):
    for n in range(int(attempts) - 1):
        if client == "go":
            yield (20 * SECOND, 20 * SECOND) if n >= 4 else (0, 2 ** (n + 1) * SECOND)
        else:
            base = SECOND if mode == "legacy" or client == "python-1.43" else SECOND // 20
            yield 0, base * 2**n if mode == "legacy" else min(base * 2**n, 20 * SECOND)


def temporal(attempts, initial, coefficient, maximum):
    initial, maximum = int(initial) * MILLISECOND, int(maximum) * MILLISECOND
    for n in range(int(attempts) - 1):
        nanos = min(int(initial * math.pow(float(coefficient), n)), maximum)
        yield nanos, nanos


def envoy(retries, base, maximum):
    span, maximum = int(base), int(maximum)
    for _ in range(int(retries)):
        yield 0, (span - 1) * MILLISECOND
        span = span * 2 if span < maximum // 2 else maximum


def argo(retries, initial, factor, cap):
    for n in range(int(retries)):
        nanos = int(initial) * SECOND * max(int(factor), 1) ** n
        if cap != "none":
            nanos = min(nanos, int(cap) * SECOND)
        yield nanos, nanos


def resilience4j(attempts, wait, times, share, cap):
    current, times = int(wait), float(times)
    most = math.inf if cap == "none" else int(cap)
    for _ in range(int(attempts) - 1):
        if share == "none":
            least = greatest = current
        else:
            part = current * float(share)
            least = int(max(1, current - part))
            # The end is not drawn itself.
            greatest = max(least, math.ceil(current + part + 1) - 1)
        yield min(least, most) * MILLISECOND, min(greatest, most) * MILLISECOND
        current = int(current * times)


def root(value, degree):
    """The whole part of a root, by bisection of whole numbers of any size."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def systemd(burst, sec, steps, maximum, random):
    sec, steps, maximum, random = int(sec), int(steps), int(maximum), int(random)
    for n in range(int(burst) - 1):
        micros = maximum if n >= steps else root(sec ** (steps - n) * maximum**n, steps)
        yield micros * 1000, (micros + random) * 1000


def curl(retries, fixed, limit):
    waited = 0
    for n in range(int(retries)):
        if int(limit) > 0 and waited >= int(limit):
            return
        seconds = int(fixed) or min(2**n, 600)
        waited += seconds
        yield seconds * SECOND, seconds * SECOND


def wget(tries, tenths):
    for k in range(1, int(tries)):
        nanos = k * SECOND if (k + 1) * 10 <= int(tenths) else int(tenths) * SECOND // 10
        yield nanos, nanos


LAWS = {
    "step-functions": step_functions,
    "grpc": grpc,
    "temporal": temporal,
    "envoy": envoy,
    "argo": argo,
    "resilience4j": resilience4j,
    "systemd": systemd,
    "curl": curl,
    "wget": wget,
    "polly": polly,
    "aws": aws,
}

for line in sys.stdin:
    system, *numbers = line.split()
    print(" ".join(f"{least}-{greatest}" for least, greatest in LAWS[system](*numbers)))
