package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
)

const page = `INSERT INTO exposures (user_id, item_id, shown_at)
	SELECT $1::bigint, item_id, now() FROM unnest(bloom_take('seen', $1::bigint, $2::bigint[], 2)) AS item_id
	RETURNING item_id`

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL")) // empty: where the PG* variables lead
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)

	rows, err := conn.Query(ctx, page, int64(45), []int64{45001, 703, 704, 705})
	if err != nil {
		log.Fatal(err)
	}
	items, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(items)
}
