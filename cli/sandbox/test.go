package sandbox

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox/escape"
)

func newTest(a *kit.App) *cobra.Command {
	return &cobra.Command{
		Use:   "test",
		Short: "Try to break out of the sandbox",
		Long: kit.Long(`
Tries to break out of the sandbox in seven ways: read a file outside, write
beside the workspace, connect to a port of this machine, connect to a Unix
socket outside, make a namespace, signal ohgw, and redirect git. Everything that
the attempts could reach is made for the test and removed afterwards.

The exit code is 7 if an attempt succeeds, or if there is no sandbox. With
--json the output has attempts (name, refused). In a pipe, each line is a result
and an attempt separated by a tab.`, 0, fault.Failed, fault.Usage, fault.Refused),
		Example:           kit.Examples("ohgw sandbox test", "ohgw sandbox test --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runTest(cmd.Context(), &testOptions{App: a}) },
	}
}

// testOptions is what the command takes.
type testOptions struct{ *kit.App }

// attemptJSON is how an attempt went.
type attemptJSON struct {
	Name    string `json:"name"`
	Refused bool   `json:"refused"`
}

// runTest runs the command.
func runTest(ctx context.Context, o *testOptions) error {
	level, err := best(ctx)
	if err != nil {
		return err
	}
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	u, err := user(o.App, dirs)
	if err != nil {
		return err
	}
	results, err := escape.Run(ctx, level, u)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fault.New("the sandbox cannot be tested", "see: ohgw sandbox status", err)
	}
	escaped := ""
	attempts := make([]attemptJSON, 0, len(results))
	var t kit.Table
	for _, r := range results {
		attempts = append(attempts, attemptJSON(r))
		verdict := "refused"
		if !r.Refused {
			verdict, escaped = "SUCCEEDED", r.Name
		}
		t.Add(verdict, r.Name)
	}
	if o.JSON {
		err = o.PrintJSON(map[string]any{"attempts": attempts})
	} else {
		err = t.WritePairs(o.Stdout)
	}
	if err == nil && escaped != "" {
		err = &fault.Error{Msg: "the sandbox does not hold: " + escaped, Hint: "do not use it, and report this as a security issue", Code: fault.Refused}
	}
	return err
}
