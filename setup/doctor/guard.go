package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// foreign is a name that no daemon allows: RFC 2606 keeps it from everybody.
const foreign = "ohgw-doctor.invalid"

// checkGuard really tries what a web page in a browser of this machine could.
func checkGuard(ctx context.Context, w *World) Result {
	g, err := w.Gateway(ctx)
	if err != nil {
		if b, failed := w.Backend(ctx); failed != nil || b.Err != nil {
			return skip("not checked: fix backend first")
		}
		return failed(err)
	}
	r := fine("requests with other host names, from web pages or without a key are refused")
	if g.Temporary {
		r.Text += " (checked with a gateway in this process, since none is running)"
	}
	attempts := []struct {
		what   string
		change func(*http.Request)
		want   int
		repair string
	}{
		{
			"a request with another host name", func(q *http.Request) { q.Host = foreign }, http.StatusForbidden,
			"remove the proxy that rewrites the Host header in front of ohgw",
		},
		{
			"a request from a web page", func(q *http.Request) { q.Header.Set("Origin", "https://"+foreign) }, http.StatusForbidden,
			"remove the proxy that rewrites the Origin header in front of ohgw",
		},
		{
			"a request without a key", func(q *http.Request) { q.Header.Del("Authorization") }, http.StatusUnauthorized,
			"start ohgw serve without --no-auth",
		},
	}
	for _, a := range attempts {
		status, err := w.knock(ctx, g, a.change)
		switch {
		case err != nil:
			return r.fail("the gateway at "+g.URL+" does not answer", err.Error(), "ohgw status")
		case status == a.want:
		case status == http.StatusOK && a.want == http.StatusUnauthorized && g.Key == "":
			r = r.warn("every program on this machine can run commands as you", "no API key is required", a.repair)
		default:
			r = r.fail(fmt.Sprintf("%s got %d, not %d", a.what, status, a.want), "a web page could use your agents", a.repair)
		}
	}
	if status, err := w.knock(ctx, g, func(*http.Request) {}); err == nil && status == http.StatusForbidden {
		r = r.fail("a valid request was refused", fmt.Sprintf("status %d", status), "ohgw status")
	}
	return r
}

// knock asks for the models and gives the status of the answer.
func (w *World) knock(ctx context.Context, g Gateway, change func(*http.Request)) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+"/v1/models", http.NoBody)
	if err != nil {
		return 0, err
	}
	if g.Key != "" {
		req.Header.Set("Authorization", "Bearer "+g.Key)
	}
	change(req)
	resp, err := w.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, err
}
