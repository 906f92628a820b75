package main

import (
	"database/sql"
	"fmt"
	"log"

	"github.com/lib/pq"
)

const page = `INSERT INTO exposures (user_id, item_id)
	SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id`

func main() {
	db, err := sql.Open("postgres", "sslmode=disable") // where the PG* variables lead
	if err != nil {
		log.Fatal(err)
	}
	rows, err := db.Query(page, 51, pq.Array([]int64{51001, 703, 704, 705}))
	if err != nil {
		log.Fatal(err)
	}
	var items []int64
	for rows.Next() {
		var item int64
		if err := rows.Scan(&item); err != nil {
			log.Fatal(err)
		}
		items = append(items, item)
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(items) // [703, 704]
}
