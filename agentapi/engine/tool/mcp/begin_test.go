package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server that answers nothing to what it does not know is not waited for.
func TestAServerThatKnowsOnlyItsOwnRequests(t *testing.T) {
	t.Parallel()
	c := connect(t, config(`{"srv":`+raw{Tools: oneTool, Silent: true}.settings(t)+`}`))
	if got, isError := call(t, c, "get", `{}`); isError || got != "[result of get]|get" {
		t.Errorf("result = %.300s", got)
	}
}

// A server of the newest protocol may know no initialize, and says so with or without the
// form of the protocol.
func TestAServerOfTheNewestProtocolAlone(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"no such method": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, id)
		},
		"bad request": func(w http.ResponseWriter, _ json.RawMessage) { http.Error(w, "Bad Request", http.StatusBadRequest) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := sdk.NewServer(&sdk.Implementation{Name: "newest", Version: "1"}, nil)
			sdk.AddTool(server, &sdk.Tool{Name: "get"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "got"}}}, nil, nil
			})
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				var asked struct {
					ID     json.RawMessage
					Method string
				}
				if json.Unmarshal(data, &asked) == nil && asked.Method == "initialize" {
					refuse(w, asked.ID)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(data))
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			c := connect(t, config(fmt.Sprintf(`{"srv":{"url":%q}}`, web.URL)))
			if got, isError := call(t, c, "get", `{}`); isError || !strings.Contains(got, "got") {
				t.Errorf("result = %.300s", got)
			}
		})
	}
}
