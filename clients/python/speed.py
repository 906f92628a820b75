"""Measures what a feed does with a fetched filter: median microseconds of 200 rounds.

The filter is "3,650 at 1%" of ../conformance; of the 1,000 candidates it holds half.
"""

import json
import pathlib
import statistics
import time

import bloomexp

SET = pathlib.Path(__file__).parent.parent / "conformance" / "values.jsonl"


def microseconds(function, *arguments):
    def once():
        start = time.perf_counter()
        function(*arguments)
        return time.perf_counter() - start

    return f"{1e6 * statistics.median(once() for _ in range(200)):.0f} us"


with open(SET, encoding="utf-8") as lines:
    value = next(line["value"] for line in map(json.loads, lines) if line["name"] == "3,650 at 1%")
data = bytes.fromhex(value[2:])
candidates = [i * 4294967297 if i % 6 == 0 else [7199254740993000000 + i * 4194304, -i, i][i % 3] for i in range(5, 1005)]
seen = bloomexp.parse(data)
print("parse bytes", microseconds(bloomexp.parse, data))
print("parse text", microseconds(bloomexp.parse, value))
if bloomexp.numpy:
    print("exclude an array, numpy", microseconds(seen.exclude, bloomexp.numpy.array(candidates)))
    print("exclude a list, numpy", microseconds(seen.exclude, candidates))
    bloomexp.numpy = None
print("exclude a list, without numpy", microseconds(seen.exclude, candidates))
