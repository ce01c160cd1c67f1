package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// The messages that commands bring.
type (
	modelsMsg struct {
		models []gateway.Model
		err    error
	}
	tickMsg   struct{}
	againMsg  struct{}        // time to look for the gateway again
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
	imageMsg struct {
		image Image
		err   error
		paste string // what to insert if it was no image
	}
	doneMsg struct { // something was copied or saved
		what string
		err  error
	}
	recentMsg struct {
		list []Conversation
		err  error
	}
	rememberedMsg struct{ err error }
)

// The pace of things that happen by themselves.
const (
	tick       = 100 * time.Millisecond
	flashTime  = 4 * time.Second
	letterTime = 300 * time.Millisecond
	decideTime = 700 * time.Millisecond // the same, where a mistake does harm
	hungAfter  = 5 * time.Second        // silence that is explained
)

func after(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

func listModels(ctx context.Context, endpoint gateway.Endpoint) tea.Cmd {
	return func() tea.Msg {
		models, err := endpoint.Models(ctx)
		return modelsMsg{models, err}
	}
}

func draft(edit func(string) (*Draft, error), text string) tea.Cmd {
	return func() tea.Msg {
		d, err := edit(text)
		return draftMsg{d, err}
	}
}

// runEditor gives the terminal to the editor.
func runEditor(d *Draft) tea.Cmd {
	return tea.ExecProcess(d.Cmd, func(err error) tea.Msg {
		text, readErr := d.Read()
		if err == nil {
			err = readErr
		}
		return editedMsg{text, err}
	})
}

func readImage(ctx context.Context, read func(context.Context, string) (Image, error), path, paste string) tea.Cmd {
	return func() tea.Msg {
		img, err := read(ctx, path)
		return imageMsg{img, err, paste}
	}
}

func clipboardImage(ctx context.Context, read func(context.Context) (Image, error)) tea.Cmd {
	return func() tea.Msg {
		img, err := read(ctx)
		return imageMsg{image: img, err: err}
	}
}

// copyText asks the terminal and the system, whichever of them can.
func copyText(ctx context.Context, system func(context.Context, string) error, text, what string) tea.Cmd {
	done := func() tea.Msg {
		if system != nil {
			// The terminal was asked too, and does not say whether it did it.
			_ = system(ctx, text)
		}
		return doneMsg{what: "copied " + what}
	}
	return tea.Batch(tea.SetClipboard(text), done)
}

func saveText(ctx context.Context, save func(context.Context, string, string) (string, error), path, text string) tea.Cmd {
	return func() tea.Msg {
		where, err := save(ctx, path, text)
		return doneMsg{"saved to " + where, err}
	}
}

func listRecent(ctx context.Context, r Recent) tea.Cmd {
	return func() tea.Msg {
		list, err := r.List(ctx)
		return recentMsg{list, err}
	}
}

func remember(ctx context.Context, r Recent, c Conversation) tea.Cmd {
	return func() tea.Msg { return rememberedMsg{r.Remember(ctx, c)} }
}
