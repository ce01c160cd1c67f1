package conversations

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/setup/cloud"
	"github.com/ohgw/ohgw/internal/setup/moving"
)

// pushOptions is what the command takes.
type pushOptions struct {
	oneOptions
	moveOptions

	Message  string
	NoFiles  bool
	All      bool
	Continue bool

	Repo     string
	Branch   string
	Provider string
	Profile  string
	Title    string
}

func newPush(p *place) *cobra.Command {
	here := *p
	here.Moves = true
	opts := pushOptions{oneOptions: oneOptions{place: &here}}
	cmd := &cobra.Command{
		Use:   "push ID",
		Short: "Continue a conversation of this machine on a server",
		Long: kit.Long(`
Starts a conversation on a server that continues one of the embedded agent: with
the files of its workspace, and with what was said and done as text. The agent
there reads the end of that in its first message, and all of it in the file
.ohgw-history/history.md of its workspace, which git ignores. The conversation
here stays as it is.

Before anything is moved, the command says what stays here, and asks. Files that
git ignores and files larger than 100 MiB stay here, without --all. Keys in
.git/config stay here, too.

--message is what the agent does there next; without it, it waits for a message:
"ohgw conversations send ID". With --repo the server clones a repository, and
the files of the workspace are written over it.

One start is sent. If the push is cut after that, the command says which
conversation is there: --continue goes on, sending the files again.

With --json the output is an object with id, from, server, web_url, files and
bytes; with --dry-run, with from, server, workspace, files, bytes and left.`, 0, fault.Failed, fault.Usage, fault.Credential, fault.Unreachable, fault.Conflict, fault.Interrupted),
		Example: kit.Examples(`ohgw conversations push 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --message "Fix the tests"`,
			"ohgw conversations push 7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11 --server work --dry-run"),
		Args: kit.Exactly("the id"), ValidArgsFunction: completeHere(here.openHere),
		RunE: func(cmd *cobra.Command, args []string) error {
			here.Server = p.Server
			opts.ID = args[0]
			return runPush(cmd.Context(), &opts)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opts.Message, "message", "m", "", "what the agent does there next: a `text`")
	f.BoolVar(&opts.NoFiles, "no-files", false, "send no files, only what was said and done")
	f.BoolVar(&opts.All, "all", false, "also send files that git ignores, and large ones")
	f.BoolVar(&opts.Continue, "continue", false, "continue a push that was cut")
	f.StringVar(&opts.Repo, "repo", "", "clone this `repository` there first: OWNER/NAME")
	f.StringVar(&opts.Branch, "branch", "", "of this `branch`")
	f.StringVar(&opts.Provider, "git-provider", "", "where the repository is, such as `github`")
	f.StringVar(&opts.Profile, "profile", "", "use this LLM profile of the account: its `name`")
	f.StringVar(&opts.Title, "title", "", "`title` of the conversation there; default: the same as here")
	opts.addFlags(cmd)
	return cmd
}

// runPush runs the command.
func runPush(ctx context.Context, o *pushOptions) error {
	id, err := idArg(o.ID)
	if err != nil {
		return err
	}
	lib, err := o.openHere(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	record, err := lib.Record(ctx, id)
	if err != nil {
		return explain(err)
	}
	acc, err := o.openV1(ctx)
	if err != nil {
		return err
	}
	defer acc.Close()
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return err
	}
	p := moving.Push{
		From: lib, To: acc, Server: acc.Server.Name, ID: id, Message: o.Message, Go: o.Continue, State: filepath.Join(dirs.State, "push"),
		Start: account.StartRequest{Profile: o.Profile, Repo: o.Repo, Branch: o.Branch, Provider: o.Provider, Title: o.Title},
		Now:   o.Now, Report: o.progress, Watch: o.watched,
	}
	plan, err := o.plan(ctx, &p, record, dirs.Home)
	if err != nil {
		return err
	}
	if goOn, err := o.ask(ctx, o.moveOptions, plan, plan.Left, plan.question(record)); err != nil || !goOn {
		return err
	}
	made, err := p.Run(ctx)
	if err != nil {
		return pushFault(err, id, acc)
	}
	return o.tellPushed(ctx, acc, plan, made)
}

// openV1 opens the account, which has to have V1 of the API.
func (o *pushOptions) openV1(ctx context.Context) (cloud.Account, error) {
	acc, err := o.account(ctx)
	if err != nil {
		return acc, err
	}
	done := o.TellLate("waiting for " + acc.Server.Host())
	server, err := acc.Probe(ctx)
	done()
	switch {
	case err != nil:
		err = cloud.Fault(err, acc.Server)
	case !server.V1:
		err = fault.New("the server "+acc.Server.Name+" has V0 of the API only, which takes no workspaces", "start a new conversation there: ohgw conversations new --server "+fault.Word(acc.Server.Name), nil)
	default:
		return acc, nil
	}
	acc.Close()
	return cloud.Account{}, err
}

// pushFault is a failure of a push as a person should read it.
func pushFault(err error, id string, acc cloud.Account) error {
	half, ok := errors.AsType[*moving.UnfinishedError](err)
	if !ok {
		return transferFault(err, acc)
	}
	e := &fault.Error{Msg: "the push was interrupted", Code: fault.Interrupted, Err: half.Err}
	if known, ok := errors.AsType[*fault.Error](transferFault(half.Err, acc)); ok {
		e.Msg, e.Code, e.Err = known.Msg, known.Code, known.Err
	}
	name := fault.Word(half.Server)
	if half.Step == "start" {
		e.Msg += "; the conversation " + half.New + " may be starting on the server " + half.Server
	} else {
		e.Msg += "; the conversation " + half.New + " is on the server " + half.Server + ", but not complete"
	}
	e.Hint = "go on: ohgw conversations push " + id + " --server " + name + " --continue; or remove it: ohgw conversations remove " + half.New + " --server " + name
	return e
}

// tellPushed tells what was made.
func (o *pushOptions) tellPushed(ctx context.Context, acc cloud.Account, plan pushPlan, made string) error {
	conv, err := acc.Get(ctx, made)
	if err != nil {
		conv = account.Conversation{ID: made} // It is there.
	}
	if o.JSON {
		return o.PrintJSON(struct {
			ID     string `json:"id"`
			From   string `json:"from"`
			Server string `json:"server"`
			WebURL string `json:"web_url"`
			Files  int    `json:"files"`
			Bytes  int64  `json:"bytes"`
		}{conv.ID, plan.From, plan.Server, conv.WebURL, plan.Files, plan.Bytes})
	}
	o.Note("%d files, %s, are there. %s is at %s", plan.Files, bytesText(plan.Bytes), conv.ID, cmp.Or(conv.WebURL, acc.Server.URL))
	o.Hint("Follow it with: ohgw conversations tail %s --server %s --follow", conv.ID, acc.Server.Name)
	return kit.WriteText(o.Stdout, conv.ID+"\n")
}

// question asks for the yes.
func (p pushPlan) question(r control.Record) string {
	what := "no files"
	if p.sends {
		what = strconv.Itoa(p.Files) + " files (" + bytesText(p.Bytes) + ") of " + p.Workspace
	}
	return "Continue the conversation " + strconv.Quote(cmp.Or(setup.Clean(r.Title), p.From)) + " on the server " + p.Server + ", with " + what + "?"
}
