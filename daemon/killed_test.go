package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/llm/wire/providertest"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/internal/testkit/crashtest"
)

// asking is a request of a client's history.
type asking struct{ path, body, key, message string }

// reply is what a client got, whatever the API.
type reply struct {
	status     int
	code, text string
}

// readReply reads a whole answer. One that was cut off is an error.
func readReply(res *http.Response) (reply, error) {
	data, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return reply{}, err
	}
	out := reply{status: res.StatusCode}
	lines, complete := []string{string(data)}, true
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		lines, complete = nil, false
		for line := range strings.Lines(string(data)) {
			if payload, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && payload != "[DONE]" {
				lines = append(lines, payload)
			} else if ok {
				complete = true
			}
		}
	}
	for _, line := range lines {
		var part struct {
			Error   *struct{ Code string }
			Choices []struct {
				Delta, Message struct{ Content string }
			}
			Output []struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(line), &part); err != nil {
			return reply{}, fmt.Errorf("%q: %w", line, err)
		}
		if part.Error != nil {
			out.code, complete = part.Error.Code, true
		}
		for _, c := range part.Choices {
			out.text += c.Delta.Content + c.Message.Content
		}
		for _, o := range part.Output {
			for _, c := range o.Content {
				out.text += c.Text
			}
		}
	}
	if !complete {
		return reply{}, io.ErrUnexpectedEOF
	}
	return out, nil
}

// history is what a client asks, by the seed: the APIs, with streams and without.
func history(rng *rand.Rand) []asking {
	var out []asking
	for i := range 2 + rng.IntN(2) {
		q := asking{path: "/v1/chat/completions", key: "key-" + strconv.Itoa(i), message: "message " + strconv.Itoa(i) + "."}
		messages := `"messages":[{"role":"user","content":"` + q.message + `"}]`
		switch rng.IntN(3) {
		case 0:
			q.body = `{"model":"openhands_default",` + messages + `}`
		case 1:
			q.body = `{"model":"openhands_default","stream":true,` + messages + `}`
		default:
			q.path, q.body = "/v1/responses", `{"model":"openhands_default","input":"`+q.message+`"}`
		}
		out = append(out, q)
	}
	return out
}

// left is what a killed gateway leaves, and what its client had by then.
type left struct {
	dir, call string
	seen      map[string]reply // by key
}

// life is one gateway that is traced while a client asks its history.
type life struct {
	t       *testing.T
	seed    uint64
	adapter providertest.Adapter
	history []asking
	every   int // of so many changes, one is looked at
	rng     *rand.Rand
	changes int
	left    []left

	mu   sync.Mutex
	seen map[string]reply
}

// run lives the life, and keeps what a kill after each change of a file leaves.
func (l *life) run() {
	l.t.Helper()
	self, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	p := &providertest.Provider{Adapter: l.adapter, Answers: answers(l.adapter, l.seed)}
	address := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/address" {
			data, _ := io.ReadAll(r.Body)
			address <- string(data)
			return
		}
		res, err := p.RoundTrip(r)
		if err != nil {
			return // the gateway was killed
		}
		w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
		_, _ = io.Copy(w, res.Body) // likewise
	}))
	defer server.Close()
	dir := filepath.Join(l.t.TempDir(), "live")
	config, err := json.Marshal(childConfig{Dir: dir, Model: l.adapter.Model, URL: server.URL})
	if err != nil {
		l.t.Fatal(err)
	}
	var client sync.WaitGroup
	defer client.Wait()
	env := append(os.Environ(), childVariable+"="+string(config))
	err = crashtest.Trace([]string{self}, env, func(pid int) {
		client.Go(func() {
			defer kill(pid)
			l.talk("http://" + <-address)
		})
	}, func(call string) { l.keep(dir, call) })
	if err != nil {
		l.t.Errorf("trace: %v", err)
	}
	for _, body := range p.Requests() {
		providertest.Fits(l.t, l.adapter.Name, body)
	}
}

// talk asks the whole history.
func (l *life) talk(base string) {
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for _, q := range l.history {
		got, err := askOnce(l.t.Context(), c, base, q)
		if err != nil {
			l.t.Errorf("%s: %v", q.message, err)
			return
		}
		l.mu.Lock()
		l.seen[q.key] = got
		l.mu.Unlock()
	}
}

// keep copies the directory as it is now, if this change is one that is looked at.
func (l *life) keep(dir, call string) {
	l.changes++
	if l.rng.IntN(l.every) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]reply{}
	for k, v := range l.seen {
		seen[k] = v
	}
	to := filepath.Join(filepath.Dir(dir), strconv.Itoa(l.changes))
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		l.t.Errorf("copy: %v", err)
	}
	l.left = append(l.left, left{dir: to, call: call + " " + strconv.Itoa(l.changes), seen: seen})
}

