package sse_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/ohgw/ohgw/internal/sse"
)

func ExampleWriter() {
	w := sse.NewWriter(os.Stdout, nil)
	fmt.Println(w.Data([]byte(`{"n":1}`)))
	// Output:
	// data: {"n":1}
	//
	// <nil>
}

func ExampleReader() {
	r := sse.NewReader(strings.NewReader("event: greeting\ndata: hello\ndata: world\n\n"), 64<<10)
	e, err := r.Next()
	fmt.Printf("%s %q %v\n", e.Name, e.Data, err)
	// Output: greeting "hello\nworld" <nil>
}
