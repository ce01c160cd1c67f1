package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/session"
)

// The messages that the screen's commands bring.
type (
	tickMsg   struct{}
	flashMsg  struct{ n int } // time to take the flash n away
	letterMsg struct{ n int } // no letter followed the letter n
	draftMsg  struct {        // a text is where an editor finds it
		draft *Draft
		err   error
	}
	editedMsg struct {
		text string
		err  error
	}
	addedMsg  struct{ err error }   // the command that adds a model has ended
	insertMsg struct{ text string } // a path that was pasted, and is not a picture
)

// The pace of things that happen by themselves.
const (
	tick       = 100 * time.Millisecond
	flashTime  = 4 * time.Second
	letterTime = 300 * time.Millisecond
	decideTime = 700 * time.Millisecond  // the same, where a mistake does harm
	hungAfter  = 5 * time.Second         // silence that is explained
	atFirst    = 1500 * time.Millisecond // the same behind a question, line by line
)

func after(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

// imagePath returns the path in a text that is nothing but the path of a picture, as
// terminals paste a file that is dropped on them; else "".
func imagePath(text string) string {
	path := strings.TrimSpace(text)
	if strings.ContainsAny(path, "\n\r") || len(path) > 4096 {
		return ""
	}
	if len(path) > 1 && (path[0] == '\'' || path[0] == '"') && path[len(path)-1] == path[0] {
		path = path[1 : len(path)-1]
	} else {
		path = strings.NewReplacer(`\ `, " ", `\(`, "(", `\)`, ")").Replace(path)
	}
	path = strings.TrimPrefix(path, "file://")
	lower := strings.ToLower(path)
	for _, ext := range []string{".png", ".jpg", ".jpeg", ".gif", ".webp"} {
		if strings.HasSuffix(lower, ext) {
			return path
		}
	}
	return ""
}

// pastedImage reads the picture at a path that was pasted as text.
func pastedImage(ctx context.Context, read func(context.Context, string) (Image, error), path, text string) tea.Cmd {
	return func() tea.Msg {
		img, err := read(ctx, path)
		if err != nil {
			return insertMsg{text}
		}
		return session.AttachedMsg{Image: img}
	}
}

func clipboardImage(ctx context.Context, read func(context.Context) (Image, error)) tea.Cmd {
	return func() tea.Msg {
		img, err := read(ctx)
		return session.AttachedMsg{Image: img, Err: err}
	}
}

// copyText asks the terminal and the system, whichever of them can.
func copyText(ctx context.Context, system func(context.Context, string) error, text, what string) tea.Cmd {
	done := func() tea.Msg {
		if system != nil {
			// The terminal was asked too, and does not say whether it did it.
			_ = system(ctx, text)
		}
		return session.DoneMsg{What: "copied " + what}
	}
	return tea.Batch(tea.SetClipboard(text), done)
}
