package daemon_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/native/through"
)

// answering is OpenHands' own API as one function.
type answering struct {
	native

	answer http.HandlerFunc
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.answer(w, r) }

func ownAPI(n daemon.Native) func(*daemon.Config) {
	return func(c *daemon.Config) { c.Native, c.Tokens = n, nativeTokens{} }
}

// TestTheEndOfABodyIsSeenAfterTheAnswer: a transport that passes a body on looks once
// more for its end, perhaps when the answer is there already.
func TestTheEndOfABodyIsSeenAfterTheAnswer(t *testing.T) {
	t.Parallel()
	const body = `{"a":1}`
	seen := make(chan error, 1)
	g := serve(t, daemontest.New(), ownAPI(&answering{answer: func(w http.ResponseWriter, r *http.Request) {
		_, err := io.CopyN(io.Discard, r.Body, int64(len(body)))
		_, writeErr := io.WriteString(w, "answer")
		_, end := r.Body.Read(make([]byte, 1))
		seen <- errors.Join(err, writeErr, http.NewResponseController(w).Flush(), end)
		if _, end = r.Body.Read(make([]byte, 1)); !errors.Is(end, io.EOF) {
			t.Errorf("after the answer: %v, want %v", end, io.EOF)
		}
	}}))
	got := g.do("PATCH", "/api/settings", body, "Authorization", "Bearer "+nativeKey)
	if got.status != http.StatusOK || got.body != "answer" || got.close || got.err != nil {
		t.Errorf("%+v", got)
	}
	if err := <-seen; !errors.Is(err, io.EOF) {
		t.Errorf("at the answer: %v, want %v", err, io.EOF)
	}
}

// TestAnAgentServerMayAnswerBeforeItHasTheBody: the rest still reaches it, and the
// answer is not cut off.
func TestAnAgentServerMayAnswerBeforeItHasTheBody(t *testing.T) {
	t.Parallel()
	const first, rest = 10_000, 90_000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		w.WriteHeader(http.StatusNotFound)
		if err := errors.Join(control.EnableFullDuplex(), control.Flush()); err != nil {
			t.Error(err)
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, strconv.FormatInt(n, 10))
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, daemontest.New(), ownAPI(through.New(through.Config{
		Base: base, Key: func() string { return "" }, Transport: &http.Transport{DisableKeepAlives: true},
	})))
	for _, length := range []int64{first + rest, -1} {
		from, to := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/api/nowhere", from)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		r.Header.Set("Authorization", "Bearer "+nativeKey)
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(to, strings.Repeat("a", first))
			sent <- err
		}()
		resp, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		err = <-sent // The answer may be there first, and the rest must not overtake it.
		_, restErr := io.WriteString(to, strings.Repeat("b", rest))
		err = errors.Join(err, restErr, to.Close())
		answer, readErr := io.ReadAll(resp.Body)
		if err := errors.Join(err, readErr, resp.Body.Close()); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != http.StatusNotFound || string(answer) != strconv.Itoa(first+rest) {
			t.Errorf("length %d: %d %q", length, resp.StatusCode, answer)
		}
	}
}
