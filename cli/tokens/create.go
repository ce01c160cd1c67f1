package tokens

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/budget"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/token"
	"github.com/ohgw/ohgw/internal/truncate"
	"github.com/ohgw/ohgw/internal/workdir"
)

// createOptions is what the command takes.
type createOptions struct {
	*kit.App

	flags kit.SettingFlags

	Name    string
	Models  []string
	ChatBy  []string
	Expires string

	Workspaces []string

	AllConversations bool
	Confirm          string
	Native           bool

	Budgets, Tokens []string
}

func newCreate(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := createOptions{App: a, flags: flags}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a token and print its value once",
		Long: kit.Long(`
Creates a token and prints its value on stdout, once: only a hash is stored. The
value of the token "default" is also kept in the key store, or without a keyring
in a private file, for the commands of ohgw. A running daemon accepts the new
token at once.

--model limits the token to models; the active profile, "openhands", counts as a
model of its own. --expires takes a time from now, such as 12h or 30d, or a
date, which is the last day on which the token works.

--chat-by makes a field of the request body identify the chat, for clients that
cannot send a header: user or prompt_cache_key. Do not use it for a client that
sends the same value in all chats.

--workspace lets clients with the token choose the directory of a new
conversation with the header X-OpenHands-Workspace: this one or one below it, or
any. They may also lower the confirmation mode of a conversation. The token
"default" may choose any directory.

--all-conversations is for tools that look after other clients: the token reads,
continues, stops and deletes the conversations and responses of all tokens. It
cannot be limited with --model.

--confirm sets the lowest confirmation mode of a conversation while an agent
works in it for this token. No request can lower it, and a conversation with a
lower mode is raised. never, the default, sets none.

--native is for programs of OpenHands, where ohgw serves OpenHands' own API
(ohgw serve --native): with it a client reads secrets, runs commands and enters
all conversations. It cannot be limited with --model, --confirm, --budget or
--tokens.

--budget limits what the runs of the token may cost in US dollars, and --tokens
how many tokens they may use: in an hour, day, week or month of UTC, such as
5/day or 1M/day, or without a period in all. A run that reaches a limit ends
after its step. Further requests get 429 insufficient_quota until the limit
renews. Dollars do not limit a model whose price is not known.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example: kit.Examples(
			"ohgw tokens create open-webui",
			"ohgw tokens create ide --model openhands_claude --expires 30d",
			"ohgw tokens create editor --workspace ~/src",
			"ohgw tokens create guest --budget 5/day --tokens 1M/day",
			"ohgw tokens create janitor --all-conversations --confirm always",
		),
		Args:              kit.ExactlyNames("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runCreate(cmd.Context(), &opts)
		},
	}
	opts.addFlags(cmd)
	return cmd
}

// addFlags adds what the command takes.
func (o *createOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&o.Models, "model", nil, "limit the token to this model `id`; may be repeated")
	cmd.Flags().StringSliceVar(&o.ChatBy, "chat-by", nil, "request `field` that identifies the chat: user or prompt_cache_key; may be repeated")
	kit.Complete(cmd, "chat-by", token.ChatFields()...)
	cmd.Flags().StringArrayVar(&o.Workspaces, "workspace", nil, "let the client choose `DIR` or one below it for a conversation, or any; may be repeated")
	cmd.Flags().BoolVar(&o.AllConversations, "all-conversations", false, "open the conversations of all tokens to this one")
	cmd.Flags().StringVar(&o.Confirm, "confirm", "", "lowest confirmation `MODE` of the token's agents: never, risky or always")
	kit.Complete(cmd, "confirm", token.Confirms()...)
	cmd.Flags().BoolVar(&o.Native, "native", false, "allow OpenHands' own API, where ohgw serves it")
	cmd.Flags().StringArrayVar(&o.Budgets, "budget", nil, "US dollars that the token may spend, such as 5/day; may be repeated")
	kit.Complete(cmd, "budget", "1/hour", "5/day", "20/week", "100/month")
	cmd.Flags().StringArrayVar(&o.Tokens, "tokens", nil, "number of LLM tokens that it may use, such as 1M/day; may be repeated")
	kit.Complete(cmd, "tokens", "100k/hour", "1M/day", "5M/week", "20M/month")
	cmd.Flags().StringVar(&o.Expires, "expires", "", "`time` from now, or date, at which the token expires; default: never")
	kit.Complete(cmd, "expires", "12h", "7d", "30d", "90d")
	err := cmd.RegisterFlagCompletionFunc("model", o.CompleteModels)
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
}

// runCreate runs the command.
func runCreate(ctx context.Context, o *createOptions) error {
	if err := nameArg(o.Name); err != nil {
		return err
	}
	expires, err := expiry(o.Expires, o.Now())
	if err != nil {
		return err
	}
	budgets, err := o.budgets()
	if err != nil {
		return err
	}
	store, values, err := stored(o.App, o.flags)
	if err != nil {
		return err
	}
	dirs, err := o.workspaces()
	if err != nil {
		return err
	}
	slices.Sort(o.Models)
	slices.Sort(o.ChatBy)
	made, err := store.Create(ctx, token.Spec{
		Name: o.Name, Models: slices.Compact(o.Models), ChatBy: slices.Compact(o.ChatBy), Expires: expires, Workspaces: dirs,
		AllConversations: o.AllConversations, Confirm: o.Confirm, Native: o.Native, Budgets: budgets,
	})
	if err != nil {
		return o.Setup().TokenFault(err, o.Name)
	}
	if made.Name == token.DefaultName {
		o.Setup().TellKept(ctx, store, made, values)
	}
	if o.JSON {
		return o.PrintJSON(struct {
			tokenJSON

			Token string `json:"token"`
		}{describe(o.App, made.Token), made.Value.Reveal()})
	}
	if made.Name != token.DefaultName {
		o.Hint("This value is shown once:")
	}
	return kit.WriteText(o.Stdout, made.Value.Reveal()+"\n")
}

// workspaces resolves the directories of --workspace.
func (o *createOptions) workspaces() ([]string, error) {
	var dirs []string
	for _, name := range o.Workspaces {
		if name == workdir.Any {
			return []string{workdir.Any}, nil
		}
		path, err := o.Absolute(name)
		if err != nil {
			return nil, err
		}
		dir, err := kit.Directory(path)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs), nil
}

// budgets reads --budget and --tokens.
func (o *createOptions) budgets() (list []budget.Rule, err error) {
	for _, flag := range []struct {
		name, example string
		values        []string
		parse         func(string) (budget.Rule, error)
	}{
		{"--budget", "US dollars such as 20, or 5/day", o.Budgets, budget.ParseCostRule},
		{"--tokens", "a number of tokens such as 500k, or 1M/day", o.Tokens, budget.ParseTokensRule},
	} {
		for _, v := range flag.values {
			r, err := flag.parse(v)
			if err != nil {
				return nil, fault.NewUsage(fmt.Sprintf("%s cannot be %q", flag.name, truncate.Bytes(v, maxShown, "…")), "use "+flag.example+"; the periods are hour, day, week and month")
			}
			if !slices.Contains(list, r) {
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// maxShown is how many bytes of a wrong value an error shows.
const maxShown = 40

// expiry reads the value of --expires at the time now. A date counts in now's
// time zone, to the end of its day.
func expiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var end time.Time
	if days, found := strings.CutSuffix(s, "d"); found {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			end = now.AddDate(0, 0, int(n))
		}
	} else if d, err := time.ParseDuration(s); err == nil {
		end = now.Add(d)
	} else if day, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		end = day.AddDate(0, 0, 1)
	} else if t, err := time.Parse(time.RFC3339, s); err == nil {
		end = t
	}
	switch {
	case end.IsZero():
		return time.Time{}, fault.NewUsage(fmt.Sprintf("--expires cannot be %q", s), "use a time such as 12h or 30d, or a date such as 2030-12-31")
	case !end.After(now):
		return time.Time{}, fault.NewUsage("--expires is in the past: "+end.Format(time.RFC3339), "use a time in the future")
	}
	return end, nil
}
