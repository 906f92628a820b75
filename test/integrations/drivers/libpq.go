// Runs the statements of drivers.pl by lib/pq; python.py describes input and
// output.

package main

import (
	"bufio"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lib/pq"
)

func integer(text string) int64 {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(err)
	}
	return number
}

func parameters(how, user, list string) []interface{} {
	items := []string{}
	if list != "" {
		items = strings.Split(list, ",")
	}
	switch how {
	case "integer":
		return []interface{}{integer(user), integer(list)}
	case "integers":
		numbers := []int64{}
		for _, item := range items {
			numbers = append(numbers, integer(item))
		}
		return []interface{}{integer(user), pq.Array(numbers)}
	case "uuid", "string", "joined":
		return []interface{}{user, list}
	case "literal":
		return []interface{}{user, "{" + list + "}"}
	}
	return []interface{}{user, pq.Array(items)}
}

func run(db *sql.DB, statement string, values []interface{}) (string, error) {
	if !strings.HasPrefix(statement, "SELECT") {
		_, err := db.Exec(statement, values...)
		return "", err
	}
	var array pq.StringArray
	err := db.QueryRow(statement, values...).Scan(&array)
	return strings.Join(array, ","), err
}

func main() {
	db, err := sql.Open("postgres", "sslmode=disable")
	if err != nil {
		panic(err)
	}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		field := strings.Split(input.Text(), "\t")
		array, err := run(db, field[0], parameters(field[1], field[2], field[3]))
		if known, ok := err.(*pq.Error); ok {
			fmt.Printf("error\t%s\t%s\n", known.Code, known.Message)
		} else if err != nil {
			fmt.Printf("error\t\t%v\n", err)
		} else {
			fmt.Printf("ok\t%s\n", array)
		}
	}
}
