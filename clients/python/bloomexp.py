"""Reads and builds the Bloom filters of bloomexp outside of the server.

    filter = bloomexp.parse(row.items)      # bytes, or the text form
    filter.exclude(candidates)              # those that the filter does not contain
    filter.contains(item)
    value = bloomexp.build(items)           # the bytes of bloom_agg(item)

An int is an item of kind integer, a str text, a UUID uuid, and bytes are bytea.
The bytes are those of doc/internals/format.md.  numpy makes integers faster where it is
installed; nothing else is needed.
"""

import binascii
import functools
import itertools
import math
import numbers
import operator
import re
import struct
from datetime import datetime, timedelta, timezone
from typing import (Any, Iterable, List, NamedTuple, Optional, SupportsIndex, Tuple, Type, TypeVar,
                    Union, overload)
from uuid import UUID

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

__all__ = ["Error", "Filter", "Info", "build", "parse"]
__version__ = "1.0.0"

KINDS = ("none", "integer", "text", "uuid", "bytea")
INTEGER, TEXT, ITEM_UUID, BYTEA = 1, 2, 3, 4

MAX_BYTES = 500 * 1024 * 1024 - 4
MAX_LAYERS = 4096
MAX_SLICES = 1000
MIN_FPR = 1e-9
MAX_ITEMS_A_POSITION = 64
NO_FLOOR = -(2**63)
BLOCKED_FROM = 4096
BLOCK_WORDS = 250
START = 0x9E3779B97F4A7C15
STEP = 0xD1342543DE82EF95
ALL = 2**64 - 1
EPOCH = datetime(2000, 1, 1, tzinfo=timezone.utc)

# What a new filter is sized by.
MAX_WORDS, MAX_HASHES = 2**26 - 1, 63
UNSIZED_CAPACITY, UNSIZED_SHARE, SIZED_SHARE = 100, 1 / 2, 127 / 128
EXACT_ITEMS = 4  # per hash, up to which the rate is computed exactly
NEGLIGIBLE = 1e-290
MAX_HEADROOM = 1000

# What bloom_new(1) makes.
EMPTY = "\\x01000100000000007b14ae47e17a843f010000080100000000000000000000000000000000000000"

Bytes = Union[bytes, bytearray, memoryview]
Item = Union[SupportsIndex, str, UUID, Bytes]
T = TypeVar("T")

# With fewer candidates than this a numpy array costs more than it gains.
FEW = 16


class Error(ValueError):
    """What the server would refuse, with its SQLSTATE and message."""

    def __init__(self, sqlstate: str, message: str, detail: Optional[str] = None,
                 hint: Optional[str] = None) -> None:
        super().__init__(message if detail is None else f"{message}: {detail}")
        self.sqlstate, self.message, self.detail, self.hint = sqlstate, message, detail, hint


class Info(NamedTuple):
    """The columns of bloom_info()."""

    kind: Optional[str]
    items: int
    capacity: int
    fpr: float
    fpr_now: float
    bits: int
    bits_set: int
    fill: float
    layers: int
    bytes: int
    counting: bool
    window_width: Optional[timedelta]
    slices: Optional[int]
    expired_before: Optional[datetime]


#
# From an item to its positions.  Except where it says so, numbers are int or numpy
# arrays of uint64, which wrap around by themselves.
#


def _rotate(x, count):
    return (x << count | x >> (64 - count)) & ALL


def _mix1(k):
    return _rotate(k * 0x87C37B91114253D5 & ALL, 31) * 0x4CF5AD432745937F & ALL


def _mix2(k):
    return _rotate(k * 0x4CF5AD432745937F & ALL, 33) * 0x87C37B91114253D5 & ALL


def _avalanche(h):
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & ALL
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & ALL
    return h ^ h >> 33


def _finish(h1, h2, k1, k2, length):
    """First half of the hash, from the state before the last bytes and the last bytes."""
    h1 = h1 ^ _mix1(k1) ^ length
    h2 = h2 ^ _mix2(k2) ^ length
    h1 = h1 + h2 & ALL
    h2 = h2 + h1 & ALL
    return _avalanche(h1) + _avalanche(h2) & ALL


