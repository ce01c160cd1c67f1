package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const output = `goos: linux
BenchmarkOutside/turns/clients=16/of=proxy-2    1000    2900 turns/s
BenchmarkOutside/turns/clients=16/of=ohgw-2     1000    0.12 of-proxy    350 turns/s
BenchmarkOutside/hello/of=ohgw-2                1000    5.2 hello-p50-ms    11 hello-p99-ms    9.5 x-proxy
BenchmarkOutside/turns/clients=16/of=ohgw-2     1000    0.10 of-proxy    340 turns/s
BenchmarkOutside/hello/of=ohgw-2                1000    5.0 hello-p50-ms    12 hello-p99-ms    10.5 x-proxy
PASS
`

// keep runs the command on a file with some content, and returns what it prints and the file.
func keep(t *testing.T, content string, args ...string) (printed, kept string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "figures.tsv")
	if content != "" {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(append([]string{path}, args...), strings.NewReader(output), &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil && content != "" {
		t.Fatal(err)
	}
	return out.String(), string(data)
}

func TestALineIsKeptForEachRelease(t *testing.T) {
	t.Parallel()
	_, kept := keep(t, "", "v1.0.0")
	want := "release\tOutside/turns/clients=16 of-proxy\tOutside/hello x-proxy\nv1.0.0\t0.11\t10\n"
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the first line (-want +got):\n%s", diff)
	}
	before := "release\tgone x-off\tOutside/hello x-proxy\nv0.9.0\t1.5\t9\nv1.0.0\t1\t-\n"
	_, kept = keep(t, before, "v1.0.0")
	want = "release\tgone x-off\tOutside/hello x-proxy\tOutside/turns/clients=16 of-proxy\nv0.9.0\t1.5\t9\t-\nv1.0.0\t-\t10\t0.11\n"
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the line of a release that is there (-want +got):\n%s", diff)
	}
	if _, kept = keep(t, before); kept != before {
		t.Errorf("without a release the file has %q", kept)
	}
}

func TestAFigureThatHasLostAQuarterIsRed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		turns, hello string
		reds         int
	}{
		"no loss":               {"0.11", "10", 0},
		"gains":                 {"0.01", "100", 0},
		"a little":              {"0.14", "7.6", 0},
		"fewer turns":           {"0.147", "10", 1},
		"a longer wait":         {"0.11", "7.5", 1},
		"both":                  {"1", "1", 2},
		"not known in the last": {"-", "7", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			printed, _ := keep(t, "release\tOutside/turns/clients=16 of-proxy\tOutside/hello x-proxy\nv0.9.0\t0.11\t10\nv1.0.0\t"+tt.turns+"\t"+tt.hello+"\n")
			if got := strings.Count(printed, red); got != tt.reds || strings.Count(printed, off) != got || strings.Count(printed, "\n") != 2 {
				t.Errorf("printed %q, want %d red lines", printed, tt.reds)
			}
		})
	}
}

func TestWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "figures.tsv")
	for content, in := range map[string]string{
		"release\ta x-proxy\n":               "PASS\n",
		"release\ta x-proxy\nv1.0.0\n":       output,
		"release\ta x-proxy\nv1.0.0\tfast\n": output,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := run([]string{path, "v2.0.0"}, strings.NewReader(in), &out); err == nil {
			t.Errorf("no error for %q and %.20q", content, in)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("the file has %q, %v", data, err)
		}
	}
	if err := run(nil, strings.NewReader(output), &strings.Builder{}); err == nil {
		t.Error("no error without a file")
	}
}
