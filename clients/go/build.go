package bloomexp

import (
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// What a new filter is sized by.
const (
	maxWords        = 1<<wordsBits - 1 // of a layer
	maxHashes       = 63
	unsizedCapacity = 100
	unsizedShare    = 1.0 / 2
	sizedShare      = 127.0 / 128
	exactItems      = 4 // for each hash the rate is computed exactly
	negligible      = 1e-290
	maxHeadroom     = 1000
)

// Build returns the bytes of bloom_agg(item, fpr, headroom): a filter of all of these
// items, with room for a part of headroom more. Repetitions do not count. Without an
// item it returns nil, as the server NULL; for Scan that is an empty filter.
func Build[T Item](items []T, fpr, headroom float64) ([]byte, error) {
	if err := checkSizing(fpr, headroom); err != nil {
		return nil, err
	}
	hashes := make([]uint64, len(items))
	hashItems(items, 0, hashes)
	hashes = distinct(hashes)
	if len(hashes) == 0 {
		return nil, nil
	}
	capacity := math.Ceil(float64(len(hashes)) * (1 + headroom))
	shape, err := firstLayer(capacity, fpr)
	if err != nil {
		return nil, err
	}

	const header = headerSize + 16
	value := make([]byte, header+shape.size())
	value[0], value[1], value[2] = version, byte(kindOf[T]()), 1
	binary.LittleEndian.PutUint64(value[8:], math.Float64bits(fpr))
	shape.bytes = value[header:]
	for _, hash := range hashes {
		shape.add(hash)
	}
	for i, field := range []uint64{shape.words | shape.hashes<<wordsBits, uint64(capacity), uint64(len(hashes)), shape.countSet()} {
		binary.LittleEndian.PutUint32(value[headerSize+4*i:], uint32(field))
	}
	return value, nil
}

func checkSizing(fpr, headroom float64) error {
	switch {
	case !(fpr > 0 && fpr < 1): // not a number, too
		return &Error{Code: "22023", Message: "false positive rate must be greater than 0 and less than 1",
			Hint: "Write 0.01 for 1%."}
	case fpr < minFPR:
		return &Error{Code: "22023", Message: fmt.Sprintf("false positive rate must be at least %g", minFPR),
			Detail: "Items are compared by a 64-bit hash, which does not allow a lower rate."}
	case !(headroom >= 0 && headroom <= maxHeadroom):
		return &Error{Code: "22023", Message: fmt.Sprintf("headroom must be between 0 and %d", maxHeadroom),
			Hint: "Write 0.2 for room for 20% more items."}
	}
	return nil
}

// distinct sorts hashes and drops repetitions.
func distinct(hashes []uint64) []uint64 {
	kept := 0

	sort.Slice(hashes, func(i, j int) bool { return hashes[i] < hashes[j] })
	for i, hash := range hashes {
		if i == 0 || hash != hashes[kept-1] {
			hashes[kept] = hash
			kept++
		}
	}
	return hashes[:kept]
}

func (l *layer) add(hash uint64) {
	first, g := l.begin(hash)
	for i := uint64(0); i < l.hashes; i++ {
		position := first + g>>32*l.blockBits>>32
		l.bytes[position/8] |= 1 << (position % 8)
		g *= step
	}
}

// The chapter "Sizes" of doc/internals/format.md. Where a product is added to something, it is
// converted first: Go may otherwise fuse both, which rounds differently.

// shapeOf is an empty layer, without its bits.
func shapeOf(words, hashes uint64) layer {
	blocks := blocksOf(words)
	return layer{words: words, hashes: hashes, blocks: blocks, blockBits: words / blocks * 64}
}

// exactFPR is the rate of m positions after so few probes.
func exactFPR(m float64, k, throws int) float64 {
	var chance [maxHashes + 2]float64

	chance[0] = 1
	for probe := 0; probe < k; probe++ {
		for j := probe + 1; j > 0; j-- {
			chance[j] = float64(chance[j]*(float64(j)/m)) + float64(chance[j-1]*((m-float64(j)+1)/m))
		}
		chance[0] = 0
	}
	for i := 0; i < throws; i++ {
		for r := 0; r <= k; r++ {
			chance[r] = float64(chance[r]*(1-float64(r)/m)) + float64(chance[r+1]*((float64(r)+1)/m))
		}
		for ; k > 0 && chance[k] < negligible; k-- {
			chance[k] = 0
		}
	}
	return chance[0]
}

// expectedFPR is the rate of a layer that holds so many items.
func (l *layer) expectedFPR(items float64) float64 {
	b, k := float64(l.blockBits), float64(l.hashes)

	if l.blocks > 1 {
		return blockedFPR(b, k, items/float64(l.blocks))
	}
	if items <= exactItems*k {
		return exactFPR(b, int(l.hashes), int(items*k))
	}
	return classicFPR(b, k, items*k)
}

// textbookFPR is its rate by the textbook.
func (l *layer) textbookFPR(items float64) float64 {
	k := float64(l.hashes)
	return math.Pow(-math.Expm1(-k*items/float64(l.positions())), k)
}

// textbookWords is not above the true number.
func textbookWords(items, fpr float64, hashes uint64) float64 {
	k := float64(hashes)
	return math.Ceil(k * items / -math.Log1p(-math.Pow(fpr, 1/k)) / 64)
}

func roundToBlocks(words, hashes uint64) layer {
	blocks := blocksOf(words)
	return shapeOf((words+blocks-1)/blocks*blocks, hashes)
}

func nextSmaller(l layer) layer {
	words := l.words - l.blocks
	if l.blocks > 1 && (words <= blockedFrom || blocksOf(words) < l.blocks) {
		words = (l.blocks - 1) * blockWords
		if words < blockedFrom {
			words = blockedFrom
		}
	}
	return shapeOf(words, l.hashes)
}

// smallestForHashes is the smallest layer with so many hashes that keeps the rate.
func smallestForHashes(items, fpr float64, hashes uint64) (l layer, found bool) {
	keeps := func(l layer) bool { return l.expectedFPR(items) <= fpr }

	// the textbook's number, corrected by how far its rate is off, is near
	aim := fpr
	for round := 0; round < 3; round++ {
		words := textbookWords(items, aim, hashes)
		if words > maxWords {
			return l, false
		}
		l = roundToBlocks(uint64(math.Max(1, words)), hashes)
		if l.words == 1 {
			break
		}
		aim = fpr * l.textbookFPR(items) / l.expectedFPR(items)
	}

	for !keeps(l) {
		l = roundToBlocks(l.words+1, hashes)
		if l.words > maxWords {
			return l, false
		}
	}
	for l.words > 1 && keeps(nextSmaller(l)) {
		l = nextSmaller(l)
	}
	// one block does with less than several
	if single := shapeOf(blockedFrom, hashes); l.blocks > 1 && keeps(single) {
		l = single
	}
	return l, true
}

// fit is the smallest layer of all, and of equal ones that with the fewest hashes.
func fit(items, fpr float64) (smallest layer, found bool) {
	best := -math.Log2(fpr)
	first := uint64(math.Max(1, math.Min(maxHashes, math.Floor(best)-1)))

	for k := uint64(math.Min(maxHashes, math.Ceil(best)+1)); k >= first; k-- {
		if found && textbookWords(items, fpr, k) > float64(smallest.words) {
			continue
		}
		if l, fits := smallestForHashes(items, fpr, k); fits && (!found || l.words <= smallest.words) {
			smallest, found = l, true
		}
	}
	for found && smallest.hashes > 1 {
		fewer := shapeOf(smallest.words, smallest.hashes-1)
		if fewer.expectedFPR(items) > fpr {
			break
		}
		smallest = fewer
	}
	return smallest, found && headerSize+16+smallest.size() <= maxBytes
}

// firstLayer is that of a filter for so many items.
func firstLayer(capacity, fpr float64) (layer, error) {
	share := fpr * sizedShare
	if capacity <= unsizedCapacity {
		share = fpr * unsizedShare
	}
	if capacity < 1<<32 {
		if l, found := fit(capacity, share); found {
			return l, nil
		}
	}

	fits, tooMany := uint64(0), uint64(1<<32)
	for tooMany-fits > 1 {
		middle := (fits + tooMany) / 2
		if _, found := fit(float64(middle), share); found {
			fits = middle
		} else {
			tooMany = middle
		}
	}
	return layer{}, &Error{Code: "54000", Message: fmt.Sprintf("capacity of %.0f items is too large", capacity),
		Detail: fmt.Sprintf("At a false positive rate of %.6g a filter of 500 MiB, the limit, has room for %d.", fpr, fits),
		Hint:   "Accept a larger false positive rate, or keep several filters."}
}
