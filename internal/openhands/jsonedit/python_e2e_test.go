//go:build e2e

package jsonedit_test

import (
	"encoding/json"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// python reads a JSON list of texts as lists of bytes and tells of each
// whether json.loads takes it, and which of its top-level members are which.
const python = `
import json, sys
out = []
for raw in json.load(open(sys.argv[1])):
    try:
        value = json.loads(bytes(raw).decode("utf-8"))
        out.append(list(value) if isinstance(value, dict) else [])
    except (ValueError, RecursionError):
        out.append(None)
print("RESULT" + json.dumps(out))
`

// Python and Parse accept the same texts, and find the same members in them.
func TestPythonReadsTheSame(t *testing.T) {
	random := mrand.New(mrand.NewPCG(3, 4))
	seeds := []string{
		laidOut, `{"a":1,"b":[true,false,null,NaN,Infinity,-Infinity,-0.5e+10]}`,
		`{"\ud83d\udd11":"\ud800","A\u0041":{"x":{}},"":[[],[1,2]]}`, `  [1, "two"]  `,
	}
	var cases [][]int
	for range 6000 {
		cases = append(cases, mutate(random, seeds[random.IntN(len(seeds))]))
	}
	dir := t.TempDir()
	content, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var theirs []*[]string
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, python, "cases")), &theirs); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for i, c := range cases {
		src := make([]byte, len(c))
		for j, b := range c {
			src[j] = byte(b)
		}
		doc, err := jsonedit.Parse(src)
		if (err == nil) != (theirs[i] != nil) {
			t.Errorf("%q: we say %v, Python accepts: %v", src, err, theirs[i] != nil)
			continue
		}
		if err != nil {
			continue
		}
		accepted++
		names := map[string]bool{}
		for name := range doc.Root().Members() {
			names[name] = true
		}
		if len(names) != len(*theirs[i]) {
			t.Errorf("%q: we find %v, Python %v", src, names, *theirs[i])
		}
	}
	t.Logf("%d texts, %d of them accepted", len(cases), accepted)
}

// mutate returns bytes as numbers: json.Marshal would repair what is not UTF-8.
func mutate(random *mrand.Rand, seed string) []int {
	const inserts = "{}[]\",:\\ue1209-+.\x00\x1f\x7f\xff\xc3 \n\rnNtI"
	src := []byte(seed)
	for range random.IntN(4) {
		at := random.IntN(len(src))
		c := inserts[random.IntN(len(inserts))]
		switch random.IntN(3) {
		case 0:
			src[at] = c
		case 1:
			src = append(src[:at:at], append([]byte{c}, src[at:]...)...)
		case 2:
			src = append(src[:at:at], src[at+1:]...)
		}
	}
	out := make([]int, len(src))
	for i, b := range src {
		out[i] = int(b)
	}
	return out
}
