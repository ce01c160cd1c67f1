package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ohgw/ohgw/internal/pattern"
)

// remote sends requests to a server: with the server's headers, which no other gets
// that it sends us to. It notes when the server has lost the session.
type remote struct {
	base         http.RoundTripper
	host, scheme string
	set          http.Header
	forgotten    atomic.Bool
}

// RoundTrip makes one request.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == r.host && req.URL.Scheme == r.scheme {
		req = req.Clone(req.Context())
		for name, values := range r.set {
			req.Header[name] = values
		}
	}
	resp, err := r.roundTrip(req)
	if err == nil {
		readableBody(resp)
	}
	return resp, err
}

func (r *remote) roundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodPost {
		return r.base.RoundTrip(req)
	}
	a, _ := req.Context().Value(attemptKey{}).(*attempt)
	if a != nil {
		a.sent.Store(true)
	}
	resp, err := r.base.RoundTrip(req)
	if err == nil && req.Header.Get("Mcp-Session-Id") != "" && forgets(resp) {
		r.forgotten.Store(true)
		if a != nil {
			a.refused.Store(true)
		}
	}
	return resp, err
}

// maxRefusal is how much of an answer is read for its reason.
const maxRefusal = 64 << 10

// ofSession are the words of servers that do not know a session, or that wait for
// the first message of one.
var ofSession = pattern.Of(`(?i)session|not initialized`)

// forgets reports whether an answer says that the server does not know the session,
// so that it did nothing. The specification has 404 for that. Many servers answer
// 400, which can have other reasons.
func forgets(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNotFound:
		return true
	case http.StatusBadRequest:
	default:
		return false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	if err != nil || !ofSession().Match(body) {
		return false
	}
	var answer struct{ Error struct{ Code int } }
	return json.Unmarshal(body, &answer) != nil || answer.Error.Code != codeInvalidParams
}

// codeInvalidParams is of a call that the server has read.
const codeInvalidParams = -32602

// attempt is one try of a call over HTTP.
type attempt struct{ sent, refused atomic.Bool }

type attemptKey struct{}

func (a *attempt) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// unheard reports whether the server did not take a call that failed.
func (a *attempt) unheard(err error) bool {
	if a.refused.Load() {
		return true
	}
	return !a.sent.Load() && (errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing))
}

// renew lets go of a session that the server does not know any more, so that the
// next call begins another. It reports false for a program, whose calls leave no
// sign of whether they were heard.
func (c *connection) renew(session *sdk.ClientSession) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.http == nil {
		return false
	}
	if c.session == session {
		c.end()
	}
	return true
}
