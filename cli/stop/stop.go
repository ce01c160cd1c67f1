// Package stop has the command "stop": it ends the daemon, however it was started.
package stop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/daemon/conversations"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/setup/running"
)

// New makes the command "stop".
func New(a *kit.App) *cobra.Command {
	opts := options{App: a}
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the running daemon",
		Long: kit.Long(`
Stops your daemon, however it was started, and waits until it has ended. Running
answers may finish in the time of --drain of "ohgw serve". --now interrupts them
instead; a daemon that does not end then is killed after 10 seconds.

If no daemon is running, the command says so; the exit code is 0, because that
is the state it was asked for. A service (ohgw service) starts again at the next
login, and with --on-demand with its next client. On Windows, where a program
without a window cannot be asked to end, the command needs --now.

With --json the output has stopped, url and pid.`, 0, fault.Failed, fault.Usage),
		Example:           kit.Examples("ohgw stop", "ohgw stop --now"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVar(&opts.Now, "now", false, "interrupt running answers instead of waiting for them")
	return cmd
}

// options is what the command takes.
type options struct {
	*kit.App

	Now bool
}

// stopJSON is the output of stop in JSON.
type stopJSON struct {
	Stopped bool   `json:"stopped"` // false: no daemon was running
	URL     string `json:"url,omitempty"`
	PID     int    `json:"pid,omitempty"`
}

const (
	// patience is how long the end may take without a word about it.
	patience = time.Second
	// mercy is how long a daemon may take to end with --now, and then again after
	// it was told a second time.
	mercy = 5 * time.Second
)

// run runs the command.
func run(ctx context.Context, o *options) error {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	p, err := instance.Open(dirs.Runtime)
	switch {
	case errors.Is(err, instance.ErrNotRunning):
		return tellStopped(o.App, "No ohgw is running.", stopJSON{})
	case err != nil:
		return fault.New("the running daemon cannot be identified", "look at it with: ohgw doctor", err)
	}
	defer p.Close()
	if err := end(ctx, o, p); err != nil {
		return err
	}
	return tellStopped(o.App, "Stopped ohgw at "+p.Info.URL+".", stopJSON{Stopped: true, URL: p.Info.URL, PID: p.Info.PID})
}

func tellStopped(a *kit.App, text string, doc stopJSON) error {
	if a.JSON {
		return a.PrintJSON(doc)
	}
	a.Note("%s", text)
	return nil
}

// end ends the daemon and waits for it.
func end(ctx context.Context, o *options, p *instance.Process) error {
	if o.Now {
		return endNow(ctx, o, p)
	}
	if err := ask(p); err != nil {
		return err
	}
	if waitFor(ctx, p, patience) {
		return nil
	}
	o.Note("Waiting for running answers to finish. To interrupt them: ohgw stop --now")
	if !p.Wait(ctx) {
		return ctx.Err()
	}
	return nil
}

// ask asks the daemon to end.
func ask(p *instance.Process) error {
	err := p.End()
	if errors.Is(err, errors.ErrUnsupported) {
		return &fault.Error{Msg: "this system cannot ask a daemon to end", Hint: "end it without waiting: ohgw stop --now", Code: fault.Failed}
	}
	if err != nil {
		return notStopped(p, err)
	}
	return nil
}

// notStopped returns the error for a daemon that cannot be ended.
func notStopped(p *instance.Process, err error) error {
	return fault.New(fmt.Sprintf("process %d cannot be stopped", p.Info.PID), fmt.Sprintf("check who runs it: ps -fp %d", p.Info.PID), err)
}

// endNow interrupts what runs, so that clients get the end of their answers, and
// ends the daemon: at first kindly.
func endNow(ctx context.Context, o *options, p *instance.Process) error {
	interruptAll(ctx, o.App)
	for range 2 { // the second time it ends at once
		if err := p.End(); err != nil {
			break
		}
		if waitFor(ctx, p, mercy) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := p.Kill(); err != nil {
		return notStopped(p, err)
	}
	if !p.Wait(ctx) {
		return ctx.Err()
	}
	return nil
}

func waitFor(ctx context.Context, p *instance.Process, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return p.Wait(ctx)
}

// interruptAll interrupts the running turns, those that wait first. What it
// cannot reach ends with the daemon.
func interruptAll(ctx context.Context, a *kit.App) {
	ctx, cancel := context.WithTimeout(ctx, mercy)
	defer cancel()
	s, err := a.Settings(nil)
	if err != nil {
		return
	}
	own := *s
	own.Client.URL = "" // the daemon that is stopped, not another one
	c, err := running.Find(ctx, a.Setup(), &own)
	if err != nil {
		return
	}
	var list conversations.RunList
	if _, err := c.Get(ctx, "/v1/runs", &list); err != nil {
		return
	}
	for _, status := range []string{conversations.RunWaiting, conversations.RunRunning} {
		for _, r := range list.Data {
			if r.Status == status {
				_, _ = c.Post(ctx, "/v1/conversations/"+r.Conversation+"/interrupt", new(any))
			}
		}
	}
}
