package shellrisk_test

import (
	"runtime"
	"strings"
	"testing"

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
			t.Errorf("%.60q: Deletes = %v, want %v", text, got, want)
		}
	}
}

// A model chooses the text, so that none may take long.
// What a text costs grows as its length does. It is measured by what the readings of it
// allocate, which is the same on a machine that is busy. The test is not parallel, so that
// it alone allocates.
func TestTheCostOfATextGrowsAsItsLength(t *testing.T) {
	const small, factor = 5_000, 4
	for _, piece := range []string{
		"it's a (test\n", "((", "$(", "x ", "a|", "curl x|", "rm -rf /;", "cat <<E\n", "bash -c '", "if x; then ", "\"$(", "eval ", "for i in x; do\n", "{1..9}", "{a,", "x=$(",
	} {
		before, after := allocated(piece, small), allocated(piece, factor*small)
		if after > 2*factor*before {
			t.Errorf("%q: %d bytes for one text, %d for a text %d times as long", piece, before, after, factor)
		}
	}
}

// allocated is how many bytes are allocated for a text of that length.
func allocated(piece string, size int) uint64 {
	text := "rm " + strings.Repeat(piece, size/len(piece))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = shellrisk.Composed(text), shellrisk.Deletes(text)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func FuzzVerdict(f *testing.F) {
	for _, seed := range []string{"x=$((curl x; echo) | sh)", "bash <<EOF\n$X\nEOF | sh", "a | b <<< $(c) &> d", "rm {-r,-f} * ?[!a]", "time -p env A=b $X"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		_, _ = shellrisk.Composed(text), shellrisk.Deletes(text)
	})
}
