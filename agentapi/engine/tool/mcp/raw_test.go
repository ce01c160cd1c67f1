package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
)

// raw is a server that says what no library of servers would say. It is the test
// binary, too, and reads itself from its environment.
type raw struct {
	// Tools and Result are the JSON of a list of tools and of the result of each
	// call, which is the name of the tool where it is empty.
	Tools, Result string
	// Before is printed before the first answer and Within before that of a
	// call, both as Go writes strings. Each is printed Times times, once for 0.
	Before, Within string
	Times          int
	// First and After are printed around them, once.
	First, After string
}

const asRaw = "MCP_TEST_RAW"

// settings are those of a server in mcp_config.
func (r raw) settings(t *testing.T) string {
	t.Helper()
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(stdio(t, "raw"), `"env":{`, fmt.Sprintf(`"env":{%q:%s,`, asRaw, strconv.Quote(string(data))), 1)
}

// serveRaw answers requests until its input ends.
func serveRaw(in io.Reader, out io.Writer) {
	r := raw{}
	if err := json.Unmarshal([]byte(os.Getenv(asRaw)), &r); err != nil {
		panic(err)
	}
	said := func(quoted string) {
		if quoted == "" {
			return
		}
		w := bufio.NewWriterSize(out, 64<<10)
		_, _ = w.WriteString(unquote(r.First))
		text := unquote(quoted)
		for range max(r.Times, 1) {
			_, _ = w.WriteString(text)
		}
		_, _ = w.WriteString(unquote(r.After))
		_ = w.Flush()
	}
	said(r.Before)
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var request struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name json.RawMessage }
		}
		if err := json.Unmarshal(lines.Bytes(), &request); err != nil {
			panic(err)
		}
		result := ""
		switch request.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			result = `{"tools":` + r.Tools + `}`
		case "tools/call":
			said(r.Within)
			if result = r.Result; result == "" {
				result = `{"content":[{"type":"text","text":` + string(request.Params.Name) + `}]}`
			}
		}
		switch {
		case request.ID == nil:
		case result == "":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", request.ID)
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", request.ID, result)
		}
	}
}

func unquote(s string) string {
	text, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		panic(err)
	}
	return text
}
