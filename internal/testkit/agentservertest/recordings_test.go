package agentservertest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

func TestRecordingsAreWholeAndHoldNothingPrivate(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	// Encrypted and plain keys, loopback addresses, directories of a machine.
	private := regexp.MustCompile(`gAAAAA|sk-|127\.0\.0\.1|"/(home|root|tmp|var|work|Users)/`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := private.Find(text); found != nil {
			t.Errorf("%s holds %q", file, found)
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 1<<20)
		last := -1.0
		for n := 1; lines.Scan(); n++ {
			var line struct {
				T    *float64        `json:"t"`
				Kind string          `json:"kind"`
				Data json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.T == nil || line.Kind == "" || line.Data == nil {
				t.Errorf("%s:%d: %v in %.80s", file, n, err, lines.Text())
				break
			}
			if *line.T < last {
				t.Errorf("%s:%d: goes back in time", file, n)
			}
			last = *line.T
		}
		if err := lines.Err(); err != nil || last < 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
