// Package bloomexp tests items against filters of the PostgreSQL extension bloomexp outside
// of the server.
//
// A value is read as doc/internals/format.md describes it. It cannot be changed here:
// how a filter grows, and so its promised rate, is the server's business.
package bloomexp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"
)

const (
	version      = 1
	maxBytes     = 500<<20 - 4
	maxLayers    = 4096
	maxSlices    = 1000
	minFPR       = 1e-9
	headerSize   = 16
	windowSize   = 24 // further bytes in the header of a windowed filter
	wordsBits    = 26 // of a layer's shape; the rest are hashes
	blockedFrom  = 4096
	blockWords   = 250
	mostPerPlace = 64 // items per position
)

// Kind is the kind of the items in a filter.
type Kind uint8

// The numbers are those of the format.
const (
	None Kind = iota // nothing was ever added
	Integer
	Text
	UUID
	Bytea
)

func (k Kind) String() string {
	return [...]string{"none", "integer", "text", "uuid", "bytea"}[k]
}

// Item is the constraint of an item's type. All integers are one kind. A string is text of
// a server whose encoding is UTF-8, and an array of 16 bytes is a uuid.
type Item interface {
	int | int16 | int32 | int64 | string | [16]byte | []byte
}

// Error is a refusal, in the words of the server.
type Error struct {
	Code    string // SQLSTATE
	Message string
	Detail  string
	Hint    string
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Message
	}
	return e.Message + ": " + e.Detail
}

// Filter is a value of type bloom. The zero Filter is like NULL: it contains
// nothing. Any number of goroutines can ask one filter.
type Filter struct {
	value    []byte
	kind     Kind
	counting bool
	windowed bool
	fpr      float64
	width    int64 // of the window, in microseconds
	floor    int64 // what was shown before has expired
	slices   uint32
	layers   []layer // oldest first
}

type layer struct {
	words     uint64
	blocks    uint64
	blockBits uint64 // positions a block
	hashes    uint64
	capacity  uint64
	items     uint64
	bitsSet   uint64
	slice     int64
	counting  bool
	bytes     []byte
}

