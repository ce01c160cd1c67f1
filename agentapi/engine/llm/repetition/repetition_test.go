package repetition_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/llm/repetition"
)

// found writes a text in pieces of so many bytes, and gives where it was stopped and
// the unit; 0 if it was not.
func found(w *repetition.Watch, text string, size int) (at, unit int) {
	for from := 0; from < len(text); from += size {
		piece := text[from:min(len(text), from+size)]
		if end, unit := w.Write(piece); unit > 0 {
			return from + end, unit
		}
	}
	return 0, 0
}

const paragraph = "The garden has a pond and an old wall. In the evening the light falls on the wall, and the pond is dark.\n" +
	"Whoever sits there hears the road, and behind the road the river, which has little water in the summer.\n\n"

func TestARepetitionIsStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		unit string
		want int
	}{
		"a character":             {"G", 1},
		"a mark":                  {"!", 1},
		"line ends":               {"\n", 1},
		"spaces":                  {" ", 1},
		"a word":                  {"the ", 4},
		"a line":                  {"I will now read the file.\n", 26},
		"a Chinese line":          {"我现在阅读这个文件。\n", 11},
		"a paragraph":             {paragraph, len(paragraph)},
		"a long paragraph":        {strings.Repeat("x", 40) + strings.ReplaceAll(paragraph+paragraph+paragraph, "wall", "W") + "end\n", 0},
		"a whole code block":      {"```go\nfmt.Println(1)\n```\n", 25},
		"a call that is not made": {`{"name":"terminal","arguments":{"command":"ls"}}` + "\n", 49},
	} {
		text := "Here is the answer.\n" + strings.Repeat(tt.unit, 24_000/len(tt.unit)+1)
		for _, size := range []int{1 << 20, 7, 640} {
			if !strings.Contains(name, "Chinese") || size > 640 {
				at, unit := found(new(repetition.Watch), text, size)
				if unit == 0 || tt.want > 0 && unit != tt.want {
					t.Errorf("%s in pieces of %d: the unit is %d, want %d", name, size, unit, tt.want)
				}
				if longest := 20 + len(string(tt.unit))*max(2_000, 10*utf8.RuneCountInString(tt.unit))/utf8.RuneCountInString(tt.unit) + 9_000; at > longest {
					t.Errorf("%s in pieces of %d: stopped at %d", name, size, at)
				}
			}
		}
	}
}

func TestWhatHasASenseIsNotStopped(t *testing.T) {
	t.Parallel()
	var counted, poem strings.Builder
	for i := range 500 {
		fmt.Fprintf(&counted, "Step %d: read the file and write it.\n", i)
		fmt.Fprintf(&poem, "%sverse %d\n", paragraph, i*i)
	}
	art := strings.Repeat("/\\_/\\  ", 10) + "\n"
	for name, text := range map[string]string{
		"nine times":                       "x" + strings.Repeat(paragraph, 9),
		"a short list":                     strings.Repeat("- yes\n", 300),
		"a rule":                           strings.Repeat("=", 1_000) + "\ntext\n",
		"a number that grows":              counted.String(),
		"a refrain":                        poem.String(),
		"rows of a table":                  "| a | b |\n|---|---|\n" + strings.Repeat("| 0 | 0 |\n", 1_000),
		"ASCII art":                        strings.Repeat(art, 100),
		"a frame":                          strings.Repeat("+--------+        +--------+\n", 200),
		"code":                             "See:\n```c\n" + strings.Repeat("    0x00, 0x00, 0x00, 0x00,\n", 400) + "```\n",
		"one line of code":                 "See:\n~~~\n" + strings.Repeat("0", 9_000) + "\n~~~\n",
		"a parameter of a call":            "<function=file_editor>\n<parameter=file_text>" + strings.Repeat("0,0,0,0\n", 1_000) + "</parameter>",
		"code, and then a repetition ends": "```\n" + strings.Repeat("nop\n", 1_000) + "```\n" + counted.String(),
	} {
		for _, size := range []int{1 << 20, 333} {
			if at, unit := found(new(repetition.Watch), text, size); unit > 0 {
				t.Errorf("%s in pieces of %d: stopped at %d for %d characters", name, size, at, unit)
			}
		}
	}
	if at, unit := found(&repetition.Watch{Code: true}, strings.Repeat("0, ", 3_000), 100); unit > 0 {
		t.Errorf("arguments: stopped at %d", at)
	}
}

func TestCodeWithoutEndIsStopped(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a block": "```\n" + strings.Repeat("    nop\n", 4_000),
		"a table": strings.Repeat("| 0 | 0 |\n", 4_000),
		"a frame": strings.Repeat("+--+\n", 8_000),
	} {
		if at, unit := found(new(repetition.Watch), text, 100); unit == 0 || at < repetition.LeastCode {
			t.Errorf("%s: stopped at %d for %d", name, at, unit)
		}
	}
	if _, unit := found(&repetition.Watch{Code: true}, strings.Repeat("0, ", 9_000), 100); unit != 3 {
		t.Errorf("arguments: a unit of %d", unit)
	}
}

func BenchmarkWatch(b *testing.B) {
	var w repetition.Watch
	b.SetBytes(int64(len(paragraph)))
	for i := 0; b.Loop(); i++ {
		w.Write(fmt.Sprint(i) + paragraph)
	}
}
