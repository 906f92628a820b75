"""Compares the reader with the server's answers, in plain Python and by numpy."""

import copy
import hashlib
import json
import pathlib
import pickle
import re
import struct
import sys
import typing
from datetime import timedelta
from uuid import UUID

import bloomexp

SETS = sys.argv[1:] or sorted(
    (pathlib.Path(__file__).parent.parent / "conformance").glob("*.jsonl"))
ITEM = {"integer": int, "text": str, "uuid": UUID, "bytea": lambda text: bytes.fromhex(text[2:])}
NUMBERED = {"integer": int, "text": str, "uuid": lambda i: UUID(int=i),
            "bytea": lambda i: i.to_bytes(8, "big")}
SLOW = 20000  # items, without numpy

complaints = []


def equal(what, value, expected):
    if value != expected:
        complaints.append(f"{what} is {value!r}, not {expected!r}")


def fails(what, error, function, *arguments):
    try:
        function(*arguments)
    except bloomexp.Error as raised:
        equal(f"code of {what}", raised.sqlstate, error["code"])
        equal(f"message of {what}", raised.message, error["message"])
        equal(f"detail of {what}", raised.detail, error.get("detail"))
        equal(f"hint of {what}", raised.hint, error.get("hint"))
    else:
        complaints.append(f"{what} is accepted")