// goesOn starts a gateway over what was left. Its client asks again all that it had
// asked, and then something else.
func (l *life) goesOn(t *testing.T, at left) {
	p := &providertest.Provider{Adapter: l.adapter}
	p.Answers = func(_ int, body []byte) (int, string, []byte) {
		return http.StatusOK, l.adapter.Kind, l.adapter.Frames(answerTo(l.adapter, body))
	}
	before := turns(t, at.dir)
	backend, d, err := embedded(at.dir, l.adapter.Model, 2, p)
	if err != nil {
		t.Fatal(err)
	}
	ln := apitest.NewPipes()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- d.Serve(ctx, ln) }()
	c := &http.Client{Transport: &http.Transport{DialContext: ln.Dial}}
	defer func() {
		c.CloseIdleConnections()
		if err := end(cancel, served, d, backend); err != nil {
			t.Error(err)
		}
	}()
	first := map[string]reply{}
	last := asking{path: "/v1/chat/completions", key: "key-last", message: "message 9.", body: `{"model":"openhands_default","messages":[{"role":"user","content":"message 9."}]}`}
	for _, q := range slices.Concat(l.history, []asking{last}, l.history) {
		got, err := askOnce(t.Context(), c, "http://localhost", q)
		if err != nil {
			t.Fatalf("%s: %v", q.message, err)
		}
		log := turns(t, at.dir)
		said, isThere := log[q.message]
		seen, wasSeen := at.seen[q.key]
		if again, asked := first[q.key]; asked && again != got {
			t.Errorf("%s is answered %+v, then %+v", q.message, again, got)
		}
		first[q.key] = got
		_, wasThere := before[q.message]
		switch {
		case wasSeen && seen != got:
			t.Errorf("%s was answered %+v before the kill, and %+v after it", q.message, seen, got)
		case wasSeen && !isThere:
			t.Errorf("%s was answered, and is lost", q.message)
		case got.status == http.StatusOK && got.code == "" && (!isThere || len(said) == 0 || strings.TrimSpace(said[len(said)-1]) != strings.TrimSpace(got.text)):
			t.Errorf("%s is answered %q; the log has %q", q.message, got.text, said)
		case !wasSeen && !wasThere && got.code == "" && got.text != "Done with "+strings.TrimSuffix(q.message, ".")+".":
			t.Errorf("%s is answered %+v", q.message, got)
		case got.status != http.StatusOK && got.status != http.StatusInternalServerError && got.status != http.StatusBadGateway:
			t.Errorf("%s is answered %+v", q.message, got)
		}
	}
	if first[last.key].text != "Done with message 9." {
		t.Errorf("the next message is answered %+v", first[last.key])
	}
	for _, body := range p.Requests() {
		providertest.Fits(t, l.adapter.Name, body)
	}
}

// The test reads these from the environment.
const (
	killsEvery = "OHGW_TEST_KILLS_EVERY" // of so many changes of files, the process is killed after one; 1: after each
	killsSeed  = "OHGW_TEST_KILLS_SEED"
)

// number is a number in the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestKilledAtAnyChangeOfAFile has a provider that answers odd bytes, by all adapters,
// and clients of both APIs. The gateway is killed after each call that changes a file,
// from its start to the end of the last turn, and started again: every request to the
// provider is valid, each message is in the log once, what was answered is answered
// again, and no answer is of a run that was not.
func TestKilledAtAnyChangeOfAFile(t *testing.T) {
	t.Parallel()
	if !crashtest.Available {
		t.Skip("programs are traced on Linux and amd64 only")
	}
	seed, every := number(t, killsSeed, 1), number(t, killsEvery, 20)
	var kills, changes int
	for i, a := range providertest.Adapters() {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		l := &life{t: t, seed: rng.Uint64(), adapter: a, history: history(rng), every: int(max(every, 1)), rng: rng, seen: map[string]reply{}}
		l.run()
		changes += l.changes
		kills += len(l.left)
		for _, at := range l.left {
			t.Run(a.Name+", "+at.call, func(t *testing.T) { l.goesOn(t, at) })
		}
	}
	t.Logf("%s=%d %s=%d: killed after %d of %d changes of files", killsSeed, seed, killsEvery, every, kills, changes)
	if kills == 0 {
		t.Error("nothing was killed")
	}
}

// kill ends a process as kill -9 does.
func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // It may have ended.
	}
}
