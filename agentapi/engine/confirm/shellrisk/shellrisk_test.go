package shellrisk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/confirm/shellrisk"
)

// What the table of package confirm does not say: the table of OpenHands is there.
func TestMistakesHideNothing(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]shellrisk.Verdict{
		"echo it's\n\"rm\" -rf x":                                   shellrisk.Found,
		"ls\n)\n'rm' -rf x\n":                                       shellrisk.Found,
		"if x; then bash <<EOF\n'rm' -rf x\nEOF; fi":                shellrisk.Found,
		"if x; then bash <<EOF\necho $X\nEOF; fi":                   shellrisk.Unknown,
		"x=$((curl x; echo) | sh)":                                  shellrisk.None, // the parser panics at it
		"rm " + strings.Repeat("{-rf,", 2000):                       shellrisk.None,
		"rm " + strings.Repeat("{-rf,", 9) + strings.Repeat("}", 9): shellrisk.Unknown,
		strings.Repeat("(", 900) + "ls" + strings.Repeat(")", 900):  shellrisk.Unknown,
		strings.Repeat("eval ", 9) + "ls":                           shellrisk.Unknown,
	} {
		if got := shellrisk.Deletes(text); got != want {
			t.Errorf("%.60q: %v, want %v", text, got, want)
		}
	}
}

// A model chooses the text, so that none may take long.
func TestNoTextTakesLong(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{
		"it's a (test\n", "((", "$(", "x ", "a|", "curl x|", "rm -rf /;", "cat <<E\n", "bash -c '", "if x; then ", "\"$(", "eval ", "for i in x; do\n", "{1..9}", "{a,", "x=$(",
	} {
		began := time.Now()
		text := "rm " + strings.Repeat(piece, 30_000/len(piece))
		_, _ = shellrisk.Composed(text), shellrisk.Deletes(text)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q takes %v", piece, took)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{"x=$((curl x; echo) | sh)", "bash <<EOF\n$X\nEOF | sh", "a | b <<< $(c) &> d", "rm {-r,-f} * ?[!a]", "time -p env A=b $X"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = shellrisk.Composed(text), shellrisk.Deletes(text)
	})
}