// Parse checks a value as the server does and opens it: the bytes of the binary
// protocol, or of a cast to bytea. The filter keeps them; they must not change.
func Parse(value []byte) (*Filter, error) {
	if len(value) > maxBytes {
		return nil, &Error{Code: "54000", Message: "value of type bloom is too large",
			Detail: fmt.Sprintf("It has %d bytes; the limit is %d.", len(value), maxBytes)}
	}
	if bytes.HasPrefix(value, []byte(`\x`)) {
		return nil, &Error{Code: "22P03", Message: "invalid bytes for type bloom",
			Detail: "These bytes are the text form of a filter, not its binary form.",
			Hint:   "Decode them: ParseText(string(value)), or select the column as bytea."}
	}
	if len(value) > 0 && value[0] > version {
		return nil, &Error{Code: "0A000",
			Message: fmt.Sprintf("format version %d of type bloom is not supported", value[0]),
			Detail:  fmt.Sprintf("This release of bloomexp knows format version %d.", version),
			Hint:    "Install the release of bloomexp that wrote the value, or a later one."}
	}

	f := &Filter{value: value}
	if err := f.readHeader(); err != nil {
		return nil, err
	}
	if err := f.readLayers(); err != nil {
		return nil, err
	}
	for i := range f.layers {
		if err := f.checkBits(i); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// ParseText is Parse for the text form: \x and hexadecimal digits.
func ParseText(text string) (*Filter, error) {
	digits := strings.TrimPrefix(text, `\x`)
	value, err := hex.DecodeString(digits)
	if err == nil {
		return Parse(value)
	}

	refusal := &Error{Code: "22P02", Message: "invalid input syntax for type bloom"}
	if len(value) == len(digits)/2 {
		refusal.Detail = "The number of hexadecimal digits is odd."
	} else {
		refusal.Detail = fmt.Sprintf("There is no hexadecimal digit at byte %d.", len(value)+1)
		refusal.Hint = `The text form of a filter is "\x" and hexadecimal digits; ` +
			`make one with bloom_new().`
	}
	return nil, refusal
}

// Scan implements sql.Scanner, for a column of type bloom or bytea. NULL makes the
// zero Filter.
func (f *Filter) Scan(column any) error {
	parsed, err := &Filter{}, error(nil)

	switch column := column.(type) {
	case nil:
	case string:
		parsed, err = ParseText(column)
	case []byte: // the driver's own, which it uses again
		if bytes.HasPrefix(column, []byte(`\x`)) {
			parsed, err = ParseText(string(column))
		} else {
			parsed, err = Parse(append([]byte(nil), column...))
		}
	default:
		err = fmt.Errorf("a filter cannot be read from %T", column)
	}
	if err == nil {
		*f = *parsed
	}
	return err
}

// String returns the value in its text form.
func (f *Filter) String() string {
	return `\x` + hex.EncodeToString(f.value)
}

func bad(format string, args ...any) error {
	return &Error{Code: "22P03", Message: "invalid bytes for type bloom",
		Detail: fmt.Sprintf(format, args...)}
}

// readHeader reads what is before the layers.
func (f *Filter) readHeader() error {
	if len(f.value) < 1 {
		return bad("The value is empty.")
	}
	if f.value[0] != version {
		return bad("There is no format version %d.", f.value[0])
	}
	if len(f.value) < headerSize {
		return bad("The value ends within its header.")
	}

	flags := f.value[1]
	f.kind = Kind(flags & 15)
	f.counting = flags&0x10 != 0
	f.windowed = flags&0x20 != 0
	layers := binary.LittleEndian.Uint16(f.value[2:])
	f.fpr = math.Float64frombits(binary.LittleEndian.Uint64(f.value[8:]))

	switch {
	case f.kind > Bytea:
		return bad("There is no kind of items number %d.", uint8(f.kind))
	case flags&0xc0 != 0:
		return bad("A reserved flag is set.")
	case binary.LittleEndian.Uint32(f.value[4:]) != 0:
		return bad("A reserved field is not 0.")
	case f.counting && f.windowed:
		return bad("A filter cannot be both counting and windowed.")
	case !(f.fpr >= minFPR && f.fpr < 1): // also true for NaN
		return bad("The false positive rate is not between %g and 1.", minFPR)
	case layers == 0 && !f.windowed:
		return bad("There is no layer.")
	case layers > maxLayers:
		return bad("There are %d layers; the limit is %d.", layers, maxLayers)
	case layers > 1 && f.counting:
		return bad("A counting filter has more than one layer.")
	}
	f.layers = make([]layer, layers)
	if !f.windowed {
		return nil
	}

	if len(f.value) < headerSize+windowSize {
		return bad("The value ends within its header.")
	}
	f.width = int64(binary.LittleEndian.Uint64(f.value[16:]))
	f.floor = int64(binary.LittleEndian.Uint64(f.value[24:]))
	f.slices = binary.LittleEndian.Uint32(f.value[32:])

	switch {
	case f.width <= 0:
		return bad("The width of the window is not positive.")
	case f.slices == 0 || f.slices > maxSlices:
		return bad("The window does not have between 1 and %d slices.", maxSlices)
	case binary.LittleEndian.Uint32(f.value[36:]) != 0:
		return bad("A reserved field is not 0.")
	}
	return nil
}

// readLayers reads the headers of the layers and gives them their bits.
func (f *Filter) readLayers() error {
	at, size := headerSize, 16
	if f.windowed {
		at, size = headerSize+windowSize, 24
	}
	next := uint64(at + size*len(f.layers)) // where the bits of a layer begin
	if uint64(len(f.value)) < next {
		return bad("The value ends within the headers of its layers.")
	}

	headers := f.value[at:next]
	for i := range f.layers {
		if err := f.readLayer(i, headers[size*i:]); err != nil {
			return err
		}
		if i > 0 && f.layers[i].slice < f.layers[i-1].slice {
			return bad("Layer %d is of an earlier slice than the one before.", i+1)
		}
		next += f.layers[i].size()
	}
	if uint64(len(f.value)) != next {
		return bad("The headers announce %d bytes, but there are %d.", next, len(f.value))
	}

	left := f.value[at+size*len(f.layers):]
	for i := range f.layers {
		l := &f.layers[i]
		l.bytes, left = left[:l.size()], left[l.size():]
	}
	return nil
}

func (f *Filter) readLayer(i int, header []byte) error {
	l := &f.layers[i]
	field := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(header[at:])) }

	l.words, l.hashes = field(0)&(1<<wordsBits-1), field(0)>>wordsBits
	if l.words == 0 || l.hashes == 0 {
		return bad("Layer %d has no bits or no hashes.", i+1)
	}
	l.blocks = 1
	if l.words > blockedFrom {
		l.blocks = (l.words + blockWords - 1) / blockWords
	}
	l.blockBits = l.words / l.blocks * 64
	l.capacity, l.items, l.bitsSet = field(4), field(8), field(12)
	l.counting = f.counting
	if f.windowed {
		l.slice = int64(binary.LittleEndian.Uint64(header[16:]))
	}

	switch {
	case l.words%l.blocks != 0:
		return bad("Layer %d cannot be cut into equal blocks.", i+1)
	case l.capacity == 0:
		return bad("Layer %d has no capacity.", i+1)
	case l.capacity > mostPerPlace*l.positions():
		return bad("Layer %d has a capacity that its bits cannot hold.", i+1)
	case l.items > l.capacity:
		return bad("Layer %d holds more items than its capacity.", i+1)
	case f.kind == None && l.items > 0:
		return bad("Layer %d holds items of no kind.", i+1)
	}
	return nil
}

