//go:build e2e

package terminal_test

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/tui/wrap"
)

// screensDir is where the pictures for the documents are.
var screensDir = filepath.Join("..", "..", "docs", "screens")

// pictured is the size of the terminal in them.
var pictured = size{78, 22}

// TestPicturesShowTheProgramAsItIs compares the pictures of the documents with the
// program; scripts/screens rewrites them.
func TestPicturesShowTheProgramAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  []string
		play func(*screen)
	}{
		"answer": {nil, func(s *screen) {
			s.llm.On(llmtest.Says("Which tests"),
				llmtest.Reply{Text: "I will run them and see.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"echo 'ok  cli  7 tests'"}`}}},
				llmtest.Finish("All but one pass:\n\n| package | tests | slowest |\n| --- | --- | --- |\n| `cli` | 7 | 210 ms |\n| `tui` | 12 | **1,900 ms** |\n\n```go\nfunc TestResize(t *testing.T) { // the slow one\n\tt.Parallel()\n```\n"))
			s.asks("Which tests are slow?")
			s.sees("1 action")
		}},
		"actions": {nil, func(s *screen) {
			path := s.write("project/retry.go", "package retry\n\nfunc wait(pause time.Duration) {\n\ttime.Sleep(pause)\n}\n")
			s.llm.On(llmtest.Says("Which test"),
				llmtest.Tool("terminal", arguments(s, map[string]any{"command": "echo '--- FAIL: TestRetry (1.21s)'; false"})),
				llmtest.Tool("file_editor", arguments(s, map[string]any{"command": "str_replace", "path": path, "old_str": "time.Sleep(pause)", "new_str": "clock.Sleep(pause)"})),
				llmtest.Tool("task_tracker", arguments(s, map[string]any{"command": "plan", "task_list": []map[string]any{
					{"title": "Find the flaky test", "status": "done"}, {"title": "Inject the clock", "status": "done"}, {"title": "Run it 100 times", "status": "in_progress"},
				}})),
				llmtest.Finish("The test slept for real. Now its clock is a fake one."))
			s.asks("Which test is flaky, and why?")
			s.sees("1 failed")
		}},
		"confirm": {[]string{"OHGW_CONFIRM=always"}, func(s *screen) {
			s.llm.On(llmtest.Says("Release"),
				llmtest.Reply{Text: "The changelog is written. I would clean up and release now.", Calls: []llmtest.Call{{Name: "terminal", Args: `{"command":"rm -rf build && make release"}`}}})
			s.asks("Release version 1.2")
			s.sees("yes, once")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			p.env = append(p.env, "OHGW_API_KEYS=key-of-this-test")
			p.daemon("127.0.0.1:0", tc.env)
			s := p.chat(pictured, "", "COLORTERM=truecolor")
			s.sees("ready")
			tc.play(s)
			path := filepath.Join(screensDir, name+".svg")
			draw := func() []byte { return picture(steady(s.tmux("capture-pane", "-p", "-e")), pictured) }
			if *update {
				s.golden("picture-"+name, pictured) // waits until it stays
				if err := os.WriteFile(path, draw(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s.golden("picture-"+name, pictured)
			if !bytes.Equal(want, draw()) {
				t.Errorf("%s is not what the program shows; run scripts/screens", path)
			}
		})
	}
}

// The measures of a picture, in pixels, and its colours: those of a dark
// terminal, by the number of the sixteen old ones.
const (
	cellWidth, cellHeight, margin = 8.4, 18, 14
	background, foreground        = "#16181d", "#d7dae0"
)

var palette = [16]string{
	"#16181d", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
	"#5c6370", "#e88388", "#a8cc8c", "#ecd29c", "#71bef2", "#d290e4", "#66c2cd", "#ffffff",
}

// style is how a run of cells looks.
type style struct {
	fg, bg                           string
	bold, faint, italic, under, back bool
}

// picture draws a screen with the escape sequences of its styles as SVG.
func picture(screen string, z size) []byte {
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	var b bytes.Buffer
	w, h := float64(z.cols)*cellWidth+2*margin, float64(len(lines)*cellHeight+2*margin)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace" font-size="14">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	var now style
	for row, line := range lines {
		at := 0
		for line != "" {
			if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
				end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' })
				if end >= 0 && rest[end] == 'm' {
					now = now.with(rest[:end])
				}
				line = rest[max(0, end)+1:]
				continue
			}
			run := line
			if i := strings.IndexByte(line, '\x1b'); i >= 0 {
				run = line[:i]
			}
			line = line[len(run):]
			now.draw(&b, run, at, row)
			at += wrap.Width(run)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw writes a run of text that begins in a column of a row.
func (s style) draw(b *bytes.Buffer, run string, column, row int) {
	cells := wrap.Width(run)
	x, y := margin+float64(column)*cellWidth, margin+row*cellHeight
	fg, bg := s.fg, s.bg
	if fg == "" {
		fg = foreground
	}
	if s.back {
		if bg == "" {
			bg = background
		}
		fg, bg = bg, fg
	}
	if bg != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", x, y, float64(cells)*cellWidth, cellHeight, bg)
	}
	if strings.TrimSpace(run) == "" {
		return
	}
	attributes := ""
	for _, a := range []struct {
		on   bool
		text string
	}{
		{s.bold, ` font-weight="bold"`},
		{s.faint, ` opacity="0.6"`},
		{s.italic, ` font-style="italic"`},
		{s.under, ` text-decoration="underline"`},
	} {
		if a.on {
			attributes += a.text
		}
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" textLength="%.1f" fill="%s" xml:space="preserve"%s>%s</text>`+"\n",
		x, y+13, float64(cells)*cellWidth, fg, attributes, html.EscapeString(run))
}

// with is a style after the parameters of an SGR sequence.
func (s style) with(parameters string) style {
	codes := strings.FieldsFunc(parameters, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		return style{}
	}
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i]) // What is not a number is 0, as terminals have it.
		switch {
		case n == 0:
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.faint = true
		case n == 3:
			s.italic = true
		case n == 4:
			s.under = true
		case n == 7:
			s.back = true
		case n == 22:
			s.bold, s.faint = false, false
		case n == 23:
			s.italic = false
		case n == 24:
			s.under = false
		case n == 27:
			s.back = false
		case n >= 30 && n <= 37:
			s.fg = palette[n-30]
		case n >= 90 && n <= 97:
			s.fg = palette[n-90+8]
		case n == 39:
			s.fg = ""
		case n >= 40 && n <= 47:
			s.bg = palette[n-40]
		case n >= 100 && n <= 107:
			s.bg = palette[n-100+8]
		case n == 49:
			s.bg = ""
		case n == 38 || n == 48:
			var color string
			color, i = extended(codes, i+1)
			if n == 38 {
				s.fg = color
			} else {
				s.bg = color
			}
		}
	}
	return s
}

// extended is a colour by its number or its parts, and where it ends.
func extended(codes []string, i int) (string, int) {
	number := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return n
	}
	if number(i) == 2 {
		return fmt.Sprintf("#%02x%02x%02x", number(i+1), number(i+2), number(i+3)), i + 3
	}
	n := number(i + 1)
	switch {
	case n < 16:
		return palette[n], i + 1
	case n < 232:
		level := func(v int) int {
			if v == 0 {
				return 0
			}
			return 55 + 40*v
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)), i + 1
	}
	grey := 8 + 10*(n-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey), i + 1
}
