// The reader beside a server, by lib/pq: "live" compares survivors with the server's,
// "speed" measures.  The PG* variables say where the server is.
package main

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"reflect"
	"sort"
	"time"

	"bloomexp"

	"github.com/lib/pq"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func scan(row *sql.Row, columns ...any) {
	if err := row.Scan(columns...); err != nil {
		log.Fatal(err)
	}
}

// same reports whether the server has the same survivors as the reader.
func same[T bloomexp.Item](f *bloomexp.Filter, candidates, survivors []T) bool {
	fresh := must(bloomexp.Exclude(f, candidates))
	return len(fresh) == len(survivors) && (len(fresh) == 0 || reflect.DeepEqual(fresh, survivors))
}

// uuids are read as bytea.
func uuids(arrays ...[][]byte) (items [][][16]byte) {
	for _, array := range arrays {
		some := make([][16]byte, len(array))
		for i := range array {
			copy(some[i][:], array[i])
		}
		items = append(items, some)
	}
	return items
}

// agrees compares the survivors of 2,000 candidates.
func agrees(db *sql.DB, user int64, kind string, f *bloomexp.Filter) bool {
	ask := func(candidate, form string, candidates, survivors any) {
		array := "ARRAY(SELECT " + form +
			" FROM unnest(%s) WITH ORDINALITY u (item, at) ORDER BY at)"
		scan(db.QueryRow("SELECT "+fmt.Sprintf(array, "candidates")+", "+
			fmt.Sprintf(array, "candidates - items")+
			" FROM seen, (SELECT array_agg("+candidate+
			") FROM generate_series(1::bigint, 2000) i) c (candidates) WHERE user_id = $1", user),
			candidates, survivors)
	}

	switch kind {
	case "text":
		var candidates, survivors pq.StringArray
		ask("i::text", "item", &candidates, &survivors)
		return same(f, []string(candidates), survivors)
	case "uuid":
		var candidates, survivors pq.ByteaArray
		ask("md5(i::text)::uuid", "uuid_send(item)", &candidates, &survivors)
		items := uuids(candidates, survivors)
		return same(f, items[0], items[1])
	case "bytea":
		var candidates, survivors pq.ByteaArray
		ask("int8send(i)", "item", &candidates, &survivors)
		return same(f, [][]byte(candidates), survivors)
	}
	var candidates, survivors pq.Int64Array
	ask("i", "item", &candidates, &survivors)
	return same(f, []int64(candidates), survivors)
}

// live asks for each filter of the table "seen", by its text form and its bytes.
func live(db *sql.DB) (failed int) {
	rows := must(db.Query("SELECT user_id, note, (bloom_info(items)).kind, items, items::bytea" +
		" FROM seen WHERE items IS NOT NULL"))
	passed := 0

	for rows.Next() {
		var user int64
		var note string
		var kind sql.NullString
		var text, value bloomexp.Filter
		if err := rows.Scan(&user, &note, &kind, &text, &value); err != nil {
			log.Fatal(err)
		}
		if agrees(db, user, kind.String, &text) && agrees(db, user, kind.String, &value) {
			passed++
		} else {
			failed++
			fmt.Println("other survivors than the server's:", note)
		}
	}
	if rows.Err() != nil {
		log.Fatal(rows.Err())
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if passed == 0 {
		failed++
	}
	return failed
}

// median prints the median of many calls' microseconds.
func median(what string, call func()) {
	times := make([]float64, 2000)

	for i := range times {
		start := time.Now()
		call()
		times[i] = float64(time.Since(start).Nanoseconds()) / 1000
	}
	sort.Float64s(times)
	fmt.Printf("%s\t%.1f\n", what, times[len(times)/2])
}

// excludePacked sends the candidates instead.
func excludePacked(statement *sql.Stmt, candidates []int64) []int64 {
	packed := make([]byte, 8*len(candidates))
	for i, item := range candidates {
		binary.LittleEndian.PutUint64(packed[8*i:], uint64(item))
	}
	var answer sql.RawBytes
	rows := must(statement.Query(packed, 42))
	rows.Next()
	if err := rows.Scan(&answer); err != nil {
		log.Fatal(err)
	}
	survivors := make([]int64, len(answer)/8)
	for i := range survivors {
		survivors[i] = int64(binary.LittleEndian.Uint64(answer[8*i:]))
	}
	rows.Close()
	return survivors
}

// speed measures what a feed does, for user 42 of bench/outside.
func speed(db *sql.DB) {
	var value []byte
	var candidates pq.Int64Array
	var seen bloomexp.Filter

	scan(db.QueryRow("SELECT items::bytea, candidates FROM seen WHERE user_id = 42"),
		&value, &candidates)
	filter := must(bloomexp.Parse(value))
	fetch := must(db.Prepare("SELECT items::bytea FROM seen WHERE user_id = $1"))
	send := must(db.Prepare(
		"SELECT bloom_exclude_packed($1, (SELECT items FROM seen WHERE user_id = $2))"))
	if !same(filter, candidates, excludePacked(send, candidates)) {
		log.Fatal("other survivors than the server's")
	}
	median("parse", func() { must(bloomexp.Parse(value)) })
	median("exclude", func() { must(bloomexp.Exclude(filter, []int64(candidates))) })
	median("fetch and parse", func() { scan(fetch.QueryRow(42), &seen) })
	median("packed", func() { excludePacked(send, candidates) })
}

func main() {
	db := must(sql.Open("postgres", "binary_parameters=yes"))
	db.SetMaxOpenConns(2)
	if os.Args[1] == "speed" {
		speed(db)
	} else if live(db) > 0 {
		os.Exit(1)
	}
}
