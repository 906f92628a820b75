package bloomexp_test

import (
	"errors"
	"fmt"
	"log"

	"bloomexp"
)

// What bloom_add(bloom_new(1), 42) makes.
const value = `\x01010100000000007b14ae47e17a843f010000080100000001000000020000000000000208000000`

func ExampleExclude() {
	seen, err := bloomexp.ParseText(value)
	if err != nil {
		log.Fatal(err)
	}
	fresh, err := bloomexp.Exclude(seen, []int64{704, 42, 703, 704})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fresh)
	// Output: [704 703 704]
}

func ExampleError() {
	seen, err := bloomexp.ParseText(value)
	if err != nil {
		log.Fatal(err)
	}
	_, err = bloomexp.Contains(seen, "42")
	var refused *bloomexp.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Message)
	}
	// Output: 42804 filter holds integer items, not text
}
