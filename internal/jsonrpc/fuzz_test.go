package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/jsonrpc"
)

// FuzzMessages sends any bytes. Whatever they are, all that comes back is JSON
// in lines, and the connection ends with its input.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}`, `{"jsonrpc":"2.0","id":"1","method":"nothing"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, `[]`, `{"id":{}}`, "\n\n\x00", `{"jsonrpc":"2.0","id":1e400,"method":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.Contains(input, []byte("wait")) {
			t.Skip() // that one waits for its end
		}
		var out bytes.Buffer
		c := jsonrpc.New(&out, slog.New(slog.DiscardHandler))
		c.Max = 1 << 10
		if err := c.Serve(context.Background(), bytes.NewReader(input), handler{make(chan string, 1), make(chan string, len(input)+1)}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Errorf("line = %q", line)
			}
		}
	})
}