def microseconds(span):
    return str(span // timedelta(microseconds=1))


def check_info(info, expected):
    fpr_now = expected.pop("fpr_now")
    if abs(info.fpr_now - fpr_now) > 1e-8 * fpr_now:
        complaints.append(f"fpr_now is {info.fpr_now}, not {fpr_now}")
    answer = {name: value for name, value in info._asdict().items()
              if name != "fpr_now" and value is not None}
    if info.window_width is not None:
        answer["window_width"] = microseconds(info.window_width)
    if info.expired_before is not None:
        answer["expired_before"] = microseconds(info.expired_before - bloomexp.EPOCH)
    equal("info", answer, expected)


def check_integers(value, items, survivors):
    out_of_range = {"code": "22003", "message": "bigint out of range"}
    for item in (2**63, -(2**63) - 1):
        fails(item, out_of_range, value.contains, item)
        fails(f"list of {item}", out_of_range, value.exclude, [item] * 100)
    equal("exclude with None", value.exclude([None, *items]), survivors)
    if bloomexp.numpy:
        equal("exclude of an array", value.exclude(bloomexp.numpy.array(items)).tolist(), survivors)
        fails("unsigned", out_of_range, value.exclude, bloomexp.numpy.array([2**63], "u8"))


def check_value(line):
    value = bloomexp.parse(line["value"])
    text = line.get("text", line["value"])
    equal("text", str(value), text)
    equal("text of the bytes", str(bloomexp.parse(bytes.fromhex(text[2:]))), text)
    check_info(value.info(), dict(line["info"]))

    items = [ITEM[line["kind"]](text) for text in line["candidates"]]
    contained = [answer == "1" for answer in line["contains"]]
    survivors = [item for item, answer in zip(items, contained) if not answer]
    equal("contains", [value.contains(item) for item in items], contained)
    equal("exclude", value.exclude(items), survivors)
    if line["kind"] == "integer":
        check_integers(value, items, survivors)
    if "packed" in line:
        packed = value.exclude_packed(bytes.fromhex(line["packed"][2:]))
        equal("packed survivors", packed, bytes.fromhex(line["packed_survivors"][2:]))
    for question in line.get("refuses", ()):
        if "packed" in question:
            fails("packed", question["error"], value.exclude_packed,
                  bytes.fromhex(question["packed"][2:]))
        else:
            item = ITEM[question["kind"]](question["candidate"])
            fails(question["kind"], question["error"], value.contains, item)
            fails(f"list of {question['kind']}", question["error"], value.exclude, [item] * 100)


def check_refusal(line):
    fails("text", line["error"], bloomexp.parse, line["value"])
    digits = re.fullmatch(r"\\x((?:[0-9a-f]{2})*)", line["value"])
    if digits:
        fails("bytes", line["error"], bloomexp.parse, bytes.fromhex(digits[1]))


def items_of(line):
    kind = line["builds"]
    if "count" in line:
        return [NUMBERED[kind](i) for i in range(1, line["count"] + 1)]
    return [item if item is None else ITEM[kind](item) for item in line["items"]]


def check_build(line):
    items = items_of(line)
    arguments = float(line["fpr"]), float(line["headroom"])
    if "error" in line:
        return fails("build", line["error"], bloomexp.build, items, *arguments)
    value = bloomexp.build(items, *arguments)
    if "sha256" in line:
        equal("sha256", hashlib.sha256(value).hexdigest(), line["sha256"])
    else:
        equal("value", value and "\\x" + value.hex(), line.get("value"))
    if bloomexp.numpy and line["builds"] == "integer" and None not in items:
        equal("of an array", bloomexp.build(bloomexp.numpy.array(items, "i8"), *arguments), value)


def check(line):
    if "builds" in line:
        if bloomexp.numpy or not numpys[0] or line.get("count", 0) <= SLOW:
            check_build(line)
    else:
        (check_refusal if "error" in line else check_value)(line)


empty = bloomexp.parse(None)
if empty.exclude([1, "a", None, 1]) != [1, "a", 1] or empty.contains(0):
    sys.exit("NULL is not an empty filter")
methods = [m for name, m in vars(bloomexp.Filter).items()
           if callable(m) and not re.match("_[^_]", name)]
fails("build of two kinds", {"code": "42804", "message": "filter holds integer items, not text",
      "hint": "Cast the items to bigint."},
      bloomexp.build, [1, "a"])
fails("build of 2^63", {"code": "22003", "message": "bigint out of range"},
    bloomexp.build, [2**63] * 100)


def is_no_type(what, function, *arguments):
    try:
        complaints.append(f"{what} is accepted: {function(*arguments)}")
    except TypeError:
        pass


one = bloomexp.parse(bloomexp.build([1]))
for single in ("abc", b"abc", bytearray(8), memoryview(b"abc")):
    is_no_type("build of one item", bloomexp.build, single)
    is_no_type("exclude of one item", one.exclude, single)
for number in ("0.2", None, True, b"1", [0.2]):
    is_no_type(f"fpr {number!r}", bloomexp.build, [1], number)
    is_no_type(f"headroom {number!r}", bloomexp.build, [1], 0.01, number)
if bloomexp.numpy:
    equal("numpy's fpr", bloomexp.build([1], bloomexp.numpy.float64(0.01)), bytes(one))
    no_items = {"code": "42804",
                "message": f"items of type {bloomexp.numpy.bool_.__name__} cannot be in a filter",
                "detail": "Items are int, str, uuid.UUID or bytes."}
    for flags in (bloomexp.numpy.array([True, False]), [bloomexp.numpy.True_]):
        fails("build of booleans", no_items, bloomexp.build, flags)
        fails("exclude of booleans", no_items, one.exclude, flags)
for copied in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
    equal("a copy", (bytes(copied), 1 in copied, 2 in copied), (bytes(one), True, False))
fails("the text form as bytes", {
    "code": "22P03", "message": "invalid bytes for type bloom",
    "detail": "These bytes are the text form of a filter, not its binary form.",
    "hint": "Decode them: parse(value.decode()), or select the column as bytea.",
}, bloomexp.parse, str(one).encode())


def check_hostile():
    """A valid value of 2 MB with 4,095 layers: an item is tested against each of them once."""
    layers, items = 4095, 1000 if bloomexp.numpy else 100
    layer = struct.pack("<4I", 64 | 63 << 26, 200, 199, 1)
    hostile = bloomexp.parse(struct.pack("<BBHId", 1, 1, layers, 0, 0.9) + layer * layers
        + (b"\1" + bytes(511)) * layers)
    tested, begin = [0], bloomexp.Layer._begin

    def counted(self, x):
        tested[0] += 1 if isinstance(x, int) else len(x)
        return begin(self, x)

    bloomexp.Layer._begin = counted
    equal("survivors of a hostile value", list(hostile.exclude(list(range(items)))),
        list(range(items)))
    bloomexp.Layer._begin = begin
    equal("tests of layers", tested[0], layers * items)
    equal("layers", hostile.info().layers, layers)


if bloomexp.build(iter([1, 1]), headroom=1) != bloomexp.build({1}, 0.01, 1) or complaints:
    sys.exit(f"build: {complaints}")
public = [bloomexp.parse, bloomexp.build, bloomexp.Error.__init__, *methods]
numpys = [bloomexp.numpy, None] if bloomexp.numpy else [None]
passed = failed = 0
for bloomexp.numpy in numpys:
    unhinted = [f.__qualname__ for f in public if "return" not in typing.get_type_hints(f)]
    if unhinted:
        sys.exit(f"without type hints: {unhinted}")
    check_hostile()
if complaints:
    sys.exit(f"hostile value: {complaints}")
for name in SETS:
    for line in map(json.loads, pathlib.Path(name).read_text("utf-8").split("\n")[:-1]):
        complaints.clear()
        for bloomexp.numpy in numpys:
            try:
                check(line)
            except Exception as error:
                complaints.append(repr(error))
        passed, failed = passed + (not complaints), failed + bool(complaints)
        for complaint in complaints:
            print(f"{line['name']}: {complaint}")
if not numpys[0]:
    print("without numpy")
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0 or passed == 0)