def _hash(data):
    """First half of MurmurHash3 x64 128 of bytes."""
    h1 = h2 = 0
    whole = len(data) & ~15
    for k1, k2 in struct.iter_unpack("<QQ", data[:whole]):
        h1 = (_rotate(h1 ^ _mix1(k1), 27) + h2) * 5 + 0x52DCE729 & ALL
        h2 = (_rotate(h2 ^ _mix2(k2), 31) + h1) * 5 + 0x38495AB5 & ALL
    return _finish(h1, h2, *struct.unpack("<QQ", data[whole:].ljust(16, b"\0")), len(data))


def _canonical(item):
    """Kind and canonical bytes of an item."""
    if isinstance(item, str):
        return TEXT, item.encode()
    if isinstance(item, (bytes, bytearray, memoryview)):
        return BYTEA, bytes(item)
    if isinstance(item, UUID):
        return ITEM_UUID, item.bytes
    if (isinstance(item, bool) or numpy is not None and isinstance(item, numpy.bool_)
            or not hasattr(item, "__index__")):
        raise Error("42804", f"items of type {type(item).__name__} cannot be in a filter",
                    "Items are int, str, uuid.UUID or bytes.")
    try:
        return INTEGER, struct.pack("<q", operator.index(item))
    except struct.error:
        raise Error("22003", "bigint out of range") from None


def _require_many(items):
    if isinstance(items, (str, bytes, bytearray, memoryview)):  # whose letters are no items
        raise TypeError("items must be a list, an array or another iterable of items")


def _hash_integers(items):
    """Hashes of an array of integers."""
    if items.dtype.kind == "u" and (items > 2**63 - 1).any():
        raise Error("22003", "bigint out of range")
    return _finish(0, 0, items.astype(numpy.int64).view(numpy.uint64), 0, 8)


def _integers(items):
    """An array of a list of int."""
    try:
        return numpy.array(items, numpy.int64)
    except OverflowError:
        raise Error("22003", "bigint out of range") from None


def _require_kind(held, kind):
    if held not in (0, kind):
        name = KINDS[held]
        raise Error("42804", f"filter holds {name} items, not {KINDS[kind]}",
                    hint=f"Cast the items to {'bigint' if held == INTEGER else name}.")


