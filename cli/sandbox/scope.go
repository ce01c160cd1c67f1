package sandbox

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/grants"
	"github.com/ohgw/ohgw/internal/sandbox/netpolicy"
	"github.com/ohgw/ohgw/internal/suggest"
	"github.com/ohgw/ohgw/internal/uuid"
	"github.com/ohgw/ohgw/setup/library"
)

// store is what the user has granted.
func store(a *kit.App) (*grants.Store, error) {
	dirs, err := a.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	u, err := user(a, dirs)
	if err != nil {
		return nil, err
	}
	return grants.Open(grants.Config{State: u.State, Home: u.Home, Private: u.Private, Now: a.Now}), nil
}

// scope is where a grant holds.
type scope struct {
	Workspace    string // as it was written; "." is the current directory
	Conversation string
}

func (s *scope) addTo(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&s.Workspace, "workspace", "", what+" only in the workspace `DIR`, or here")
	cmd.Flags().Lookup("workspace").NoOptDefVal = "."
	cmd.Flags().StringVar(&s.Conversation, "conversation", "", what+" only in this conversation (`ID`)")
	kit.Complete(cmd, "conversation")
	if err := cmd.MarkFlagDirname("workspace"); err != nil {
		panic("cli: " + err.Error()) // The flag is not there: a mistake in this package.
	}
}

// accesses are the words for what is allowed.
var accesses = []string{string(sandbox.Write), string(sandbox.Read), string(sandbox.Network), string(sandbox.Socket)}

// twoWords wants an access and a target.
func twoWords(cmd *cobra.Command, args []string) error {
	if len(args) == 3 && cmd.Flags().Changed("workspace") {
		return fault.NewUsage("unexpected argument "+netpolicy.Quote(args[2]), "a directory is written behind =: --workspace=DIR")
	}
	if err := kit.Exactly("ACCESS (write, read, net or socket)", "TARGET")(cmd, args); err != nil {
		return err
	}
	return knownAccess(args[0], cmd.Name())
}

func knownAccess(word, command string) error {
	for _, known := range accesses {
		if word == known {
			return nil
		}
	}
	hint := "write one of: " + strings.Join(accesses, ", ")
	if near := suggest.Nearest(word, accesses); near != "" {
		hint = "did you mean ohgw sandbox " + command + " " + near + "?"
	}
	return fault.NewUsage(netpolicy.Quote(word)+" is not an access", hint)
}

// named reads the grant that two words and a scope mean, with absolute paths.
func named(ctx context.Context, a *kit.App, store *grants.Store, words []string, s scope) (g grants.Grant, err error) {
	if s.Workspace != "" && s.Conversation != "" {
		return g, fault.NewUsage("--workspace and --conversation exclude each other", "remove one of them")
	}
	conversation, err := conversationID(ctx, a, store, s.Conversation)
	if err != nil {
		return g, err
	}
	g = grants.Grant{Access: sandbox.Access(words[0]), Target: words[1], Conversation: conversation}
	isPath := g.Access == sandbox.Read || g.Access == sandbox.Write || g.Access == sandbox.Socket && strings.ContainsAny(g.Target, "/~")
	if isPath && g.Target != "" {
		if g.Target, err = a.Absolute(g.Target); err != nil {
			return g, err
		}
	}
	if s.Workspace != "" {
		g.Workspace, err = a.Absolute(s.Workspace)
	}
	return g, err
}

// conversationID finds the id of a conversation whose beginning may have been typed.
// One that has a grant may be gone.
func conversationID(ctx context.Context, a *kit.App, store *grants.Store, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	id, plain, err := library.ReadID(typed)
	if id != "" || err != nil {
		return id, err
	}
	list, _ := store.List() // Without it the conversations say what is meant.
	var granted []string
	for _, g := range list {
		if uuid.Begins(g.Conversation, plain) && !slices.Contains(granted, g.Conversation) {
			granted = append(granted, g.Conversation)
		}
	}
	if len(granted) == 1 {
		return granted[0], nil
	}
	s, err := a.Settings(nil)
	if err != nil {
		return "", err
	}
	lib, err := library.Open(ctx, a.Setup(), s, a.Logger("text"))
	if err != nil {
		return "", err
	}
	defer func() { _ = lib.Close() }() // Nothing was changed.
	return lib.Find(ctx, typed)
}

// grantFault turns an error of the store into one for a person.
func grantFault(err error) error {
	if invalid, ok := errors.AsType[*grants.InvalidError](err); ok {
		return fault.NewUsage(invalid.Why, invalid.Hint)
	}
	if damaged, ok := errors.AsType[*grants.DamagedError](err); ok {
		return fault.New("the grants in "+damaged.File+" cannot be read", "repair the file, or remove all grants: ohgw sandbox revoke --all", damaged.Err)
	}
	return err
}

// spelled brings a grant into the spelling of the store, also if it cannot be added
// any more: the path may be gone, or the rules may be stricter now.
func spelled(s *grants.Store, g grants.Grant) grants.Grant {
	if canonical, err := s.Canonical(g); err == nil {
		return canonical
	}
	for _, path := range []*string{&g.Target, &g.Workspace} {
		if real, err := filepath.EvalSymlinks(*path); err == nil && filepath.IsAbs(*path) {
			*path = real
		} else if filepath.IsAbs(*path) {
			*path = filepath.Clean(*path)
		}
	}
	if id, err := uuid.Parse(g.Conversation); err == nil {
		g.Conversation = id
	}
	if e, err := netpolicy.ParseEntry(g.Target); err == nil && g.Access == sandbox.Network {
		g.Target = e.String()
	}
	return g
}

// oldAge is the age from which a grant is worth a second look.
const oldAge = 30 * 24 * time.Hour

// grantJSON is a grant in JSON.
type grantJSON struct {
	Access       sandbox.Access `json:"access"`
	Target       string         `json:"target"`
	Workspace    *string        `json:"workspace"`
	Conversation *string        `json:"conversation"`
	Created      *time.Time     `json:"created"`
	Old          bool           `json:"old"`
	Gone         bool           `json:"gone"`
}

func describe(a *kit.App, g grants.Grant) grantJSON {
	d := grantJSON{Access: g.Access, Target: g.Target, Created: kit.TimeOrNull(g.Created), Old: a.Now().Sub(g.Created) > oldAge, Gone: gone(g)}
	if g.Workspace != "" {
		d.Workspace = &g.Workspace
	}
	if g.Conversation != "" {
		d.Conversation = &g.Conversation
	}
	return d
}

// gone reports whether a grant is for a path that is not there any more.
func gone(g grants.Grant) bool { return len(grants.Targets([]grants.Grant{g}, g.Access)) == 0 }
