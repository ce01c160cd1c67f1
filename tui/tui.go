// Package tui is the chat in a terminal: a client of a gateway's /v1 as any
// other, seen through [gateway.Endpoint]. It has no network, no file and no
// environment of its own; all of that comes in through [Config].
//
// Package session decides what happens; here are the two views that show it: the
// screen, a Bubble Tea model with its components, and the one line by line.
// Nothing is read or written in Update, and no state is changed in a command.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ohgw/ohgw/tui/keyboard"
	"github.com/ohgw/ohgw/tui/safe"
)

// The wheel of a mouse that no program captures becomes arrow keys in most terminals
// (DECSET 1007). What the terminal had before comes back at the end.
const (
	wheelKeys   = "\x1b[?1007s\x1b[?1007h"
	wheelBefore = "\x1b[?1007r"
)

// fps is how often Bubble Tea looks whether the screen changed: a key is seen
// within half of the time that 60 would take.
const fps = 120

// Run chats until the user leaves, which is not an error, or ctx ends. The
// terminal is as it was when Run returns, whatever happened.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Plain {
		return runPlain(ctx, cfg)
	}
	return runScreen(ctx, cfg)
}

func runScreen(ctx context.Context, cfg Config) error {
	asking, cancel := context.WithCancel(ctx)
	environ := slices.Clone(cfg.Environ)
	if cfg.NoColor {
		environ = append(environ, "NO_COLOR=1")
	}
	m := newModel(asking, cfg)
	defer m.chat.Wait()
	defer cancel()
	keys := keyboard.NewReader(cfg.In, cfg.Now)
	defer keys.Close()
	// Signals end ctx. With a handler of its own a program that ends may wait for
	// that handler, which waits for the program to take its message.
	p := tea.NewProgram(m, tea.WithoutSignalHandler(), tea.WithInput(keys.Input()), tea.WithOutput(cfg.Out), tea.WithEnvironment(environ), tea.WithFPS(fps))
	keys.Start(p.Send)
	_, _ = io.WriteString(cfg.Out, wheelKeys)
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { quitWith(ctx, p, over) })
	_, err := p.Run()
	close(over)
	watch.Wait()
	_, _ = io.WriteString(cfg.Out, wheelBefore)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
	case errors.Is(err, tea.ErrInterrupted):
		return context.Canceled
	default:
		return fmt.Errorf("show the chat: %w", err)
	}
	for _, line := range cfg.Hints.Leave(m.chat.Convo) {
		_, _ = fmt.Fprintln(cfg.Out, safe.Text(line))
	}
	return nil
}

// quitPatience is how long a chat may take to quit.
const quitPatience = 2 * time.Second

// quitWith ends the program when ctx does. Unlike one that is killed, a program
// that quits has stopped to read from the terminal.
func quitWith(ctx context.Context, p *tea.Program, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	late := time.AfterFunc(quitPatience, p.Kill)
	defer late.Stop()
	p.Quit()
	<-over
}
