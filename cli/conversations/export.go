package conversations

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/setup/library"
)

// exportOptions is what the command takes.
type exportOptions struct {
	oneOptions

	File  string // "-" is standard output
	Force bool
}

func newExport(p *place) *cobra.Command {
	opts := exportOptions{oneOptions: oneOptions{place: p}}
	cmd := &cobra.Command{
		Use:   "export ID FILE",
		Short: "Write a conversation to a file",
		Long: kit.Long(`
Writes a conversation to a zip archive, without its secrets: events, state and
long outputs, as OpenHands keeps them. The files of its workspace are not in it.
"-" as FILE is standard output. A file that is there is replaced with --force
only. An archive has what was said and done: treat it as confidential.

With --json the output has exported, the id, and file. Where an event is missing
on the disk, events_left_out is how many are behind it, which an import drops.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict),
		Example: kit.Examples("ohgw conversations export 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 talk.zip", "ohgw conversations export 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 - > talk.zip"),
		Args:    kit.Exactly("the id", "the file"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return []string{"zip"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return completeIDs(p)(cmd, args, text)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.ID, opts.File = args[0], args[1]
			return runExport(cmd.Context(), &opts)
		},
	}
	cmd.Flags().BoolVar(&opts.Force, "force", false, "replace a file that is there")
	return cmd
}

// runExport runs the command.
func runExport(ctx context.Context, o *exportOptions) error {
	lib, id, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	if o.File == "-" {
		if err := lib.Export(ctx, id, o.Stdout); err != nil {
			return library.Fault(err)
		}
		_, err := o.tellGap(ctx, lib, id)
		return err
	}
	path, err := o.Absolute(o.File)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !o.Force {
		return &fault.Error{Msg: "the file is there already: " + path, Hint: "choose another name, or replace it with --force", Code: fault.Conflict}
	}
	if err := exportTo(ctx, lib, id, path); err != nil {
		return err
	}
	leftOut, err := o.tellGap(ctx, lib, id)
	if err != nil {
		return err
	}
	if o.JSON {
		return o.PrintJSON(exportJSON{id, path, leftOut})
	}
	o.Note("The conversation was written to %s.", path)
	return nil
}

// exportJSON is what was exported, in JSON.
type exportJSON struct {
	Exported string `json:"exported"`
	File     string `json:"file"`
	LeftOut  int    `json:"events_left_out,omitempty"`
}

// exportTo writes the whole file or none.
func exportTo(ctx context.Context, lib control.Library, id, path string) error {
	half, err := os.CreateTemp(filepath.Dir(path), ".ohgw-export-")
	if err != nil {
		return fault.New("the file cannot be written: "+path, "choose a directory that you can write to", err)
	}
	err = lib.Export(ctx, id, half)
	if err == nil {
		if err = errors.Join(half.Sync(), half.Close()); err == nil {
			err = rename(half.Name(), path)
		}
		if err != nil {
			err = fault.New("the file cannot be written: "+path, "free disk space, or choose another directory", err)
		}
	} else {
		_ = half.Close() // The export has failed already.
	}
	if err != nil {
		return errors.Join(library.Fault(err), os.RemoveAll(half.Name()))
	}
	return nil
}

// rename gives a file the name of another one beside it.
func rename(half, path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return atomicfile.Over(root, filepath.Base(half), filepath.Base(path))
}
