package bloomexp

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// A line of the conformance set; its README.md describes it.
type line struct {
	Name       string
	Value      string
	Text       string
	Info       map[string]any
	Kind       string
	Candidates []string
	Contains   string
	Packed     *string
	Survivors  string `json:"packed_survivors"`
	Refuses    []question
	Error      *refusal
}

type question struct {
	Kind      string
	Candidate string
	Packed    *string
	Error     refusal
}

type refusal struct{ Code, Message, Detail, Hint string }

func TestConformance(t *testing.T) {
	paths := os.Getenv("CONFORMANCE")
	if paths == "" {
		paths = "../conformance/values.jsonl"
	}
	for _, path := range strings.Split(paths, ":") {
		checkSet(t, path)
	}
}

func checkSet(t *testing.T, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		t.Run(l.Name, func(t *testing.T) {
			if l.Error != nil {
				checkRefusal(t, &l)
			} else {
				checkValue(t, &l)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func unhex(text string) []byte {
	value, err := hex.DecodeString(strings.TrimPrefix(text, `\x`))
	if err != nil {
		panic(err)
	}
	return value
}

func expectRefusal(t *testing.T, err error, expected *refusal) {
	t.Helper()
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("no refusal, but %v", err)
	}
	if refusal(*got) != *expected {
		t.Errorf("%+v\ninstead of %+v", *got, *expected)
	}
}

func checkRefusal(t *testing.T, l *line) {
	_, err := ParseText(l.Value)
	expectRefusal(t, err, l.Error)
	if value, err := hex.DecodeString(strings.TrimPrefix(l.Value, `\x`)); err == nil {
		_, err = Parse(value)
		expectRefusal(t, err, l.Error)
	}
}

func checkValue(t *testing.T, l *line) {
	f, err := ParseText(l.Value)
	if err != nil {
		t.Fatal(err)
	}
	if l.Text == "" {
		l.Text = l.Value
	}
	if f.String() != l.Text {
		t.Error("the text form differs")
	}
	for _, column := range []any{l.Value, []byte(l.Text), unhex(l.Value)} {
		if err := f.Scan(column); err != nil || f.String() != l.Text {
			t.Errorf("Scan of %T: %v", column, err)
		}
	}

	checkInfo(t, f, l.Info)
	checkItems(t, f, l)
	if l.Packed != nil {
		survivors, err := f.ExcludePacked(unhex(*l.Packed))
		if err != nil || hex.EncodeToString(survivors) != strings.TrimPrefix(l.Survivors, `\x`) {
			t.Errorf("packed survivors differ: %v", err)
		}
	}
	for _, q := range l.Refuses {
		if q.Packed != nil {
			_, err = f.ExcludePacked(unhex(*q.Packed))
		} else {
			_, _, err = ask(f, q.Kind, []string{q.Candidate})
		}
		expectRefusal(t, err, &q.Error)
	}
}

// The columns of bloom_info.
func checkInfo(t *testing.T, f *Filter, expected map[string]any) {
	info := f.Info()
	got := map[string]any{"kind": nil, "items": float64(info.Items),
		"capacity": float64(info.Capacity),
		"fpr": info.FPR, "fpr_now": info.FPRNow, "bits": float64(info.Bits),
		"bits_set": float64(info.BitsSet),
		"fill": info.Fill, "layers": float64(info.Layers), "bytes": float64(info.Bytes),
		"counting":     info.Counting,
		"window_width": nil, "slices": nil, "expired_before": nil}

	if info.Kind != None {
		got["kind"] = info.Kind.String()
	}
	if info.WindowWidth > 0 {
		got["window_width"] = strconv.FormatInt(info.WindowWidth, 10)
		got["slices"] = float64(info.Slices)
	}
	if at := info.ExpiredBefore; !at.IsZero() {
		got["expired_before"] = strconv.FormatInt(
			(at.Unix()-946684800)*1e6+int64(at.Nanosecond()/1000), 10)
	}
	if now, ok := expected["fpr_now"].(float64); ok && math.Abs(info.FPRNow-now) <= 1e-8*now {
		got["fpr_now"] = now
	}
	for column := range got { // a NULL is absent
		if !reflect.DeepEqual(got[column], expected[column]) {
			t.Errorf("info: %s is %v, not %v", column, got[column], expected[column])
		}
	}
}

func checkItems(t *testing.T, f *Filter, l *line) {
	contained, survivors, err := ask(f, l.Kind, l.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	expected := []string{}
	for i, candidate := range l.Candidates {
		if l.Contains[i] == '0' {
			expected = append(expected, candidate)
		}
	}
	if contained != l.Contains {
		t.Errorf("contains %s\ninstead of %s", contained, l.Contains)
	}
	if !reflect.DeepEqual(survivors, expected) {
		t.Errorf("survivors are %v\ninstead of %v", survivors, expected)
	}
}

// The answers to candidates, and the survivors among them.
func ask(f *Filter, kind string, candidates []string) (string, []string, error) {
	switch kind {
	case "integer":
		return askItems(f, candidates, toInteger,
			func(item int64) string { return strconv.FormatInt(item, 10) })
	case "text":
		return askItems(f, candidates, toText, toText)
	case "uuid":
		return askItems(f, candidates, toUUID, func(item [16]byte) string {
			return fmt.Sprintf("%x-%x-%x-%x-%x", item[:4], item[4:6], item[6:8],
				item[8:10], item[10:])
		})
	}
	return askItems(f, candidates, unhex,
		func(item []byte) string { return `\x` + hex.EncodeToString(item) })
}

func toInteger(text string) int64 {
	item, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return item
}

func toText(text string) string { return text }

func toUUID(text string) (item [16]byte) {
	copy(item[:], unhex(strings.ReplaceAll(text, "-", "")))
	return item
}

func askItems[T Item](f *Filter, candidates []string, from func(string) T, to func(T) string) (
	string, []string, error) {
	var items []T
	contained, survivors := "", []string{}

	for _, candidate := range candidates {
		item := from(candidate)
		items = append(items, item)
		is, err := Contains(f, item)
		if err != nil {
			return "", nil, err
		}
		contained += map[bool]string{false: "0", true: "1"}[is]
	}
	kept, err := Exclude(f, items)
	for _, item := range kept {
		survivors = append(survivors, to(item))
	}
	return contained, survivors, err
}

func TestWidthsOfIntegers(t *testing.T) {
	f, _ := ParseText(`\x01010100000000007b14ae47e17a843f020000140a0000000100000005000000` +
		`00000000120202000000000000008000`) // holds 42
	a, _ := Exclude(f, []int{41, 42, -43})
	b, _ := Exclude(f, []int16{41, 42, -43})
	c, _ := Exclude(f, []int32{41, 42, -43})
	if fmt.Sprint(a, b, c) != "[41 -43] [41 -43] [41 -43]" {
		t.Error(a, b, c)
	}
}

func TestTextFormAsBytes(t *testing.T) {
	_, err := Parse([]byte(`\x0101`))
	expectRefusal(t, err, &refusal{Code: "22P03", Message: "invalid bytes for type bloom",
		Detail: "These bytes are the text form of a filter, not its binary form.",
		Hint:   "Decode them: ParseText(string(value)), or select the column as bytea."})
}

// A valid value of 2 MB with 4,095 layers: an item is tested against each of them once.
func TestHostile(t *testing.T) {
	const layers = 4095
	var items [1000]int

	value := make([]byte, headerSize+layers*(16+512))
	value[0], value[1] = version, byte(Integer)
	binary.LittleEndian.PutUint16(value[2:], layers)
	binary.LittleEndian.PutUint64(value[8:], math.Float64bits(0.9))
	for i := 0; i < layers; i++ {
		for j, field := range []uint32{64 | 63<<wordsBits, 200, 199, 1} {
			binary.LittleEndian.PutUint32(value[headerSize+16*i+4*j:], field)
		}
		value[headerSize+16*layers+512*i] = 1
	}
	f, err := Parse(value)
	if err != nil {
		t.Fatal(err)
	}
	for i := range items {
		items[i] = i
	}
	if survivors, err := Exclude(f, items[:]); err != nil || len(survivors) != len(items) {
		t.Error(len(survivors), err)
	}
	if info := f.Info(); info.Layers != layers || info.Items != 199*layers {
		t.Error(info)
	}
}

func TestNull(t *testing.T) {
	var f Filter

	if err := f.Scan(nil); err != nil {
		t.Fatal(err)
	}
	if survivors, err := Exclude(&f, []string{"a", "a"}); len(survivors) != 2 || err != nil {
		t.Error(survivors, err)
	}
	if f.Scan(1) == nil {
		t.Error("a number was read as a filter")
	}
}
