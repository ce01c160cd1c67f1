package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/iostream"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

func newCheck(opts *options) *cobra.Command {
	return &cobra.Command{
		Use:   "check [NAME...]",
		Short: "Check agents for problems",
		Long: kit.Long(`
Checks the files of agents, by default all of them. It prints each problem with
file, line and remedy: what keeps a file from being an agent, what it refers to
and is not there, and what of it has no effect. It changes nothing.

The exit code is 3 if a file cannot be used, and 0 if there are only warnings.
With --json, problems is a list of objects with agent, path, line, severity,
text and repair.`, 0, fault.Failed, fault.Usage, fault.Partly),
		Example:           kit.Examples("ohgw agents check", "ohgw agents check reviewer --json"),
		Args:              kit.NoKeys,
		ValidArgsFunction: completeNames(opts),
		RunE:              func(cmd *cobra.Command, args []string) error { return runCheck(cmd.Context(), opts, args) },
	}
}

// The severities of problems.
const (
	severityError   = "error"
	severityWarning = "warning"
)

// problemJSON is a problem in JSON.
type problemJSON struct {
	Agent    string `json:"agent"`
	Path     string `json:"path"`
	Line     int    `json:"line"` // 0: the whole file
	Severity string `json:"severity"`
	Text     string `json:"text"`
	Repair   string `json:"repair"`
}

// runCheck runs the command.
func runCheck(ctx context.Context, o *options, names []string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	problems, checked, err := check(ctx, r, names)
	if err != nil {
		return err
	}
	if err := printCheck(o.App, problems, checked); err != nil {
		return err
	}
	if slices.ContainsFunc(problems, func(p problemJSON) bool { return p.Severity == severityError }) {
		return &fault.Error{Msg: "some agents cannot be used", Hint: "each problem is listed with its repair", Code: fault.Partly}
	}
	return nil
}

// check finds the problems of the agents with names, or of all.
func check(ctx context.Context, r *agentmodels.Roster, names []string) (problems []problemJSON, checked int, err error) {
	entries, found, err := r.Read(ctx)
	if err != nil {
		return nil, 0, explain(err)
	}
	known := make(map[string]bool)
	for _, e := range entries {
		known[e.Name], known[e.Title] = true, true
		if len(names) > 0 && !slices.Contains(names, e.Name) && !slices.Contains(names, e.Title) {
			continue
		}
		checked++
		found = append(found, r.Probe(ctx, e)...)
	}
	problems = []problemJSON{}
	for _, p := range found {
		known[p.Agent] = true
		if len(names) > 0 && !slices.ContainsFunc(entries, func(e agentmodels.Entry) bool {
			return e.Path == p.Path && (slices.Contains(names, e.Name) || slices.Contains(names, e.Title))
		}) && !slices.Contains(names, p.Agent) {
			continue
		}
		problems = append(problems, problemOf(p))
	}
	for _, name := range names {
		if !known[name] {
			return nil, 0, fault.New(fmt.Sprintf("there is no agent %q", name), "ohgw agents list shows the agents", nil)
		}
	}
	return problems, checked, nil
}

func problemOf(p definition.Problem) problemJSON {
	severity := severityWarning
	if p.Unused {
		severity = severityError
	}
	return problemJSON{Agent: p.Agent, Path: p.Path, Line: p.Line, Severity: severity, Text: p.Msg, Repair: p.Hint}
}

func printCheck(a *kit.App, problems []problemJSON, checked int) error {
	if a.JSON {
		return a.PrintJSON(map[string]any{"problems": problems})
	}
	if !a.Stdout.TTY() {
		t := kit.Table{}
		for _, p := range problems {
			t.Add(p.Severity, p.Agent, fmt.Sprintf("%s:%d", p.Path, p.Line), p.Text, p.Repair)
		}
		return t.Write(a.Stdout)
	}
	var b strings.Builder
	for _, p := range problems {
		severity := p.Severity
		if severity == severityError {
			severity = a.Stdout.Styled(iostream.Red, severity)
		}
		fmt.Fprintf(&b, "%s:%d: %s: %s\n", setup.Clean(p.Path), p.Line, severity, setup.Clean(p.Text))
		fmt.Fprintf(&b, "  %s %s\n", a.Stdout.Styled(iostream.Faint, "repair:"), setup.Clean(p.Repair))
	}
	if len(problems) == 0 {
		fmt.Fprintf(&b, "agents checked: %d; no problems.\n", checked)
	}
	return kit.WriteText(a.Stdout, b.String())
}
