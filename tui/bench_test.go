package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
	"github.com/ohgw/ohgw/tui/session"
)

// benchModel is a chat with messages that a stream has just begun in.
func benchModel(b *testing.B, messages int) *model {
	b.Helper()
	ids := 0
	m := newModel(b.Context(), Config{Endpoint: &script{}, Now: time.Now, NewID: func() string { ids++; return fmt.Sprint(ids) }})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	m.Update(session.ModelsMsg{Models: []gateway.Model{{ID: "m"}}})
	for i := range messages / 2 {
		m.input.Set(fmt.Sprintf("question %d", i))
		m.Update(named["enter"])
		m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: []gateway.Piece{gateway.Started{}, gateway.Text(page), finished()}, Over: true})
	}
	m.input.Set("and now")
	m.Update(named["enter"])
	m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: []gateway.Piece{gateway.Started{}}})
	return m
}

// BenchmarkKeyWhileStreaming is what stands between a key and the frame with
// it at 500 tokens a second: a batch of tokens may come first.
func BenchmarkKeyWhileStreaming(b *testing.B) {
	m := benchModel(b, 200)
	tokens := strings.SplitAfter(strings.Repeat(page+"\n", 40), " ")
	var took []time.Duration
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		pieces := make([]gateway.Piece, 17) // 500 tokens a second, 30 batches a second
		for j := range pieces {
			pieces[j] = gateway.Text(tokens[i%len(tokens)])
			i++
		}
		begun := time.Now()
		m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: pieces})
		m.View()
		m.Update(tea.KeyPressMsg{Text: "a", Code: 'a'})
		m.View()
		took = append(took, time.Since(begun))
		if m.input.Rows() > 5 {
			m.input.Clear()
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}

// BenchmarkKeyBesideActions is the same with an opened diff of 2,000 lines and an
// opened output of 24 KiB on the screen, while another action ends.
func BenchmarkKeyBesideActions(b *testing.B) {
	m := benchModel(b, 20)
	var patch strings.Builder
	patch.WriteString("@@ -1,1000 +1,1000 @@\n")
	for i := range 1000 {
		fmt.Fprintf(&patch, "-old line %d of the file\n+new line %d of a file\n", i, i)
	}
	output := strings.Repeat("a line of the output of a long build\n", 24<<10/37)
	m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: []gateway.Piece{
		gateway.Call{ID: "edit", State: "done", Kind: "edit", Line: "Edit a.go", Diff: patch.String()},
		gateway.Call{ID: "build", State: "done", Kind: "command", Line: "$ make", Output: output},
	}})
	m.chat.Log.Unfold()
	m.chat.Log.Unfold()
	m.View()
	m.chat.Log.Scroll(-650) // both are in view
	var took []time.Duration
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		begun := time.Now()
		if i%10 == 0 {
			m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: []gateway.Piece{gateway.Call{ID: fmt.Sprint(i % 50), State: "done", Kind: "command", Line: "$ ls", Output: "x"}}})
		}
		m.Update(tea.KeyPressMsg{Text: "a", Code: 'a'})
		m.View()
		took = append(took, time.Since(begun))
		if m.input.Rows() > 5 {
			m.input.Clear()
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-max")
}

func BenchmarkScrollLongChat(b *testing.B) {
	m := benchModel(b, 2000)
	m.chat.Log.Top()
	b.ReportAllocs()
	for b.Loop() {
		m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
		m.View()
		if m.chat.Log.Following() {
			m.chat.Log.Top()
		}
	}
}

func BenchmarkResizeLongChat(b *testing.B) {
	m := benchModel(b, 2000)
	m.chat.Log.Scroll(-5000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		m.Update(tea.WindowSizeMsg{Width: 60 + i%80, Height: 20 + i%30})
		m.View()
	}
}

func BenchmarkPasteOfAMegabyte(b *testing.B) {
	m := benchModel(b, 2)
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	for b.Loop() {
		m.Update(tea.PasteMsg{Content: text})
		m.View()
		m.input.Clear()
	}
}

// BenchmarkFirstFrame is from the beginning of the chat to its first screen.
func BenchmarkFirstFrame(b *testing.B) {
	for b.Loop() {
		m := newModel(b.Context(), Config{Endpoint: &script{}, Now: time.Now, NewID: func() string { return "1" }})
		m.Init()
		m.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
		m.View()
	}
}

// BenchmarkLineOfTenMegabytes is an answer without a line end.
func BenchmarkLineOfTenMegabytes(b *testing.B) {
	line := strings.Repeat("words ", 10<<20/6)
	for b.Loop() {
		m := benchModel(b, 2)
		m.Update(session.BatchMsg{Turn: m.chat.Turn, Pieces: []gateway.Piece{gateway.Text(line), gateway.Progress(line)}})
		m.View()
	}
}
