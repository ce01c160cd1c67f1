package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	// Hello and Page are the whole results of initialize and tools/list, where they
	// are not empty.
	Hello, Page string
	// Before is printed before the first answer and Within before that of a
	// call, both as Go writes strings. Each is printed Times times, once for 0.
	Before, Within string
	Times          int
	// First and After are printed around them, once.
	First, After string
	// Silent says that it answers nothing to a request that it does not know.
	Silent bool
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
		method, answer := r.answer(lines.Bytes())
		if method == "tools/call" {
			said(r.Within)
		}
		if answer != "" {
			_, _ = io.WriteString(out, answer+"\n")
		}
	}
}

// answer is what is said to a request, "" for nothing.
func (r raw) answer(data []byte) (method, answer string) {
	var request struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name json.RawMessage }
	}
	if err := json.Unmarshal(data, &request); err != nil {
		panic(err)
	}
	result := ""
	switch request.Method {
	case "initialize":
		if result = r.Hello; result == "" {
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		}
	case "tools/list":
		if result = r.Page; result == "" {
			result = `{"tools":` + r.Tools + `}`
		}
	case "tools/call":
		if result = r.Result; result == "" {
			result = `{"content":[{"type":"text","text":` + string(request.Params.Name) + `}]}`
		}
	}
	switch {
	case request.ID == nil, result == "" && r.Silent:
		return request.Method, ""
	case result == "":
		return request.Method, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, request.ID)
	}
	return request.Method, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
}

// serveWeb is the same server over HTTP, whose answers are JSON, or events for true.
func (r raw) serveWeb(t *testing.T, events bool) (settings string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		data, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		switch _, answer := r.answer(data); {
		case answer == "":
			w.WriteHeader(http.StatusAccepted)
		case events:
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			half := strings.Index(answer, `,"`) + 1
			fmt.Fprintf(w, ": hello\n\nevent: message\r\nid: 7\ndata: %s\ndata:%s\n\n", answer[:half], answer[half:])
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(web.Close)
	return `{"url":"` + web.URL + `"}`
}

// everyWay are the settings of the server over each transport.
func (r raw) everyWay(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"stdio": r.settings(t), "JSON": r.serveWeb(t, false), "events": r.serveWeb(t, true)}
}

func unquote(s string) string {
	text, err := strconv.Unquote(`"` + s + `"`)
	if err != nil {
		panic(err)
	}
	return text
}