// checkBits compares the header of a layer with its bits.
func (f *Filter) checkBits(i int) error {
	l := &f.layers[i]

	if l.bitsSet != l.countSet() {
		return bad("Layer %d does not have as many bits set as its header says.", i+1)
	}
	// a saturated counter outlives the removal of its items
	if !l.counting && (l.bitsSet > l.items*l.hashes || l.bitsSet == 0 && l.items > 0 ||
		float64(l.items) > math.Max(l.mostItems(), l.textbookItems(f.fpr))) {
		return bad("Layer %d has a number of bits set that its items cannot explain.", i+1)
	}
	return nil
}

func (l *layer) positions() uint64 { return 64 * l.words }

func (l *layer) size() uint64 {
	if l.counting {
		return 32 * l.words
	}
	return 8 * l.words
}

// countSet counts the bits that are 1, or the counters that are not 0.
func (l *layer) countSet() uint64 {
	set := 0
	for i := 0; i < len(l.bytes); i += 8 {
		word := binary.LittleEndian.Uint64(l.bytes[i:])
		if l.counting { // the lowest bit of each counter becomes the OR of its four
			word |= word >> 1
			word |= word >> 2
			word &= 0x1111111111111111
		}
		set += bits.OnesCount64(word)
	}
	return uint64(set)
}

// unset is the number of positions that are not set, or 0.5 if there are none.
func (l *layer) unset() float64 {
	return math.Max(float64(l.positions()-l.bitsSet), 0.5)
}

// mostItems is an upper bound of the items that set so few bits.
func (l *layer) mostItems() float64 {
	m, u := float64(l.positions()), l.unset()

	return m / float64(l.hashes) * (math.Log(m/u) + 1 + 44/u)
}

// textbookItems is what fits at a rate, whatever the items.
func (l *layer) textbookItems(fpr float64) float64 {
	k := float64(l.hashes)
	share := math.Pow(fpr, 1/k)

	if k > 1 { // the server and this function may each round the root by 2^-53
		share = math.Min(share+0x1p-52, 1)
	}
	return -math.Log1p(-share) * float64(l.positions()) / k
}

// Contains reports whether a filter contains an item. An item that was added is
// contained; any other is with the probability of the filter's false positive rate.
func Contains[T Item](f *Filter, item T) (bool, error) {
	var hash [1]uint64

	if err := f.requireKind(kindOf[T]()); err != nil {
		return false, err
	}
	hashItems([]T{item}, hash[:])
	return f.contains(hash[0]), nil
}

// Exclude returns the candidates that a filter does not contain, in their order and
// with their duplicates.
func Exclude[T Item](f *Filter, candidates []T) ([]T, error) {
	if err := f.requireKind(kindOf[T]()); err != nil {
		return nil, err
	}
	hashes := make([]uint64, len(candidates))
	hashItems(candidates, hashes)

	survivors := make([]T, 0, len(candidates))
	for i, hash := range hashes {
		if !f.contains(hash) {
			survivors = append(survivors, candidates[i])
		}
	}
	return survivors, nil
}

