package logins_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestWhatIsRefused compares with what an agent-server 1.58.2 has answered: a client
// shows it beside the field. In three answers ohgw hides more of what was sent.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	a := newAPI(t, nil)
	data, err := os.ReadFile("testdata/refused.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		request, answer, _ := strings.Cut(block, "\n")
		parts := strings.SplitN(request, " ", 3)
		status, want, _ := strings.Cut(answer, " ")
		code, got := a.do(parts[0], parts[1], parts[2])
		if strconv.Itoa(code) != status || !same(t, got, want) {
			t.Errorf("%s\n got %d %s\nwant %s %s", request, code, got, status, want)
		}
	}
}

func same(t *testing.T, got, want string) bool {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		return false
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(a, b)
}
