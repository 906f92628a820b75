package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

const page = `INSERT INTO exposures (user_id, item_id)
	SELECT $1, unnest(shown.take($1, $2, 2)) RETURNING item_id`

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL")) // empty: where the PG* variables lead
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)

	rows, err := conn.Query(ctx, page, 45, []int64{45001, 703, 704, 705})
	if err != nil {
		log.Fatal(err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(items) // [703, 704]
}