// ExcludePacked is Exclude for integers that are packed into 8 little-endian bytes
// each.
func (f *Filter) ExcludePacked(candidates []byte) ([]byte, error) {
	if len(candidates)%8 != 0 {
		return nil, &Error{Code: "22P03",
			Message: fmt.Sprintf("length of packed items must be a multiple of 8 bytes, not %d",
				len(candidates)),
			Detail:  "Each item is an integer of 8 bytes, in little-endian byte order."}
	}
	if f.kind != None && f.kind != Integer {
		return nil, &Error{Code: "42804",
			Message: fmt.Sprintf("filter holds %v items, not packed integers", f.kind),
			Hint:    fmt.Sprintf("Use bloom_exclude_array() with an array of %v.", f.kind)}
	}

	survivors := make([]byte, 0, len(candidates))
	for ; len(candidates) > 0; candidates = candidates[8:] {
		if !f.contains(hashInteger(binary.LittleEndian.Uint64(candidates))) {
			survivors = append(survivors, candidates[:8]...)
		}
	}
	return survivors, nil
}

func (f *Filter) requireKind(kind Kind) error {
	if f.kind == None || f.kind == kind {
		return nil
	}
	target := f.kind.String()
	if f.kind == Integer {
		target = "bigint"
	}
	return &Error{Code: "42804",
		Message: fmt.Sprintf("filter holds %v items, not %v", f.kind, kind),
		Hint: fmt.Sprintf("Cast the items to %s.", target)}
}

func (f *Filter) contains(hash uint64) bool {
	for i := len(f.layers) - 1; i >= 0; i-- {
		if f.layers[i].contains(hash) {
			return true
		}
	}
	return false
}

const (
	start = 0x9e3779b97f4a7c15
	step  = 0xd1342543de82ef95
)

func (l *layer) contains(hash uint64) bool {
	block, _ := bits.Mul64(hash, l.blocks)
	first, g := block*l.blockBits, (hash+start)*start*(2*l.words+1)
	for i := uint64(0); i < l.hashes; i++ {
		if !l.isSet(first + g>>32*l.blockBits>>32) {
			return false
		}
		g *= step
	}
	return true
}

func (l *layer) isSet(position uint64) bool {
	if l.counting {
		return l.bytes[position/2]>>(position%2*4)&15 != 0
	}
	return l.bytes[position/8]>>(position%8)&1 != 0
}

func kindOf[T Item]() Kind {
	var item T

	switch any(item).(type) {
	case string:
		return Text
	case [16]byte:
		return UUID
	case []byte:
		return Bytea
	}
	return Integer
}

// hashItems writes the hashes of items to hashes, which has the same length.
func hashItems[T Item](items []T, hashes []uint64) {
	switch items := any(items).(type) {
	case []int:
		hashIntegers(items, hashes)
	case []int16:
		hashIntegers(items, hashes)
	case []int32:
		hashIntegers(items, hashes)
	case []int64:
		hashIntegers(items, hashes)
	case []string:
		for i, item := range items {
			hashes[i] = hash(item)
		}
	case [][16]byte:
		for i := range items {
			hashes[i] = hash(items[i][:])
		}
	case [][]byte:
		for i, item := range items {
			hashes[i] = hash(item)
		}
	}
}

func hashIntegers[T int | int16 | int32 | int64](items []T, hashes []uint64) {
	for i, item := range items {
		hashes[i] = hashInteger(uint64(item))
	}
}

// hashInteger is hash for 8 bytes, which are all tail: shorter than a block.
func hashInteger(item uint64) uint64 {
	return finish(mix1(item), 0, 8)
}

// hash is the first half of MurmurHash3 x64 128, Austin Appleby's.
func hash[B string | []byte](item B) uint64 {
	h1, h2 := uint64(0), uint64(0)
	i := 0

	for ; len(item)-i >= 16; i += 16 {
		h1 = (bits.RotateLeft64(h1^mix1(word(item, i)), 27)+h2)*5 + 0x52dce729
		h2 = (bits.RotateLeft64(h2^mix2(word(item, i+8)), 31)+h1)*5 + 0x38495ab5
	}
	return finish(h1^mix1(word(item, i)), h2^mix2(word(item, i+8)), uint64(len(item)))
}

