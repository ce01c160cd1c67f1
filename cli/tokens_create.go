package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/setup"
	"github.com/ohgw/ohgw/internal/token"
)

type tokensCreateInput struct {
	flags settingFlags

	Name    string
	Models  []string
	ChatBy  []string
	Expires string
}

func newTokensCreate(a *App, flags settingFlags) *cobra.Command {
	in := tokensCreateInput{flags: flags}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a token and print its value once",
		Long: long(`
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
		Example: examples(
			"ohgw tokens create open-webui",
			"ohgw tokens create ide --model openhands_claude --expires 30d",
		),
		Args:              exactly("the name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.Name = args[0]
			return a.tokensCreate(cmd.Context(), in)
		},
	}
	cmd.Flags().StringSliceVar(&in.Models, "model", nil, "let it use this model `id` only; may be repeated")
	cmd.Flags().StringSliceVar(&in.ChatBy, "chat-by", nil, "`field` that names the chat: user or prompt_cache_key; may be repeated")
	complete(cmd, "chat-by", token.ChatFields()...)
	cmd.Flags().StringVar(&in.Expires, "expires", "", "`time` from now or date when it ends; never if left out")
	complete(cmd, "expires", "12h", "7d", "30d", "90d")
	err := cmd.RegisterFlagCompletionFunc("model", a.completeModels)
	if err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake above.
	}
	return cmd
}

func (a *App) tokensCreate(ctx context.Context, in tokensCreateInput) error {
	if err := nameArg(in.Name); err != nil {
		return err
	}
	expires, err := expiry(in.Expires, a.Now())
	if err != nil {
		return err
	}
	store, values, err := a.storedTokens(in.flags)
	if err != nil {
		return err
	}
	slices.Sort(in.Models)
	slices.Sort(in.ChatBy)
	made, err := store.Create(ctx, token.Spec{
		Name: in.Name, Models: slices.Compact(in.Models), ChatBy: slices.Compact(in.ChatBy), Expires: expires,
	})
	if err != nil {
		return a.Setup().TokenFault(err, in.Name)
	}
	if made.Name == token.DefaultName {
		a.sayKeptToken(ctx, made, values)
	}
	if a.json {
		return a.printJSON(struct {
			tokenJSON

			Token string `json:"token"`
		}{a.tokenJSON(made.Token), made.Value.Reveal()})
	}
	if made.Name != token.DefaultName {
		a.hint("This value is shown once:")
	}
	return writeText(a.Stdout, made.Value.Reveal()+"\n")
}

// sayKeptToken says where the value of a default token is kept that was just
// made.
func (a *App) sayKeptToken(ctx context.Context, made token.Made, values *setup.KeyStore) {
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
