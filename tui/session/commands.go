package session

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/internal/gateway"
)

// The messages that commands bring.
type (
	// ModelsMsg is the list of the models, or why there is none.
	ModelsMsg struct {
		Models []gateway.Model
		Err    error
		// Found is the model that Start.Find has found, and Missing why there is none.
		Found   string
		Missing error
	}
	// AgainMsg is the time to look for the gateway again.
	AgainMsg struct{}
	// BatchMsg is what came of an answer since the last one.
	BatchMsg struct {
		Turn   *Turn
		Pieces []gateway.Piece
		Err    error
		Over   bool // nothing more comes
	}
	// AttachedMsg is a picture for the next question, or why there is none.
	AttachedMsg struct {
		Image Image
		Err   error
	}
	// DoneMsg is about something that was copied or saved, or failed to be.
	DoneMsg struct {
		What string // "copied the answer"
		Err  error
	}
	// RecentMsg is the list of the conversations that can be gone on with.
	RecentMsg struct {
		List  []Conversation
		Query string // what the list is narrowed by
		ID    string // the beginning of the id that is looked for, or ""
		Err   error
	}
	// WhereMsg is the directory of the conversation.
	WhereMsg struct{ Where Where }
	// RememberedMsg follows the attempt to keep the conversation.
	RememberedMsg struct{ Err error }

	workedMsg struct{ msg tea.Msg }
)

// keepPatience is how long a conversation may take to be kept.
const keepPatience = 5 * time.Second

// after is msg after a while, or nothing when ctx ends before.
func after(ctx context.Context, d time.Duration, msg tea.Msg) tea.Cmd {
	return func() tea.Msg {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return msg
		case <-ctx.Done():
			return nil
		}
	}
}

func listModels(ctx context.Context, endpoint gateway.Endpoint, find findFunc) tea.Cmd {
	return func() tea.Msg {
		var msg ModelsMsg
		if msg.Models, msg.Err = endpoint.Models(ctx); len(msg.Models) > 0 && find != nil {
			msg.Found, msg.Missing = find(ctx, msg.Models)
		}
		return msg
	}
}

// Look looks at the directory of the conversation: git may have another branch
// there now.
func (s *Session) Look() tea.Cmd {
	locate, dir := s.cfg.Locate, s.Convo.Workspace
	if locate == nil {
		return nil
	}
	return func() tea.Msg { return WhereMsg{locate(dir)} }
}

func readImage(ctx context.Context, read func(context.Context, string) (Image, error), path string) tea.Cmd {
	return func() tea.Msg {
		img, err := read(ctx, path)
		return AttachedMsg{img, err}
	}
}

func saveText(ctx context.Context, save func(context.Context, string, string) (string, error), path, text string) tea.Cmd {
	return func() tea.Msg {
		where, err := save(ctx, path, text)
		return DoneMsg{"saved to " + where, err}
	}
}

func listRecent(ctx context.Context, r Recent, query, id string) tea.Cmd {
	return func() tea.Msg {
		list, err := r.List(ctx)
		return RecentMsg{list, query, id, err}
	}
}

// remember keeps c, also if the chat ends meanwhile.
func remember(ctx context.Context, r Recent, c Conversation) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepPatience)
		defer cancel()
		return RememberedMsg{r.Remember(ctx, c)}
	}
}
