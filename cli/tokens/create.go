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
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/token"
)

// createOptions is what the command takes.
type createOptions struct {
	*kit.App

	flags kit.SettingFlags

	Name    string
	Models  []string
	ChatBy  []string
	Expires string
}

func newCreate(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := createOptions{App: a, flags: flags}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token and print its value once",
		Long: kit.Long(`
Makes a token and prints its value on stdout, this one time: only a hash is
kept. The value of the token "default" is kept in the store of keys, too, for
the commands of ohgw. A running daemon takes a token from its next request on.

--model limits the token to models; "openhands", the active profile, is one of
its own. --expires takes a time from now such as 12h or 30d, or a date, which is
the last day that the token works on.

--chat-by lets a field of a request's body say which chat it belongs to, for
clients that have no header for that: user or prompt_cache_key. It is not for
clients where that field is the same in all chats.`,
			0, fault.Failed, fault.Usage, fault.Credential, fault.Conflict),
		Example: kit.Examples(
			"ohgw tokens create open-webui",
			"ohgw tokens create ide --model openhands_claude --expires 30d",
		),
		Args:              kit.Exactly("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Name = args[0]
			return runCreate(cmd.Context(), &opts)
		},
	}
	cmd.Flags().StringSliceVar(&opts.Models, "model", nil, "let it use this model `id` only; may be repeated")
	cmd.Flags().StringSliceVar(&opts.ChatBy, "chat-by", nil, "`field` that names the chat: user or prompt_cache_key; may be repeated")
	kit.Complete(cmd, "chat-by", token.ChatFields()...)
	cmd.Flags().StringVar(&opts.Expires, "expires", "", "`time` from now or date when it ends; never if left out")
	kit.Complete(cmd, "expires", "12h", "7d", "30d", "90d")
	err := cmd.RegisterFlagCompletionFunc("model", a.CompleteModels)
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
	return cmd
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
	store, values, err := stored(o.App, o.flags)
	if err != nil {
		return err
	}
	slices.Sort(o.Models)
	slices.Sort(o.ChatBy)
	made, err := store.Create(ctx, token.Spec{
		Name: o.Name, Models: slices.Compact(o.Models), ChatBy: slices.Compact(o.ChatBy), Expires: expires,
	})
	if err != nil {
		return o.Setup().TokenFault(err, o.Name)
	}
	if made.Name == token.DefaultName {
		sayKept(ctx, o.App, made, values)
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

// sayKept says where the value of a default token is kept that was just
// made.
func sayKept(ctx context.Context, a *kit.App, made token.Made, values *setup.KeyStore) {
	if made.NotKept != nil {
		a.Note("note: nothing keeps this value: %s; --key-store file would", setup.NotKeptText(ctx, made.NotKept, values))
		return
	}
	a.Setup().WarnCleartext(values)
	a.Setup().RememberStore(values)
	a.Detail("the value is in the %s", values)
}

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
		return time.Time{}, fault.NewUsage("--expires is over already: "+end.Format(time.RFC3339), "name a time to come")
	}
	return end, nil
}
