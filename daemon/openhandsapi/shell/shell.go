// Package shell runs the commands that clients of OpenHands' own API send beside the agent:
// /api/bash and the socket /sockets/bash-events, and the same routes below a conversation,
// each of which has a history of its own.
//
// Each command and each piece of its output is an event, a file of its own in the form
// of an agent-server. The newest of each history are kept: [maxEvents] of them, [maxBytes] in
// all, for [maxAge].
package shell

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ohgw/ohgw/internal/paths"
)

// Limits of commands.
const (
	// maxRunning is how many commands run at the same time, in all places.
	maxRunning = 100
	// maxOutput is how much of the output of a command is kept, in bytes.
	maxOutput = 64 << 20
	// maxChunk is how much output one event has, in characters.
	maxChunk = 1 << 20
	// lastWords is how long a command that was killed may keep its output open.
	lastWords = time.Second
)

// Starter starts commands with the rights that they are to have.
type Starter interface {
	// Start runs a command by a shell. Dir is as the client wrote it; "" leaves it to
	// the starter. The caller closes the files afterwards. The context is for the
	// start alone.
	Start(ctx context.Context, command, dir string, stdout, stderr *os.File) (Process, error)
}

// Process is a command that runs.
type Process interface {
	// Wait waits for the shell alone and returns its exit code. It is called once.
	Wait() (code int, err error)
	// Kill ends the shell and its process group.
	Kill() error
}

// Config is what a Shell needs. Dir keeps the events; it is made when there is one.
type Config struct {
	Dir     string
	Starter Starter
	Now     func() time.Time
	Logger  *slog.Logger
}

// Shell runs commands and keeps their events. Its methods may be called at the same
// time. Make one with New, end it with Close.
type Shell struct {
	cfg    Config
	ctx    context.Context // ends with the shell
	cancel context.CancelFunc
	all    *history       // of /api/bash
	wait   sync.WaitGroup // commands and sockets

	mu       sync.Mutex
	closed   bool
	running  int
	watchers map[*watcher]struct{} // of the history of /api/bash
	runs     map[string]*run       // by the ids of their commands
	places   map[string]*history   // by the ids of their places
}

// New makes a shell.
func New(cfg Config) *Shell {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Shell{cfg: cfg, watchers: map[*watcher]struct{}{}, runs: map[string]*run{}, places: map[string]*history{}}
	s.all = &history{shell: s, events: &store{dir: cfg.Dir, now: cfg.Now, make: paths.MakePrivate}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends the commands and the sockets, and waits for them.
func (s *Shell) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.wait.Wait()
	return nil
}
