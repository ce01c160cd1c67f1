package gateway_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/gateway"
)

func TestRefusalsOfTheSandboxAreRead(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	const block = `{"access":"net","target":"api.example:443","why":"not listed","allow":"net api.example","held":true}`
	n.handle(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, `data: {"choices":[{"delta":{"role":"assistant"}}]}`+"\n\n"+
			`data: {"choices":[{"delta":{"reasoning_content":"sandbox: refused api.example:443\n"}}],"ohgw":{"sandbox":`+block+`}}`+"\n\n"+
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"ohgw":{"run_status":"finished","sandbox_blocked":[`+block+`]}}`+"\n\ndata: [DONE]\n\n")
	})
	want := gateway.Block{Access: "net", Target: "api.example:443", Why: "not listed", Allow: "net api.example", Held: true}
	var came []gateway.Block
	var lines int
	for p, err := range n.client(t).Ask(t.Context(), gateway.Question{Text: "go", Details: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := p.(type) {
		case gateway.Block:
			came = append(came, p)
		case gateway.Progress:
			lines++
		case gateway.Done:
			came = append(came, p.Blocked...)
		}
	}
	if diff := cmp.Diff([]gateway.Block{want, want}, came); diff != "" || lines != 0 {
		t.Errorf("%d lines; (-want +got):\n%s", lines, diff)
	}
}

func TestTheGuardAsksAndDecides(t *testing.T) {
	t.Parallel()
	n := newNetwork()
	var asked []string
	n.handle(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.EscapedPath()+" "+r.Header.Get("Content-Type")+" "+string(body))
		answer := `{"id":"c/1","object":"conversation.sandbox.grant"}`
		switch {
		case r.Method == http.MethodGet:
			answer = `{"status":"ok","sandbox":{"level":"reduced","reason":"why","fix":"do","landlock":7,"open":["net @packages"]}}`
		case len(asked) == 3:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			answer = `{"error":{"message":"This key may not.","code":"forbidden"}}`
		}
		_, _ = io.WriteString(w, answer)
	})
	c := n.client(t)
	found, err := c.Sandbox(t.Context())
	if diff := cmp.Diff(gateway.Sandbox{Level: "reduced", Reason: "why", Fix: "do", Open: []string{"net @packages"}}, found); err != nil || diff != "" {
		t.Errorf("the sandbox: %v (-want +got):\n%s", err, diff)
	}
	grant := func(ctx context.Context) error {
		return c.Grant(ctx, "c/1", gateway.Block{Access: "write", Target: "/srv/a b"}, gateway.GrantWorkspace)
	}
	if err := grant(t.Context()); err != nil {
		t.Error(err)
	}
	if e := wantError(t, grant(t.Context()), gateway.Refused); e.Message != "This key may not." || !gateway.IsForOthers(e) {
		t.Errorf("message = %q", e.Message)
	}
	const post = `POST /v1/conversations/c%2F1/sandbox/grants application/json {"access":"write","scope":"workspace","target":"/srv/a b"}`
	if diff := cmp.Diff([]string{"GET /healthz  ", post, post}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