// word is the little-endian number of 8 bytes; bytes beyond the end of the item are 0.
func word[B string | []byte](item B, i int) uint64 {
	if len(item)-i >= 8 {
		return uint64(item[i]) | uint64(item[i+1])<<8 | uint64(item[i+2])<<16 |
			uint64(item[i+3])<<24 |
			uint64(item[i+4])<<32 | uint64(item[i+5])<<40 | uint64(item[i+6])<<48 |
			uint64(item[i+7])<<56
	}
	number := uint64(0)
	for end := len(item) - 1; end >= i; end-- {
		number = number<<8 | uint64(item[end])
	}
	return number
}

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
func mix2(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }

func finish(h1, h2, length uint64) uint64 {
	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	return final(h1) + final(h2)
}

func final(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// Info is what bloom_info tells of a filter.
type Info struct {
	Kind          Kind
	Items         int64   // distinct items added, as counted while adding
	Capacity      int64   // items for which all layers were sized
	FPR           float64 // the promised rate
	FPRNow        float64 // the rate now, from the fill
	Bits          int64   // bits, or counters
	BitsSet       int64
	Fill          float64 // their share
	Layers        int
	Bytes         int64 // as stored, with the length word of 4 bytes
	Counting      bool
	// in microseconds, which time.Duration may not hold; 0 if there is no window
	WindowWidth   int64
	Slices        int
	ExpiredBefore time.Time // zero if nothing has expired
}

// Info returns the state of the filter.
func (f *Filter) Info() Info {
	info := Info{Kind: f.kind, FPR: f.fpr, Layers: len(f.layers), Bytes: int64(len(f.value)) + 4,
		Counting: f.counting, WindowWidth: f.width, Slices: int(f.slices)}
	missed := 0.0 // logarithm of the chance

	for i := range f.layers {
		l := &f.layers[i]
		info.Items += int64(l.items)
		info.Capacity += int64(l.capacity)
		info.Bits += int64(l.positions())
		info.BitsSet += int64(l.bitsSet)
		missed += math.Log1p(-l.fprNow())
	}
	info.FPRNow = 0 - math.Expm1(missed)
	if info.Bits > 0 {
		info.Fill = float64(info.BitsSet) / float64(info.Bits)
	}
	if f.windowed && f.floor != math.MinInt64 {
		const second, year2000 = 1e6, 946684800
		info.ExpiredBefore = time.Unix(year2000+f.floor/second, f.floor%second*1000).UTC()
	}
	return info
}

// fprNow is the rate of a layer by its fill; in one block that is exact.
func (l *layer) fprNow() float64 {
	k, b := float64(l.hashes), float64(l.blockBits)

	if l.blocks == 1 {
		return math.Pow(float64(l.bitsSet)/b, k)
	}
	return blockedFPR(b, k, math.Log(l.unset()/float64(l.positions()))/math.Expm1(
		k*math.Log1p(-1/b)))
}

// blockedFPR is the rate of blocks of m bits, in which the number of items is a
// Poisson variable of this mean. It sums only every step-th term, which is enough.
func blockedFPR(m, k, mean float64) float64 {
	if mean <= 0 {
		return 0
	}
	step := math.Max(1, math.Floor(math.Sqrt(mean)/1.5))
	last := math.Ceil(mean + k + 7*math.Sqrt(mean+k))
	sum := 0.0

	for n := math.Max(0, math.Floor(mean-7*math.Sqrt(mean))); n <= last; n += step {
		factorial, _ := math.Lgamma(n + 1)
		sum += math.Exp(n*math.Log(mean)-mean-factorial) * classicFPR(m, k, n*k)
	}
	return math.Min(1, sum*step)
}

// classicFPR is the rate of one block of m bits after the given number of probes.
func classicFPR(m, k, probes float64) float64 {
	empty := math.Exp(probes * math.Log1p(-1/m))
	fill := 1 - empty
	if fill <= 0 {
		return 0
	}
	covariance := empty * empty * math.Expm1(probes*math.Log1p(-1/((m-1)*(m-1))))
	variance := covariance*(1-1/m) + empty*(1-empty)/m

	return math.Min(1, math.Pow(fill, k)*math.Exp(k*(k-1)/2*variance/(fill*fill)))
}
