package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/engine/definition"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/storage"
	"github.com/ohgw/ohgw/setup/agentmodels"
)

// newOptions is what the command takes.
type newOptions struct {
	*options

	Name        string
	Description string
	LLM         string
	Tools       []string
	Project     bool
}

func newNew(shared *options) *cobra.Command {
	opts := newOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent definition",
		Long: kit.Long(`
Writes a new agent definition to ~/.agents/agents/NAME.md, or with --project
into the directory of --workspace, by default the working directory. Edit the
file to give the agent its instructions.

With --json, it is one object with name, model and path.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example: kit.Examples("ohgw agents new reviewer --description Reviewer", "ohgw agents new tester --tools terminal --project"),
		Args:    kit.Exactly("the name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runNew(&opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Description, "description", "", "`text` that says when to use the agent")
	f.StringVar(&opts.LLM, "llm", definition.Inherit, "the LLM `profile` that answers")
	f.StringSliceVar(&opts.Tools, "tools", []string{"terminal", "file_editor", "task_tracker"}, "the `tools` of the agent")
	f.BoolVar(&opts.Project, "project", false, "write the file into the workspace")
	kit.Complete(cmd, "description")
	_ = cmd.RegisterFlagCompletionFunc("llm", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return shared.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
	}) // The flag is there.
	kit.Complete(cmd, "tools", "terminal", "file_editor", "task_tracker")
	return cmd
}

// runNew runs the command.
func runNew(o *newOptions) error {
	name := agentmodels.Slug(o.Name)
	if name == "" || strings.HasPrefix(name, ".") {
		return fault.NewUsage(fmt.Sprintf("%q cannot be the name of an agent", o.Name), "use letters, digits and dashes")
	}
	dir, err := o.dir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+".md")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fault.New("cannot create the directory of the agent", "make it writable: "+storage.Access(dir, os.Stat, keyfile.Mine), err)
	}
	if err := create(path, o.text()); err != nil {
		return err
	}
	id := modelID(agentmodels.Entry{Name: name})
	if o.JSON {
		return o.PrintJSON(map[string]string{"name": name, "model": id, "path": path})
	}
	o.Note("The agent %q was created; its model is %s. Write its instructions into the file.", o.Name, id)
	return kit.WriteText(o.Stdout, path+"\n")
}

// create writes a file that is not there yet.
func create(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // the person named it
	if errors.Is(err, fs.ErrExist) {
		return &fault.Error{Msg: "there is already an agent at " + path, Hint: "edit that file, or use another name", Code: fault.Conflict}
	}
	if err == nil {
		_, err = file.WriteString(text)
		if err = errors.Join(err, file.Close()); err != nil {
			_ = os.Remove(path) // it is incomplete
		}
	}
	if err != nil {
		return fault.New("cannot write "+path, "check that the disk has free space and that the directory is writable", err)
	}
	return nil
}

// dir returns where the new file belongs.
func (o *newOptions) dir() (string, error) {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return "", err
	}
	base := dirs.Home
	if o.Project {
		s, err := o.Settings(o.flags)
		if err != nil {
			return "", err
		}
		if base = s.Workspace; base == "" {
			if base, err = o.Getwd(); err != nil {
				return "", fault.New("cannot find the working directory", "change to a directory that exists", err)
			}
		}
	}
	return filepath.Join(base, filepath.FromSlash(definition.Primary)), nil
}

// text is the file.
func (o *newOptions) text() string {
	description := o.Description
	if description == "" {
		description = "Say here when to use this agent."
	}
	var tools strings.Builder
	for _, t := range o.Tools {
		fmt.Fprintf(&tools, "\n  - %s", quote(t))
	}
	return fmt.Sprintf("---\nname: %s\ndescription: %s\nmodel: %s\ntools:%s\n---\nWrite here what the agent has to know and how it works.\n",
		quote(o.Name), quote(description), quote(o.LLM), tools.String())
}

// quote is a text as YAML has to have it.
func quote(text string) string { return strconv.Quote(text) }
