package conversations

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/cloud"
	"github.com/ohgw/ohgw/internal/setup/moving"
	"github.com/ohgw/ohgw/internal/uuid"
)

// pullOptions is what the command takes.
type pullOptions struct {
	oneOptions
	moveOptions

	Workspace string
	Profile   string
	Force     bool
}

// moveOptions are those of both directions.
type moveOptions struct {
	Yes    bool
	DryRun bool
}

func (m *moveOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&m.Yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&m.DryRun, "dry-run", false, "say what would be moved and what not, and do nothing")
}

func newPull(p *place) *cobra.Command {
	here := *p
	here.Moves = true
	opts := pullOptions{oneOptions: oneOptions{place: &here}}
	cmd := &cobra.Command{
		Use:   "pull ID",
		Short: "Bring a conversation to this machine",
		Long: kit.Long(`
Copies a conversation of a server to this machine: all that happened, and the
files of its workspace. The embedded agent continues it: "ohgw chat
--conversation ID". The conversation on the server stays as it is; its sandbox
is woken if it sleeps.

Before anything is moved, the command says what stays there, and asks. It is all
here in the end or nothing. A conversation that is here already is replaced with
--force only, together with its workspace. The agent must not be running.

The workspace is unpacked into the state directory, or into the new directory
--workspace. The model is that of the profile --profile, or of the active one.

With --json the output is an object with id, server, workspace, profile, files,
bytes, skipped, secrets and mcp_servers; with --dry-run, with id, server,
workspace, profile and left.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict, fault.Interrupted),
		Example: kit.Examples("ohgw conversations pull 7f1c", "ohgw conversations pull 7f1c --server work --workspace ./teapot --yes", "ohgw conversations pull 7f1c --dry-run"),
		Args:    kit.Exactly("the id"), ValidArgsFunction: completeRemote(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			here.Server = p.Server
			opts.ID = args[0]
			return runPull(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Workspace, "workspace", "", "the new `DIR` for its files")
	f.StringVar(&opts.Profile, "profile", "", "continue with this LLM profile of this machine: its `name`; default: the active one")
	f.BoolVar(&opts.Force, "force", false, "replace a conversation of this id that is here")
	opts.addFlags(cmd)
	_ = cmd.MarkFlagDirname("workspace") // The flag is there.
	if err := cmd.RegisterFlagCompletionFunc("profile", p.completeProfileFlag); err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
	return cmd
}

// completeProfileFlag offers the LLM profiles of this machine.
func (p *place) completeProfileFlag(cmd *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	return p.CompleteProfiles(cmd, nil, text)
}

// runPull runs the command.
func runPull(ctx context.Context, o *pullOptions) error {
	name, err := o.profile()
	if err != nil {
		return err
	}
	lib, err := o.openHere(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Everything is on the disk.
	acc, conv, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	id, err := uuid.Parse(conv.ID)
	if err != nil || conv.Version == account.V0 {
		return fault.New("a V0 conversation cannot be continued here: its events are of another kind",
			"take its parts: ohgw conversations download workspace "+conv.ID+", and ohgw conversations trajectory "+conv.ID, err)
	}
	p := moving.Pull{From: acc, To: lib, ID: id, Profile: name, Replace: o.Force, Report: o.progress, Watch: o.watched}
	if p.Scratch, p.Workspace, err = o.places(conv.ID, id); err != nil {
		return err
	}
	if err := o.checkFree(ctx, lib, &p); err != nil {
		return err
	}
	plan := movePlan{ID: id, Server: acc.Server.Name, Workspace: p.Workspace, Profile: p.Profile, Left: leftThere()}
	if goOn, err := o.ask(ctx, o.moveOptions, plan, plan.Left, pullQuestion(conv, acc, plan)); err != nil || !goOn {
		return err
	}
	done, err := p.Run(ctx)
	if err != nil {
		return o.pullFault(err, acc)
	}
	return o.tellPulled(plan, done)
}

func pullQuestion(conv account.Conversation, acc cloud.Account, plan movePlan) string {
	return "Copy the conversation " + strconv.Quote(cmp.Or(setup.Clean(conv.Title), conv.ID)) + " (" + string(conv.State) + ") from " + acc.Server.Name + " to " + plan.Workspace + ", where " + profileText(plan.Profile) + " answers?"
}

// profile is the LLM profile that continues the conversation: the one that was
// named, or the active one. Without one, the first message names it.
func (o *pullOptions) profile() (string, error) {
	store, err := o.Setup().ProfileStore(0)
	if err != nil {
		return "", err
	}
	if o.Profile == "" {
		active, err := store.Active()
		if err != nil {
			return "", nil //nolint:nilerr // The first message names one.
		}
		return active, nil
	}
	name := strings.TrimPrefix(o.Profile, "openhands_")
	_, err = store.Load(name)
	if errors.Is(err, profile.ErrNotFound) || errors.Is(err, profile.ErrName) {
		return "", fault.NewUsage("there is no LLM profile "+strconv.Quote(name)+" on this machine", "ohgw profiles list shows them")
	}
	if err != nil {
		return "", fault.New("the LLM profile "+name+" cannot be used", "ohgw profiles check "+fault.Word(name), err)
	}
	return name, nil
}

// places are the directories of a pull.
func (o *pullOptions) places(hex, id string) (scratch, workspace string, err error) {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return "", "", err
	}
	scratch, workspace = filepath.Join(dirs.State, "pull", hex), filepath.Join(dirs.Workspaces(), id)
	if o.Workspace != "" {
		workspace, err = o.Absolute(o.Workspace)
	}
	return scratch, workspace, err
}

// checkFree refuses, before anything is asked or moved, what Run would refuse at its
// end. A directory that the user names is never replaced.
func (o *pullOptions) checkFree(ctx context.Context, lib conversationsHere, p *moving.Pull) error {
	_, err := lib.Record(ctx, p.ID)
	switch there := err == nil; {
	case !there && !errors.Is(err, agentapi.ErrConversationNotFound):
		return explain(err)
	case there && !o.Force:
		return &fault.Error{Msg: "the conversation is here already", Hint: "continue it: ohgw chat --conversation " + p.ID + "; or replace it, with its files: --force", Code: fault.Conflict}
	}
	if o.Workspace != "" || !o.Force {
		return moving.CheckFree(p.Workspace)
	}
	return nil
}

// pullFault is a failure of a pull as a person should read it.
func (o *pullOptions) pullFault(err error, acc cloud.Account) error {
	if _, ok := errors.AsType[*agentapi.Error](err); ok {
		return explain(err)
	}
	return transferFault(err, acc)
}

// watched shows what arrives or leaves.
func (p *place) watched(name string, size int64, from io.Reader) io.Reader {
	return &arrival{transfer{App: p.App, name: name, size: size, in: from}}
}

// tellPulled tells what was moved, and what was not.
func (o *pullOptions) tellPulled(plan movePlan, done moving.Pulled) error {
	if o.JSON {
		return o.PrintJSON(struct {
			ID        string `json:"id"`
			Server    string `json:"server"`
			Workspace string `json:"workspace"`
			Profile   string `json:"profile"`
			moving.Pulled
		}{plan.ID, plan.Server, plan.Workspace, plan.Profile, done})
	}
	o.tellLeft("Secrets that stayed there", done.Secrets)
	o.tellLeft("MCP servers that stayed there", done.Servers)
	o.tellLeft("Left out", done.Skipped)
	o.Note("%d files, %s, are in %s.", done.Files, bytesText(done.Bytes), plan.Workspace)
	o.Hint("Continue it with: ohgw chat --conversation %s", plan.ID)
	return kit.WriteText(o.Stdout, plan.ID+"\n")
}
