package serve

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/logfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup/serving"
)

const (
	// startLimit bounds how long a daemon in the background may take to be ready.
	startLimit = time.Minute
	// endLimit bounds how long one that is not wanted any more may take to end.
	endLimit = 15 * time.Second
	// shownLines is how much of the log is shown when the daemon does not start.
	shownLines = 20
)

// detach starts the daemon in the background and waits until it is ready.
func detach(ctx context.Context, o *options) error {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	if _, err := o.Settings(o.flags); err != nil {
		return err // without a second process
	}
	if info, err := instance.Find(dirs.Runtime); err == nil {
		return claimFault(&instance.RunningError{Dir: dirs.Runtime, Info: info}, dirs)
	}
	if err := paths.MakePrivate(dirs.State); err != nil {
		return claimFault(err, dirs)
	}
	log, offset, err := openLog(dirs.ServeLog())
	if err != nil {
		return fault.New("the log cannot be written", "check its owner and permissions: ls -l "+shellword.Of(dirs.ServeLog()), err)
	}
	defer func() { _ = log.Close() }() // The daemon has its own.
	child, err := o.background(log)
	if err != nil {
		return err
	}
	ready, err := child.await(ctx)
	said, _ := logfile.Since(dirs.ServeLog(), offset, shownLines) // best effort, to say more
	if err != nil {
		return notReady(ctx, o, err, string(said))
	}
	ready.Log = dirs.ServeLog()
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "warning:") || strings.HasPrefix(line, "note:") {
			o.Note("%s", strings.TrimSpace(line))
		}
	}
	tellDetached(ctx, o.App, ready)
	return nil
}

// openLog opens the log for the first words of the daemon; offset is where they
// begin.
func openLog(path string) (log *os.File, offset int64, err error) {
	if log, err = logfile.OpenRaw(path); err != nil {
		return nil, 0, err
	}
	info, err := log.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, log.Close())
	}
	return log, info.Size(), nil
}

// errEnded: the daemon ended without a failure, for example by a signal.
var errEnded = errors.New("it ended")

// child is the daemon in the background while it starts.
type child struct {
	cmd   *exec.Cmd
	ready *os.File // it writes a line of JSON there when it is ready
}

// background starts this program as a daemon without a terminal, in a session
// of its own, with the same settings.
func (o *options) background(log *os.File) (*child, error) {
	program, err := o.Executable()
	if err != nil {
		return nil, fault.New("the path of this program is unknown", "start it by its absolute path", err)
	}
	ready, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start in the background: %w", err)
	}
	args := append([]string{"serve", "--" + detachedFlag}, o.flags.Args()...)
	cmd := exec.Command(program, append(args, globalArgs(o.App)...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = o.Environ(), out, log, ownSession()
	err = cmd.Start()
	_ = out.Close() // The child has it.
	if err != nil {
		_ = ready.Close()
		return nil, fault.New("the daemon cannot be started", "run it in the foreground: ohgw serve", err)
	}
	return &child{cmd, ready}, nil
}

// globalArgs are the flags of every command that matter to the daemon.
func globalArgs(a *kit.App) []string {
	var args []string
	for flag, given := range map[string]bool{"--quiet": a.Quiet, "--verbose": a.Verbose, "--debug": a.Debug} {
		if given {
			args = append(args, flag)
		}
	}
	if a.Config != "" {
		args = append(args, "--config="+a.Config)
	}
	return args
}

// await waits until the daemon is ready. Where it is not, it has ended
// afterwards.
func (c *child) await(ctx context.Context) (ready readyJSON, err error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.ready.Close() })
	defer stop()
	line, err := bufio.NewReader(c.ready).ReadBytes('\n')
	_ = c.ready.Close() // Nothing else comes.
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err == nil {
		return ready, c.cmd.Process.Release()
	}
	if ctx.Err() == nil { // it has ended by itself
		return readyJSON{}, cmp.Or(c.cmd.Wait(), errEnded)
	}
	if instance.Terminate(c.cmd.Process) != nil {
		_ = c.cmd.Process.Kill()
	}
	timer := time.AfterFunc(endLimit, func() { _ = c.cmd.Process.Kill() })
	defer timer.Stop()
	_ = c.cmd.Wait() // It was told to end.
	return readyJSON{}, ctx.Err()
}

// notReady prints what a daemon said that did not start, and returns the error for
// it.
func notReady(ctx context.Context, o *options, err error, said string) error {
	if ctx.Err() != nil {
		return ctx.Err() // Ctrl-C
	}
	if said = strings.TrimSpace(said); said != "" {
		o.Note("%s\n", said)
	}
	f := &fault.Error{Msg: "the daemon did not start", Hint: "see the end of its log: ohgw logs", Code: fault.Failed, Err: err}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		f.Code, f.Err = fault.Code(exit.ExitCode()), nil // it has said why
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Err = fmt.Errorf("it was not ready after %s", startLimit)
	}
	return f
}

// tellDetached says that the daemon is ready, and what can be done with it.
func tellDetached(ctx context.Context, a *kit.App, r readyJSON) {
	if a.JSON {
		kit.WriteJSONLine(a.Stdout, r)
		return
	}
	if !a.Stderr.TTY() {
		a.Note("ohgw: ready at %s, process %d; log: %s; to stop it: ohgw stop", r.BaseURL, r.PID, r.Log)
		return
	}
	if a.Quiet {
		return
	}
	var t kit.Table
	t.Add("Base URL", r.BaseURL)
	t.Add("Agents", r.Backend.Name+" "+r.Backend.Version)
	t.Add("Log", r.Log)
	a.Note("%s\n", a.Stderr.Styled(iostream.Bold, "ohgw "+r.Version+" is ready, in the background."))
	_ = t.WritePairs(a.Stderr) // To stderr: an error cannot be shown anywhere.
	if key, err := a.Setup().DefaultToken(ctx); err == nil && r.Key == serving.DefaultKey {
		a.Note("\nFor a client started from a shell:\n\n  export OPENAI_BASE_URL=%s OPENAI_API_KEY=%s", r.BaseURL, key.Reveal())
	}
	a.Note("\nTo stop it: ohgw stop. To follow its log: ohgw logs -f")
}

// keepLog makes a daemon in the background write its log itself, so that no file
// of it grows without limit, and what the runtime says of a crash with it.
func keepLog(a *kit.App, path string) error {
	log, err := logfile.Open(path, logfile.Options{Opened: func(f *os.File) { _ = debug.SetCrashOutput(f, debug.CrashOptions{}) }})
	if err != nil {
		return err
	}
	a.Stderr = iostream.New(log, false, nil)
	return nil
}
