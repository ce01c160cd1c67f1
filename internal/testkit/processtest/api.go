package processtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// API is a server's JSON API, with the key that it wants in X-Session-API-Key.
type API struct{ URL, Key string }

// Call makes a request. in is sent as JSON unless it is nil, the answer is decoded
// into out unless that is nil. Any status but 2xx fails the test.
func (a API) Call(t testing.TB, method, path string, in, out any) {
	t.Helper()
	status, answer := a.Do(t, method, path, in)
	a.Decode(t, method+" "+path, status, answer, out)
}

// Decode reads the answer to a request as Call does.
func (a API) Decode(t testing.TB, request string, status int, answer []byte, out any) {
	t.Helper()
	if status/100 != 2 {
		t.Fatalf("%s: %d: %s", request, status, answer)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(answer, out); err != nil {
		t.Fatalf("%s: %v: %s", request, err, answer)
	}
}

// Do returns the status and the body of an answer.
func (a API) Do(t testing.TB, method, path string, in any) (int, []byte) {
	t.Helper()
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Session-API-Key", a.Key)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %s, %v: %s", method, path, res.Status, err, answer)
	}
	return res.StatusCode, answer
}
