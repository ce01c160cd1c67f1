package conversations

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/event"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/library"
)

func newFiles(p *place) *cobra.Command {
	opts := oneOptions{place: p}
	return &cobra.Command{
		Use:   "files ID",
		Short: "List the files that the agent worked on",
		Long: kit.Long(`
Lists the files that the agent has viewed or changed with its file editor, with
how often and what it did last. What its shell commands did is not known here;
git shows that.

With --json, files is a list of objects with path, edits, views and last.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable),
		Example:           kit.Examples("ohgw conversations files 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11", "ohgw conversations files 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --json"),
		Args:              kit.Exactly("the id"),
		ValidArgsFunction: completeIDs(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID = args[0]
			return runFiles(cmd.Context(), &opts)
		},
	}
}

// fileJSON is a file that the agent worked on.
type fileJSON struct {
	Path  string `json:"path"`
	Edits int    `json:"edits"`
	Views int    `json:"views"`
	Last  string `json:"last"` // the last command: view, create, str_replace, insert, undo_edit
}

// runFiles runs the command.
func runFiles(ctx context.Context, o *oneOptions) error {
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	files := workedOn{}
	r := lib.Reader(id)
	if err := r.Read(ctx, files.note); err != nil {
		return library.Fault(err)
	}
	list := files.list()
	if o.JSON {
		return o.PrintJSON(map[string]any{"files": list})
	}
	t := kit.Table{Header: []string{"PATH", "EDITS", "VIEWS", "LAST"}}
	for _, f := range list {
		t.Add(f.Path, strconv.Itoa(f.Edits), strconv.Itoa(f.Views), f.Last)
	}
	if len(list) == 0 {
		o.Hint("The agent has used no file editor in this conversation.")
	}
	return t.Write(o.Stdout)
}

// workedOn are files by their paths.
type workedOn map[string]*fileJSON

// note counts a result of the file editor that was not an error.
func (w workedOn) note(raw json.RawMessage) error {
	var e event.Event
	if json.Unmarshal(raw, &e) != nil {
		return nil //nolint:nilerr // it cannot be read by anybody
	}
	b, ok := e.Body.(*event.Observation)
	if !ok {
		return nil
	}
	var o struct {
		Kind    string `json:"kind"`
		Command string `json:"command"`
		Path    string `json:"path"`
		IsError bool   `json:"is_error"`
	}
	if json.Unmarshal(b.Observation, &o) != nil || o.Kind != "FileEditorObservation" || o.IsError || o.Path == "" {
		return nil //nolint:nilerr // nothing was done to a file
	}
	f := w[o.Path]
	if f == nil {
		f = &fileJSON{Path: o.Path}
		w[o.Path] = f
	}
	if f.Last = o.Command; o.Command == "view" {
		f.Views++
	} else {
		f.Edits++
	}
	return nil
}

func (w workedOn) list() []fileJSON {
	list := make([]fileJSON, 0, len(w))
	for _, f := range w {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b fileJSON) int { return strings.Compare(a.Path, b.Path) })
	return list
}
