package through

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// torn is in the answer when an agent-server has read a file of its own that it was
	// just writing: its GET fails although nothing is wrong (seen with 1.43.1).
	torn = "json_invalid"
	// tornAgain is how often such a request is made again, tornPause the time before it.
	tornAgain = 10
	tornPause = 50 * time.Millisecond
	// maxTorn bounds how much of a failure is looked at, in bytes.
	maxTorn = 64 << 10
)

// untorn makes GET requests again whose answer is about a torn file.
type untorn struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (u untorn) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		resp, err := u.next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || resp.StatusCode != http.StatusInternalServerError || n == tornAgain {
			return resp, err
		}
		head, readErr := io.ReadAll(io.LimitReader(resp.Body, maxTorn))
		if readErr != nil || !bytes.Contains(head, []byte(torn)) {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
			return resp, nil //nolint:nilerr // who reads the body meets the error again
		}
		_ = resp.Body.Close() // The answer is dropped.
		select {
		case <-time.After(tornPause):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}
