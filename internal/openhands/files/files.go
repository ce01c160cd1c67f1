// Package files keeps what package openhands describes in OpenHands' own files, beside
// other programs that use them: a change is made under the file's lock, replaces the
// file as a whole, and leaves every byte of what it does not change.
//
// Secrets in a file are encrypted with the key of the agent-server where there is one,
// and in clear text where there is none, as OpenHands does. No error quotes one.
package files

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ohgw/ohgw/internal/fernet"
	"github.com/ohgw/ohgw/internal/openhands"
	"github.com/ohgw/ohgw/internal/openhands/document"
	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/secret"
)

// Config is what a Store needs.
type Config struct {
	Profiles *profile.Store
	Ciphers  *profile.Ciphers // to decrypt; may be nil
	// Wire encrypts the secrets for clients where OpenHands has no key. It is never used
	// in files. Zero: then clients get no encrypted secrets.
	Wire fernet.Key
	// Keys are where ohgw itself keeps keys of profiles; nil: nowhere.
	Keys secret.Store
	// Resolver finds the keys of profiles. Nil: those in the files only.
	Resolver *secret.Resolver
	// Skills names the skills that agents find without a workspace. Nil: none.
	Skills func(ctx context.Context) ([]string, error)
	// Browser reports whether agents that name the tools of a browser have them. Nil: they
	// do not.
	Browser func() bool
	Locking document.Locking
	Now     func() time.Time
	Log     *slog.Logger // never gets a secret; nil: nothing is logged
}

// Store opens OpenHands' files in one base directory, by kind. It is safe for concurrent
// use.
type Store struct {
	Sealing       *Sealing
	Settings      *Settings
	Servers       *Servers
	Logins        *Logins
	Secrets       *Secrets
	Connections   *Connections
	LLMProfiles   *LLMProfiles
	AgentProfiles *AgentProfiles
	MetaProfiles  *MetaProfiles
}

// place is what all kinds of files have in common.
type place struct {
	cfg     *Config
	base    string
	sealing *Sealing
}

// New does not touch the directory yet.
func New(cfg Config) *Store {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	at := place{cfg: &cfg, base: cfg.Profiles.Base(), sealing: &Sealing{cfg: &cfg}}
	file, recipes, metas := &settingsFile{at}, &recipeFiles{at}, &metaFiles{at}
	connections := &Connections{place: at, settings: file}
	llms := &LLMProfiles{place: at, settings: file, connections: connections}
	settings := &Settings{place: at, file: file, llms: llms, recipes: recipes, metas: metas}
	return &Store{
		Sealing:       at.sealing,
		Settings:      settings,
		Servers:       &Servers{sealing: at.sealing, settings: settings},
		Logins:        &Logins{sealing: at.sealing, settings: file},
		Secrets:       &Secrets{at},
		Connections:   connections,
		LLMProfiles:   llms,
		AgentProfiles: &AgentProfiles{place: at, files: recipes, settings: file, llms: llms, metas: metas, browser: cfg.Browser},
		MetaProfiles:  &MetaProfiles{place: at, files: metas, settings: settings},
	}
}

// faultsOf are faults at a place of a call.
func faultsOf(list []pydantic.Fault, at ...any) []pydantic.Fault {
	out := make([]pydantic.Fault, len(list))
	for i, f := range list {
		f.Loc = append(append([]any{}, at...), f.Loc...)
		out[i] = f
	}
	return out
}

// busy returns err, as a Busy error if it is a failure of the lock.
func busy(err error) error {
	if document.IsLockError(err) {
		return &openhands.Error{Kind: openhands.Busy, Msg: "Profile store is busy. Please retry.", Err: err}
	}
	return err
}

func refuse(kind openhands.Kind, format string, args ...any) error {
	return &openhands.Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// text returns a member that is a text, and nil for any other member.
func text(v jsonedit.Value) *string {
	if t, ok := v.Text(); ok {
		return &t
	}
	return nil
}

// newDoc is the text of a file that is made.
func newDoc(src string) (*jsonedit.Doc, error) { return jsonedit.Parse([]byte(src)) }
