package sandbox

import (
	"context"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/boxes"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
	"github.com/ohgw/ohgw/setup"
)

func newRun(a *kit.App) *cobra.Command {
	opts := runOptions{App: a}
	cmd := &cobra.Command{
		Use:   "run -- COMMAND [ARGUMENT]...",
		Short: "Run a command in the sandbox",
		Long: kit.Long(`
Runs a command in the sandbox, with the current directory as its workspace. The
command sees what an agent sees. Its home directory is kept for the next command
in the same workspace; /tmp and all processes are gone when the command ends.

The paths of the settings sandbox.files, and what ohgw sandbox allow has allowed
everywhere or for this workspace, are allowed here, too, except sockets.

The command reaches no other host without --network HOST, which is a name,
*.name for the names below it, name:port, or a preset: @packages for the hosts
of your package managers, as these are set up on this machine, or one of them:
@go, @node, @python, @rust, @java, @system; @auto for those that the files in
the workspace call for; @github. Without a port, 80 and 443 are meant.

The exit code is that of the command, or 128 + the number of the signal that
ended it.`, 0, fault.Failed, fault.Usage, fault.Refused, fault.Interrupted),
		Example:           kit.Examples("ohgw sandbox run -- make test", "ohgw sandbox run -- bash", "ohgw sandbox run --network @go --network example.com -- go mod download"),
		Args:              command,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRun(cmd.Context(), &opts, args) },
	}
	cmd.Flags().StringArrayVar(&opts.Network, "network", nil, "allow connections to this `HOST`, @PRESET, or off (repeatable)")
	kit.Complete(cmd, "network", choices()...)
	return cmd
}

// choices are the values of --network that need no knowledge of hosts.
func choices() []string {
	list := []string{off}
	for _, name := range netpolicy.Presets() {
		list = append(list, "@"+name)
	}
	return list
}

// command wants a command, whose arguments may be anything but keys.
func command(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fault.NewUsage("COMMAND is missing", "see "+cmd.CommandPath()+" --help")
	}
	return kit.NoKeys(cmd, args)
}

// runOptions is what the command takes.
type runOptions struct {
	*kit.App

	Network []string
}

// runRun runs the command.
func runRun(ctx context.Context, o *runOptions, args []string) error {
	r, err := newRules(o.App)
	if err != nil {
		return err
	}
	p, env, err := r.plan(ctx, o.App)
	if err != nil {
		return err
	}
	reserved := setup.ReservedPorts(r.all)
	n, err := newNetwork(ctx, o, reserved, grants.Targets(r.granted, sandbox.Network), &p)
	if err != nil {
		return err
	}
	defer n.close()
	level, err := best(ctx)
	if err != nil {
		return err
	}
	box, err := boxes.New(boxes.Config{
		Level: level, Policy: p, GitOpen: r.settings.GitOpen, Reserved: reserved, Sought: setup.SoughtPorts(ctx, o.Setup(), r.all), Refused: n.refuse, Serve: n.serve,
	})
	if err != nil {
		return startFault(err)
	}
	defer func() { _ = box.Close() }()
	code, err := runIn(ctx, o.App, box, sandbox.Program{Args: args, Env: append(env, n.env...), Dir: p.Workspace})
	n.report(o)
	if err != nil {
		return err
	}
	if code != 0 {
		return &kit.ExitError{Code: code}
	}
	return nil
}

// best is the level that there is on this machine.
func best(ctx context.Context) (sandbox.Level, error) {
	var prober probe.Prober
	r := prober.Ask(ctx)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case r.Level == sandbox.Off:
		return "", unavailable(r)
	}
	return r.Level, nil
}

func startFault(err error) error {
	return fault.New("the command cannot be started in the sandbox", "check its name and its path, and the git directory of the workspace", err)
}

// runIn runs a program with the streams of this one, and returns its exit code.
func runIn(ctx context.Context, a *kit.App, box sandbox.Box, prog sandbox.Program) (int, error) {
	s := &streams{}
	prog.Files = []*os.File{s.input(a.Stdin), s.output(a.Stdout), s.output(a.Stderr)}
	t, err := openTerminal(prog.Files[0], prog.Files[1])
	if err != nil {
		return 0, fault.New("no terminal can be opened for the command", "run it without a terminal: ohgw sandbox run -- COMMAND | cat", err)
	}
	if t != nil {
		defer t.close()
		t.give(&prog)
	}
	running, err := box.Start(ctx, prog)
	s.started()
	if err != nil {
		return 0, startFault(err)
	}
	if t != nil {
		t.carry(a.Stdout)
	}
	stop := context.AfterFunc(ctx, func() { _ = running.Kill() })
	defer stop()
	code, err := running.Wait()
	if closeErr := box.Close(); err == nil {
		err = closeErr
	}
	s.ended()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return code, err
}

// streams copies what is not a file.
type streams struct {
	theirs, ours []*os.File
	copies       sync.WaitGroup
}

// output makes a file for a writer, and copies into the writer what is written to the
// file.
func (s *streams) output(to any) *os.File {
	if f, ok := file(to); ok {
		return f
	}
	writer, _ := to.(io.Writer)
	r, w, err := os.Pipe()
	if err != nil || writer == nil {
		return nil
	}
	s.theirs, s.ours = append(s.theirs, w), append(s.ours, r)
	s.copies.Go(func() { _, _ = io.Copy(writer, r) })
	return w
}

// input is a file for a reader. A reader that is not a file gives nothing.
func (s *streams) input(from io.Reader) *os.File {
	f, _ := file(from)
	return f
}

// started closes what only the program needs.
func (s *streams) started() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
}

// ended waits for the last output: the program and all others in the box are dead.
func (s *streams) ended() {
	s.copies.Wait()
	for _, f := range s.ours {
		_ = f.Close()
	}
}

// file is the file that a stream is.
func file(stream any) (*os.File, bool) {
	if w, ok := stream.(*iostream.Writer); ok {
		stream = w.Writer
	}
	f, ok := stream.(*os.File)
	return f, ok
}