def _blocks(words):
    return 1 if words <= BLOCKED_FROM else -(-words // BLOCK_WORDS)


class Layer:
    """A layer as its header describes it."""

    def __init__(self, value, number, header):
        shape, self.capacity, self.items, self.bits_set = struct.unpack_from("<4I", header)
        self.words, self.hashes = shape & 0x3FFFFFF, shape >> 26
        if self.words == 0 or self.hashes == 0:
            raise _invalid(f"Layer {number} has no bits or no hashes.")
        self.slice = struct.unpack_from("<q", header, 16)[0] if value.windowed else None
        self.blocks = _blocks(self.words)
        self.positions = 64 * self.words
        self.block_bits = self.positions // self.blocks
        self.size = self.words * (32 if value.counting else 8)
        self._start = START * (2 * self.words + 1) & ALL

        if self.words % self.blocks:
            raise _invalid(f"Layer {number} cannot be cut into equal blocks.")
        if self.capacity == 0:
            raise _invalid(f"Layer {number} has no capacity.")
        if self.capacity > MAX_ITEMS_A_POSITION * self.positions:
            raise _invalid(f"Layer {number} has a capacity that its bits cannot hold.")
        if self.items > self.capacity:
            raise _invalid(f"Layer {number} holds more items than its capacity.")
        if value.kind == 0 and self.items > 0:
            raise _invalid(f"Layer {number} holds items of no kind.")

    def read_bits(self, value, number, data):
        """Take the bits, counters as one bit each, and compare them with the header."""
        self.bits = _counters_set(data) if value.counting else data
        if self.bits_set != _count(self.bits):
            raise _invalid(f"Layer {number} does not have as many bits set as its header says.")
        # a saturated counter outlives the removal of its items
        if not value.counting and (
            self.bits_set > self.items * self.hashes or self.items > self._most_items(value.fpr)
        ):
            raise _invalid(
                f"Layer {number} has a number of bits set that its items cannot explain.")

    def _most_items(self, fpr):
        """Upper bound of the items: more would set more bits, and would not fit at the rate."""
        if self.bits_set == 0:
            return 0
        unset = max(self.positions - self.bits_set, 0.5)
        from_bits = math.log(self.positions / unset) + 1 + 44 / unset
        # The server's rounding of a root and this one are off by 2^-53 each.
        share = fpr ** (1 / self.hashes) + (2**-52 if self.hashes > 1 else 0)
        by_rate = -math.log1p(-share) if share < 1 else math.inf
        return self.positions / self.hashes * max(from_bits, by_rate)

    def _begin(self, x):
        """The first position of a block, and what gives those within it; of one hash or many."""
        # of the product's 128 bits the upper half; blocks has few bits, so this does
        block = (x >> 32) * self.blocks + ((x & 0xFFFFFFFF) * self.blocks >> 32) >> 32
        return block * self.block_bits, (x + START & ALL) * self._start & ALL

    def probes(self, x):
        """The positions of the item of hash x, or of an array of them."""
        first, g = self._begin(x)
        for _ in range(self.hashes):
            yield first + ((g >> 32) * self.block_bits >> 32)
            g = g * STEP & ALL

    def contains(self, x):
        bits = self.bits
        return all(bits[i >> 3] >> (i & 7) & 1 for i in self.probes(x))

    def contains_each(self, x):
        """Indexes of the hashes that the layer contains; each is tested until a bit is not set."""
        bits = numpy.frombuffer(self.bits, numpy.uint8)
        places = numpy.arange(len(x))
        first, g = self._begin(x)
        for _ in range(self.hashes):
            i = first + ((g >> 32) * self.block_bits >> 32)
            passed = numpy.flatnonzero(
                bits[(i >> 3).astype(numpy.intp)] >> (i & 7).astype(numpy.uint8) & 1)
            places, first, g = places[passed], first[passed], g[passed] * STEP & ALL
            if len(places) == 0:
                break
        return places

    def fpr_now(self):
        if self.blocks == 1:
            return (self.bits_set / self.positions) ** self.hashes
        unset = max(self.positions - self.bits_set, 0.5) / self.positions
        items = math.log(unset) / math.expm1(self.hashes * math.log1p(-1 / self.block_bits))
        return _blocked_fpr(self.block_bits, self.hashes, items)


def _invalid(detail):
    return Error("22P03", "invalid bytes for type bloom", detail)


# From a byte of two counters to two bits.
_SET = bytes((byte & 15 != 0) | (byte >> 4 != 0) << 1 for byte in range(256))


def _counters_set(counters):
    """Bits for counters: whether they are not 0."""
    pairs = bytes(counters).translate(_SET)
    return bytes(a | b << 2 | c << 4 | d << 6 for a, b, c, d in zip(*[iter(pairs)] * 4))


# Python has int.bit_count() from 3.10 on.
_ones = getattr(int, "bit_count", None) or (lambda number: bin(number).count("1"))


def _count(bits):
    """The bits that are 1."""
    step = 65536
    return sum(_ones(int.from_bytes(bits[i : i + step], "little"))
               for i in range(0, len(bits), step))


def _blocked_fpr(m, k, items):
    """Expected rate of blocks of m positions with this many items on average."""
    if items <= 0:
        return 0.0
    step = max(1, math.floor(math.sqrt(items) / 1.5))
    first = max(0, math.floor(items - 7 * math.sqrt(items)))
    last = math.ceil(items + k + 7 * math.sqrt(items + k))
    total = 0.0
    for n in range(first, last + 1, step):
        chance = math.exp(n * math.log(items) - items - math.lgamma(n + 1))
        total += chance * _block_fpr(m, k, n * k)
    return min(1.0, total * step)


def _block_fpr(m, k, throws):
    """Expected rate after this many probes (throws) into m positions."""
    empty = math.exp(throws * math.log1p(-1 / m))
    covariance = empty**2 * math.expm1(throws * math.log1p(-1 / (m - 1) ** 2))
    mean = 1 - empty
    if mean <= 0:
        return 0.0
    variance = covariance * (1 - 1 / m) + empty * mean / m
    return min(1.0, mean**k * math.exp(k * (k - 1) / 2 * variance / mean**2))


class Filter:
    """A filter as it was when it was read.  parse() makes one."""

    def __init__(self, data: Bytes) -> None:
        self._data = bytes(data)
        self._read_header()
        size = 24 if self.windowed else 16
        at = 40 if self.windowed else 16
        expected = at + self._nlayers * size
        if len(self._data) < expected:
            raise _invalid("The value ends within the headers of its layers.")

        self.layers: List[Layer] = []
        for number in range(1, self._nlayers + 1):
            layer = Layer(self, number, self._data[at : at + size])
            if self.windowed and self.layers and layer.slice < self.layers[-1].slice:
                raise _invalid(f"Layer {number} is of an earlier slice than the one before.")
            self.layers.append(layer)
            at += size
            expected += layer.size
        if len(self._data) != expected:
            raise _invalid(
                f"The headers announce {expected} bytes, but there are {len(self._data)}.")

        view = memoryview(self._data)
        for number, layer in enumerate(self.layers, 1):
            layer.read_bits(self, number, view[at : at + layer.size])
            at += layer.size

    def _read_header(self):
        data = self._data
        if len(data) > MAX_BYTES:
            raise Error("54000", "value of type bloom is too large",
                        f"It has {len(data)} bytes; the limit is {MAX_BYTES}.")
        if not data:
            raise _invalid("The value is empty.")
        if data[:2] == b"\\x":
            raise Error("22P03", "invalid bytes for type bloom",
                        "These bytes are the text form of a filter, not its binary form.",
                        "Decode them: parse(value.decode()), or select the column as bytea.")
        if data[0] > 1:
            raise Error("0A000", f"format version {data[0]} of type bloom is not supported",
                        "This release of bloomexp knows format version 1.",
                        "Install the release of bloomexp that wrote the value, or a later one.")
        if data[0] < 1:
            raise _invalid("There is no format version 0.")
        if len(data) < 16:
            raise _invalid("The value ends within its header.")
        flags, self._nlayers, reserved, self.fpr = struct.unpack_from("<xBHId", data)
        self.kind = flags & 15
        self.counting, self.windowed = flags >> 4 & 1 == 1, flags >> 5 & 1 == 1
        if self.kind >= len(KINDS):
            raise _invalid(f"There is no kind of items number {self.kind}.")
        if flags >> 6:
            raise _invalid("A reserved flag is set.")
        if reserved:
            raise _invalid("A reserved field is not 0.")
        if self.counting and self.windowed:
            raise _invalid("A filter cannot be both counting and windowed.")
        if not MIN_FPR <= self.fpr < 1:  # NaN too
            raise _invalid("The false positive rate is not between 1e-09 and 1.")
        if self._nlayers == 0 and not self.windowed:
            raise _invalid("There is no layer.")
        if self._nlayers > MAX_LAYERS:
            raise _invalid(f"There are {self._nlayers} layers; the limit is {MAX_LAYERS}.")
        if self._nlayers > 1 and self.counting:
            raise _invalid("A counting filter has more than one layer.")
        if self.windowed:
            self._read_window()

    def _read_window(self):
        if len(self._data) < 40:
            raise _invalid("The value ends within its header.")
        self.width, self.floor, self.slices, reserved = struct.unpack_from("<qqII", self._data, 16)
        if self.width <= 0:
            raise _invalid("The width of the window is not positive.")
        if not 1 <= self.slices <= MAX_SLICES:
            raise _invalid(f"The window does not have between 1 and {MAX_SLICES} slices.")
        if reserved:
            raise _invalid("A reserved field is not 0.")

    def __reduce__(self) -> "Tuple[Type[Filter], Tuple[bytes]]":
        """For pickle and copy, which cannot take the views of the bits."""
        return type(self), (self._data,)

    def __bytes__(self) -> bytes:
        return self._data

    def __str__(self) -> str:
        """The text form."""
        return "\\x" + self._data.hex()

    def contains(self, item: Optional[Item]) -> Optional[bool]:
        """Whether the filter contains the item; None if that is None."""
        if item is None:
            return None
        kind, data = _canonical(item)
        _require_kind(self.kind, kind)
        x = _hash(data)
        return any(layer.contains(x) for layer in reversed(self.layers))

    def __contains__(self, item: Optional[Item]) -> bool:
        return bool(self.contains(item))

    @overload
    def exclude(  # type: ignore[misc]
            self, candidates: "numpy.ndarray[Any, Any]") -> "numpy.ndarray[Any, Any]":
        ...

    @overload
    def exclude(self, candidates: Iterable[Optional[T]]) -> List[T]:
        ...

    def exclude(self, candidates: Any) -> Any:
        """The candidates that the filter does not contain, in their order, without None.

        A list, or an array where the candidates are a numpy array of integers.
        """
        _require_many(candidates)
        if numpy is not None:
            if isinstance(candidates, numpy.ndarray) and candidates.dtype.kind in "iu":
                return candidates[~self._contains_each(candidates)]
            candidates = list(candidates)
            if len(candidates) >= FEW and all(type(item) is int for item in candidates):
                return self._exclude_integers(candidates)
        return [item for item in candidates if item is not None and not self.contains(item)]

    def _exclude_integers(self, candidates):
        return list(itertools.compress(candidates, ~self._contains_each(_integers(candidates))))

    def _contains_each(self, items):
        """An array of booleans for an array of integers."""
        if items.ndim != 1:
            raise Error("2202E", f"array of candidates has {items.ndim} dimensions",
                        "Only arrays of one dimension can be used.")
        _require_kind(self.kind, INTEGER)
        x = _hash_integers(items)
        left = numpy.arange(len(x))  # those that no layer contained
        for layer in reversed(self.layers):
            left = numpy.delete(left, layer.contains_each(x[left]))
            if len(left) == 0:
                break
        contained = numpy.ones(len(x), bool)
        contained[left] = False
        return contained

    def exclude_packed(self, candidates: Bytes) -> bytes:
        """bloom_exclude_packed(): 8 bytes for each integer, in and out."""
        if len(candidates) % 8:
            raise Error("22P03", "length of packed items must be a multiple of 8 bytes, "
                        f"not {len(candidates)}",
                        "Each item is an integer of 8 bytes, in little-endian byte order.")
        if self.kind not in (0, INTEGER):
            name = KINDS[self.kind]
            raise Error("42804", f"filter holds {name} items, not packed integers",
                        hint=f"Use bloom_exclude_array() with an array of {name}.")
        if numpy is not None:
            return self.exclude(numpy.frombuffer(candidates, "<i8")).tobytes()
        survivors = self.exclude(item for (item,) in struct.iter_unpack("<q", candidates))
        return struct.pack(f"<{len(survivors)}q", *survivors)

    def fpr_now(self) -> float:
        """The false positive rate now, from the bits that are set."""
        rates = [layer.fpr_now() for layer in self.layers]
        if 1.0 in rates:
            return 1.0
        return 0.0 - math.expm1(sum(math.log1p(-rate) for rate in rates))

    def info(self) -> Info:
        """What bloom_info() says of the filter."""
        bits = sum(layer.positions for layer in self.layers)
        bits_set = sum(layer.bits_set for layer in self.layers)
        expired = self.windowed and self.floor != NO_FLOOR
        return Info(
            kind=KINDS[self.kind] if self.kind else None,
            items=sum(layer.items for layer in self.layers),
            capacity=sum(layer.capacity for layer in self.layers),
            fpr=self.fpr,
            fpr_now=self.fpr_now(),
            bits=bits,
            bits_set=bits_set,
            fill=bits_set / bits if bits else 0.0,
            layers=len(self.layers),
            bytes=len(self._data) + 4,  # PostgreSQL's length word
            counting=self.counting,
            window_width=timedelta(microseconds=self.width) if self.windowed else None,
            slices=self.slices if self.windowed else None,
            expired_before=_time(self.floor) if expired else None,
        )


def _time(microseconds):
    """A time of the format; the first or last datetime where there is none."""
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return (datetime.min if microseconds < 0 else datetime.max).replace(tzinfo=timezone.utc)


def parse(value: Union[str, Bytes, None]) -> Filter:
    """Make a Filter of a value's bytes or its text form; an empty one of None, as NULL is one."""
    if value is None:
        value = EMPTY
    return Filter(_from_text(value.encode()) if isinstance(value, str) else value)


def _from_text(digits):
    if digits.startswith(b"\\x"):
        digits = digits[2:]
    wrong = re.search(rb"[^0-9a-fA-F]", digits[: len(digits) & ~1])
    if wrong:
        raise Error("22P02", "invalid input syntax for type bloom",
                    f"There is no hexadecimal digit at byte {wrong.start() // 2 + 1}.",
                    'The text form of a filter is "\\x" and hexadecimal digits; '
                    "make one with bloom_new().")
    if len(digits) % 2:
        raise Error("22P02", "invalid input syntax for type bloom",
                    "The number of hexadecimal digits is odd.")
    return binascii.unhexlify(digits)


#
# Building: the chapter "Sizes" of doc/internals/format.md.
#


class _Shape(NamedTuple):
    words: int
    hashes: int
    blocks: int
    block_bits: int


def _shape(words, hashes):
    blocks = _blocks(words)
    return _Shape(words, hashes, blocks, words // blocks * 64)


def _exact_fpr(m, k, throws):
    """Rate of m positions after few probes, exactly."""
    chance = [1.0] + [0.0] * (k + 1)
    for probe in range(k):
        for j in range(probe + 1, 0, -1):
            chance[j] = chance[j] * (j / m) + chance[j - 1] * ((m - j + 1) / m)
        chance[0] = 0.0
    for _ in range(throws):
        for r in range(k + 1):
            chance[r] = chance[r] * (1 - r / m) + chance[r + 1] * ((r + 1) / m)
        while k > 0 and chance[k] < NEGLIGIBLE:
            chance[k] = 0.0
            k -= 1
    return chance[0]


def _expected_fpr(shape, items):
    """Rate of a layer of this shape that holds this many items."""
    if shape.blocks > 1:
        return _blocked_fpr(shape.block_bits, shape.hashes, items / shape.blocks)
    if items <= EXACT_ITEMS * shape.hashes:
        return _exact_fpr(shape.block_bits, shape.hashes, items * shape.hashes)
    return _block_fpr(shape.block_bits, shape.hashes, items * shape.hashes)


def _textbook_words(items, fpr, k):
    load = -math.log1p(-(fpr ** (1 / k)))
    return math.ceil(k * items / load / 64)


def _round_to_blocks(words, k):
    blocks = _blocks(words)
    return _shape(-(-words // blocks) * blocks, k)


def _next_smaller(shape):
    words = shape.words - shape.blocks
    if shape.blocks > 1 and (words <= BLOCKED_FROM or _blocks(words) < shape.blocks):
        words = max((shape.blocks - 1) * BLOCK_WORDS, BLOCKED_FROM)
    return _shape(words, shape.hashes)


def _smallest_for_hashes(items, fpr, k):
    """The smallest shape with k hashes that keeps the rate, or None."""

    def keeps(shape):
        return _expected_fpr(shape, items) <= fpr

    # start near the answer: the textbook's size, corrected by how far its rate is off
    aim = fpr
    for _ in range(3):
        words = _textbook_words(items, aim, k)
        if words > MAX_WORDS:
            return None
        shape = _round_to_blocks(max(1, words), k)
        if shape.words == 1:
            break
        textbook = (-math.expm1(-k * items / (64 * shape.words))) ** k
        aim = fpr * textbook / _expected_fpr(shape, items)

    while not keeps(shape):
        shape = _round_to_blocks(shape.words + 1, k)
        if shape.words > MAX_WORDS:
            return None
    while shape.words > 1 and keeps(_next_smaller(shape)):
        shape = _next_smaller(shape)
    # one block does with less than several
    single = _shape(BLOCKED_FROM, k)
    return single if shape.blocks > 1 and keeps(single) else shape


@functools.lru_cache(1024)
def _fit(items, fpr):
    """The smallest shape, of equal ones that of fewest hashes; None if a value can't have it."""
    best = -math.log2(fpr)
    found = None
    for k in range(min(MAX_HASHES, math.ceil(best) + 1),
                   max(1, min(MAX_HASHES, math.floor(best) - 1)) - 1, -1):
        if found and _textbook_words(items, fpr, k) > found.words:
            continue
        shape = _smallest_for_hashes(items, fpr, k)
        if shape and (not found or shape.words <= found.words):
            found = shape
    while found and found.hashes > 1:
        fewer = _shape(found.words, found.hashes - 1)
        if _expected_fpr(fewer, items) > fpr:
            break
        found = fewer
    return found if found and 32 + 8 * found.words <= MAX_BYTES else None


def _too_large(capacity, fpr, share):
    fits, too_many = 0, 2**32
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _fit(middle, share):
            fits = middle
        else:
            too_many = middle
    return Error("54000", f"capacity of {capacity} items is too large",
                 f"At a false positive rate of {fpr:g} the limit is {fits} items.",
                 "Use a higher false positive rate, or several filters.")


def _first_layer(capacity, fpr):
    """The shape of the first layer of a filter for so many items."""
    share = fpr * (UNSIZED_SHARE if capacity <= UNSIZED_CAPACITY else SIZED_SHARE)
    shape = _fit(capacity, share) if capacity < 2**32 else None
    if shape is None:
        raise _too_large(capacity, fpr, share)
    return shape


def _check_sizing(fpr, headroom):
    for name, number in (("fpr", fpr), ("headroom", headroom)):
        if isinstance(number, bool) or not isinstance(number, numbers.Real):
            raise TypeError(f"{name} must be a number, not {type(number).__name__}")
    if not 0 < fpr < 1:  # NaN too
        raise Error("22023", "false positive rate must be greater than 0 and less than 1",
                    hint="Write 0.01 for 1%.")
    if fpr < MIN_FPR:
        raise Error("22023", "false positive rate must be at least 1e-09",
                    "Items are compared by a 64-bit hash, which does not allow a lower rate.")
    if not 0 <= headroom <= MAX_HEADROOM:
        raise Error("22023", f"headroom must be between 0 and {MAX_HEADROOM}",
                    hint="Write 0.2 for room for 20% more items.")


def _distinct(items):
    """Kind and distinct hashes of items, without None."""
    _require_many(items)
    if numpy is not None:
        if not isinstance(items, numpy.ndarray):
            items = list(items)
            if len(items) >= FEW and all(type(item) is int for item in items):
                items = _integers(items)
        if isinstance(items, numpy.ndarray) and items.dtype.kind in "iu" and items.ndim == 1:
            return INTEGER, numpy.unique(_hash_integers(items))
    held, hashes = 0, set()
    for item in items:
        if item is not None:
            kind, data = _canonical(item)
            _require_kind(held, kind)
            held = kind
            hashes.add(_hash(data))
    return held, hashes


def _bits_of(layer, hashes):
    if numpy is not None and len(hashes) >= FEW:
        marks = numpy.zeros(layer.positions, bool)
        for positions in layer.probes(numpy.fromiter(hashes, numpy.uint64, len(hashes))):
            marks[positions.astype(numpy.intp)] = True
        return numpy.packbits(marks, bitorder="little").tobytes()
    bits = bytearray(layer.size)
    for x in map(int, hashes):
        for i in layer.probes(x):
            bits[i >> 3] |= 1 << (i & 7)
    return bytes(bits)


def build(items: Iterable[Optional[Item]],
          fpr: float = 0.01, headroom: float = 0) -> Optional[bytes]:
    """The bytes of bloom_agg(item, fpr, headroom): a filter of all of these items.

    None where there is no item, as on the server; parse(None) is an empty filter.  The items
    are of one kind, repetitions and None among them do not count.  headroom 0.2 makes room
    for 20% more items, which the server can add.
    """
    _check_sizing(fpr, headroom)
    kind, hashes = _distinct(items)
    count = len(hashes)
    if count == 0:
        return None
    capacity = math.ceil(count * (1.0 + headroom))
    shape = _first_layer(capacity, float(fpr))

    def header(held, bits_set):
        return struct.pack("<BBHId4I", 1, kind, 1, 0, fpr, shape.words | shape.hashes << 26,
                           capacity, held, bits_set)

    (layer,) = Filter(header(0, 0) + bytes(8 * shape.words)).layers
    bits = _bits_of(layer, hashes)
    return header(count, _count(bits)) + bits
