package mcp_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// What a server prints between its messages costs neither the server nor a call.
func TestLinesThatAreNoMessagesAreSkipped(t *testing.T) {
	t.Parallel()
	const quoted = `{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}`
	for name, test := range map[string]struct {
		printed string
		times   int
		logged  string // "" for nothing
	}{
		"a greeting":              {`Server running on stdio\n`, 0, "Server running on stdio"},
		"colours":                 {`\x1b[32m✔ ready\x1b[0m\n`, 0, "ready"},
		"colours before":          {`\x1b[0m\x1b[?25h`, 0, ""},
		"Latin-1":                 {`d\xe9marr\xe9\n`, 0, "d?marr?"},
		"a byte order mark":       {`\xef\xbb\xbf`, 0, ""},
		"a list":                  {`[1]\n`, 0, "[1]"},
		"an empty list":           {`[]\n`, 0, "[]"},
		"a number":                {`42\n`, 0, "42"},
		"null":                    {`null\n`, 0, "null"},
		"a log in JSON":           {`{\"level\":\"info\",\"msg\":\"up\"}\n`, 0, `\"level\":\"info\"`},
		"a log that quotes":       {`-> ` + quoted + `\n`, 0, "-> {"},
		"a log in JSON, quoting":  {`{\"sent\":` + quoted + `}\n`, 0, `{\"sent\"`},
		"half a line of JSON":     {`{\"jsonrpc\":\"2.0\",\"method\":\n`, 0, `\"method\":`},
		"a message of no version": {`{\"id\":1,\"result\":{}}\n`, 0, `\"result\"`},
		"a message of no method":  {`{\"jsonrpc\":\"2.0\"}\n`, 0, `jsonrpc`},
		"an odd id":               {`{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}\n`, 0, `jsonrpc`},
		"braces":                  {`{ not JSON\n  {}\n}\n`, 0, "{ not JSON"},
		"progress":                {`10%\r50%\r100%\r`, 0, "100%"},
		"CRLF and blank lines":    {`\r\n \t\r\n\n`, 0, ""},
		"a secret":                {`key hunter2-hunter2\n`, 0, "key <secret-hidden>"},
		"10 MB in a line":         {strings.Repeat("x", 100), 100_000, ""},
		"2 MB in lines":           {strings.Repeat("x", 99) + `\n`, 20_000, "xxx"},
		"a notification, in two":  {`{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/message\",\n  \"params\": {\"level\": \"info\", \"data\": [\n    {},\n    7\n  ]}\n}\n`, 0, ""},
		"a batch":                 {`[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"},{\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"}]\n`, 0, ""},
		"two messages in a line":  {`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} {\"jsonrpc\":\"2.0\",\"method\":\"notifications/y\"} \x00\n`, 0, ""},
		"words behind a message":  {`{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} sent\n`, 0, "sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []raw{{Before: test.printed}, {Within: test.printed}} {
				if name == "10 MB in a line" { // it ends with a line, not with a message
					r.After = `\n`
				}
				r.Tools, r.Times = oneTool, test.times
				log := &buffer{}
				cfg := config(`{"srv":` + r.settings(t) + `}`)
				cfg.Log = slog.New(slog.NewTextHandler(log, nil))
				c := connect(t, cfg)
				if got, isError := call(t, c, "get", `{}`); isError || got != "[result of get]|get" {
					t.Fatalf("result = %.300s", got)
				}
				said := c.Status()[0].Reason
				if skipped := test.logged != "" || test.times > 0; strings.Contains(said, "are skipped") != skipped || !skipped && log.String() != "" {
					t.Errorf("the status says %q, the log %.300q", said, log)
				}
				if test.logged != "" && !strings.Contains(unquoted(log.String()), unquoted(test.logged)) || strings.Contains(log.String(), "hunter2") {
					t.Errorf("the log says %.300q, not %q", log, test.logged)
				}
				if n := strings.Count(log.String(), "\n"); n > 5 || log.text.Len() > 5*500 {
					t.Errorf("the log has %d lines", n)
				}
			}
		})
	}
}

func unquoted(s string) string { return strings.ReplaceAll(s, `\`, "") }

func TestAMessageThatIsTooLongEndsItsCall(t *testing.T) {
	t.Parallel()
	r := raw{Tools: oneTool, First: `{\"jsonrpc\":\"2.0\",\"method\":\"`, Within: strings.Repeat("y", 100), Times: 200_000}
	c := connect(t, config(`{"srv":`+r.settings(t)+`}`))
	if got, isError := call(t, c, "get", `{}`); !isError || strings.Contains(got, "no answer within") {
		t.Errorf("result = %.300s", got)
	}
}
