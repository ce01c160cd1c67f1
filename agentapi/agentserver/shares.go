package agentserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"time"
)

// How long it is known whether the server shares our files. A server can be
// replaced by one in a container; one that was not ready may be so soon.
const (
	sharedAge   = 10 * time.Minute
	unsharedAge = 10 * time.Second
)

// sharesFiles reports whether the server reads the files of this machine, as the
// user of this process. The address does not tell: a port of this machine may
// lead into a container.
func (b *Backend) sharesFiles(ctx context.Context) bool {
	if b.scratch == "" {
		return false
	}
	b.mu.Lock()
	shared, until := b.shared, b.sharedUntil
	b.mu.Unlock()
	if b.now().Before(until) {
		return shared
	}
	shared = b.readsScratch(ctx)
	age := unsharedAge
	if shared {
		age = sharedAge
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared, b.sharedUntil = shared, b.now().Add(age)
	return shared
}

// readsScratch reports whether the server can read a file that was just written
// on this machine, for the user only.
func (b *Backend) readsScratch(ctx context.Context) bool {
	f, err := os.CreateTemp(b.scratch, "shared-*.json") // with mode 0600
	if err != nil {
		b.log.Warn("cannot find out whether the agent-server shares the files of this machine", "err", err)
		return false
	}
	defer os.Remove(f.Name())
	want := rand.Text()
	data, _ := json.Marshal(want) // a string
	_, err = f.Write(data)
	if closing := f.Close(); err != nil || closing != nil {
		return false
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var got string
	_, err = b.client.do(limited, request{method: http.MethodGet, path: "/api/file/download", query: url.Values{"path": {f.Name()}}, out: &got})
	return err == nil && got == want
}
