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

	"github.com/ohgw/ohgw/agentapi"
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
	Members     []string // of a team; none for an agent
	Mode        string
	Lead        string
}

// team reports whether a team is to be written.
func (o *newOptions) team() bool { return len(o.Members) > 0 }

func newNew(shared *options) *cobra.Command {
	opts := newOptions{options: shared}
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Create an agent definition, or a team",
		Long: kit.Long(`
Writes a new agent definition to ~/.agents/agents/NAME.md, or with --project
into the directory of --workspace, by default the working directory. Edit the
file to give the agent its instructions. With --members it writes a team to
.agents/teams/NAME.md instead.

With --json, it is one object with name, model and path.`, 0, fault.Failed, fault.Usage, fault.Conflict),
		Example: kit.Examples("ohgw agents new reviewer --description Reviewer", "ohgw agents new tester --tools terminal --project",
			"ohgw agents new crew --members reviewer,tester --mode collaborate"),
		Args: kit.Exactly("the name"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			if opts.team() && cmd.Flags().Changed("tools") {
				return fault.NewUsage("a team has no tools", "leave out --tools: the members have their own")
			}
			return runNew(&opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Description, "description", "", "`text` that says when to use the agent")
	f.StringVar(&opts.LLM, "llm", definition.Inherit, "the LLM `profile` that answers")
	f.StringSliceVar(&opts.Tools, "tools", []string{"terminal", "file_editor", "task_tracker"}, "the `tools` of the agent")
	f.BoolVar(&opts.Project, "project", false, "write the file into the workspace")
	f.StringSliceVar(&opts.Members, "members", nil, "write a team of these `agents`")
	f.StringVar(&opts.Mode, "mode", definition.Coordinate, "how the team works: coordinate, where a lead hands out work, or collaborate, where all members answer")
	f.StringVar(&opts.Lead, "lead", "", "the `agent` that leads the team")
	kit.Complete(cmd, "description")
	kit.Complete(cmd, "mode", definition.Coordinate, definition.Collaborate)
	for _, name := range []string{"members", "lead"} {
		_ = cmd.RegisterFlagCompletionFunc(name, completeNames(shared)) // The flag is there.
	}
	_ = cmd.RegisterFlagCompletionFunc("llm", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return shared.Setup().ProfileNames(), cobra.ShellCompDirectiveNoFileComp
	}) // The flag is there.
	kit.Complete(cmd, "tools", "terminal", "file_editor", "task_tracker")
	return cmd
}

// runNew runs the command.
func runNew(o *newOptions) error {
	if err := o.check(); err != nil {
		return err
	}
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
	kind, entry := "agent", agentmodels.Entry{Name: name}
	if o.team() {
		kind, entry.Name = "team", agentapi.TeamMark+name
	}
	id := modelID(entry)
	if o.JSON {
		return o.PrintJSON(map[string]string{"name": name, "model": id, "path": path})
	}
	o.Note("The %s %q was created; its model is %s. Write its instructions into the file.", kind, o.Name, id)
	return kit.WriteText(o.Stdout, path+"\n")
}

// create writes a file that is not there yet.
func create(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // the person named it
	if errors.Is(err, fs.ErrExist) {
		return &fault.Error{Msg: "there is already a file at " + path, Hint: "edit that file, or use another name", Code: fault.Conflict}
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
	if o.team() {
		return filepath.Join(base, filepath.FromSlash(definition.TeamPlace)), nil
	}
	return filepath.Join(base, filepath.FromSlash(definition.Primary)), nil
}

// check refuses what would not be a team, and what only a team has.
func (o *newOptions) check() error {
	switch {
	case !o.team() && (o.Lead != "" || o.Mode != definition.Coordinate):
		return fault.NewUsage("--mode and --lead are for teams", "name the members of the team: --members NAME,NAME")
	case o.Mode != definition.Coordinate && o.Mode != definition.Collaborate:
		return fault.NewUsage(fmt.Sprintf("--mode cannot be %q", o.Mode), "use coordinate or collaborate")
	case len(o.Members) > definition.MaxMembers:
		return fault.NewUsage(fmt.Sprintf("a team has at most %d members, and --members has %d", definition.MaxMembers, len(o.Members)), "name fewer members, or create two teams")
	}
	return nil
}

// teamText is the file of a team.
func (o *newOptions) teamText(description string) string {
	var members strings.Builder
	for _, name := range o.Members {
		fmt.Fprintf(&members, "\n  - %s", quote(name))
	}
	lead := ""
	if o.Lead != "" {
		lead = "lead: " + quote(o.Lead) + "\n"
	}
	return fmt.Sprintf("---\nname: %s\ndescription: %s\nmodel: %s\nmode: %s\n%smembers:%s\n---\nWrite here what the team has to know and how it works.\n",
		quote(o.Name), quote(description), quote(o.LLM), o.Mode, lead, members.String())
}

// text makes the file.
func (o *newOptions) text() string {
	description := o.Description
	if description == "" {
		description = "Say here when to use this agent."
		if o.team() {
			description = "Say here when to use this team."
		}
	}
	if o.team() {
		return o.teamText(description)
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
