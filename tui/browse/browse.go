// Package browse is a list of conversations on a whole screen: it is filtered, and a
// key wakes, opens, removes or downloads one. It has no network, no file and no
// environment of its own; all of that comes in through [Config].
//
// Nothing is read or written in Update, and no state is changed in a command.
package browse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
)

// Item is a conversation.
type Item struct {
	ID, Title, State, Version, Repo, URL string

	Used time.Time // zero: unknown
}

// Page is a part of the list, the newest conversation first.
type Page struct {
	Items []Item
	Next  string // "" at the end
}

// Source has the conversations. What its methods return as text is shown.
type Source interface {
	List(ctx context.Context, page string) (Page, error)
	Wake(ctx context.Context, it Item) (string, error)
	Open(ctx context.Context, it Item) (string, error)
	Send(ctx context.Context, it Item, text string) (string, error)
	Remove(ctx context.Context, it Item) (string, error)
	Trajectory(ctx context.Context, it Item) (string, error)
	Workspace(ctx context.Context, it Item) (string, error)
}

// Config is what the list is made of.
type Config struct {
	In      io.Reader
	Out     io.Writer
	Environ []string
	NoColor bool
	Now     func() time.Time
	Title   string // of the list, such as the name of the server
	Source  Source
	Explain func(error) string // an error in one line
}

// quitPatience is how long the program may take to quit.
const quitPatience = 2 * time.Second

// Run shows the list until the user leaves, which is not an error, or ctx ends.
func Run(ctx context.Context, cfg Config) error {
	working, cancel := context.WithCancel(ctx)
	m := newModel(working, cfg)
	defer m.wait.Wait()
	defer cancel()
	environ := cfg.Environ
	if cfg.NoColor {
		environ = append([]string{"NO_COLOR=1"}, environ...)
	}
	keys := keyboard.NewReader(cfg.In, cfg.Now)
	defer keys.Close()
	p := tea.NewProgram(m, tea.WithoutSignalHandler(), tea.WithInput(keys.Input()), tea.WithOutput(cfg.Out), tea.WithEnvironment(environ))
	keys.Start(p.Send)
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		late := time.AfterFunc(quitPatience, p.Kill)
		defer late.Stop()
		p.Quit()
		<-over
	})
	_, err := p.Run()
	close(over)
	watch.Wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil, errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return fmt.Errorf("show the list: %w", err)
}
