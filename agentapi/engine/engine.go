// Package engine is the embedded agent: an agentapi.Backend in this process,
// without Python and without a server.
//
// Its conversations are OpenHands' own: the directories below Config.Dir are
// those of an agent-server, and either continues what the other has written.
// The engine knows which conversations are open, makes their agents out of profiles and
// settings, and closes conversations that are not in use. What happens in a conversation
// is the task of package conversation.
package engine

import (
	"context"
	"errors"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine/apierr"
	"github.com/ohgw/ohgw/agentapi/engine/delegation"
	"github.com/ohgw/ohgw/agentapi/engine/hookagent"
	"github.com/ohgw/ohgw/agentapi/engine/library"
	"github.com/ohgw/ohgw/agentapi/engine/modelset"
	"github.com/ohgw/ohgw/agentapi/engine/pluginset"
	"github.com/ohgw/ohgw/agentapi/engine/session"
	"github.com/ohgw/ohgw/agentapi/engine/store"
	"github.com/ohgw/ohgw/agentapi/engine/store/journal"
	"github.com/ohgw/ohgw/agentapi/engine/storedagent"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/engine/vault"
)

// Backend runs conversations in this process. It joins what it is made of: the conversations
// that are open, and how one is opened, made, continued or removed. What OpenHands' own
// programs may do besides is in [controlled].
type Backend struct {
	cfg       *Config
	opening   apierr.Opening
	roster    *roster
	founder   *founder
	assembler *assembler
	table     *table
	library   *library.Library
	sessions  session.Config

	vault      *vault.Vault
	plugins    *pluginset.Set
	delegation *delegation.Delegation
}

var _ agentapi.Backend = (*Backend)(nil)

// New makes a backend. Close ends it.
func New(given Config) *Backend {
	cfg := given.complete()
	cfg.journal = cfg.openJournal()
	roster := &roster{cfg: cfg}
	secrets := vault.New(vault.Config{Seal: cfg.Seal, Unseal: cfg.Unseal, HTTP: cfg.HTTP, BaseURL: cfg.BaseURL, Now: cfg.Now, Log: cfg.Log})
	plugins := pluginset.New(pluginset.Config{
		Dir: cfg.Dir, Home: cfg.Home, Base: cfg.Base, Path: pathOf(cfg.SkillEnv), Seal: cfg.Seal, Vault: secrets, Now: cfg.Now, Log: cfg.Log,
	})
	founder := &founder{cfg: cfg, roster: roster, vault: secrets, plugins: plugins, agents: new(storedagent.Cache)}
	tasks := delegation.New(delegation.Config{
		Home: cfg.Home, Base: cfg.Base, Profiles: cfg.Profiles, Plugins: plugins, Vault: secrets, Member: founder.member, Box: cfg.gitBox,
		Options: cfg.storeOptions(), Now: cfg.Now, NewID: cfg.NewID, Log: cfg.Log,
	})
	catalog := store.NewCatalog(cfg.Dir, cfg.Now, func(id string, err error) {
		if cfg.TellsLeftOut {
			return
		}
		cfg.Log.Warn("a conversation is damaged and left out of lists", "conversation", id, "err", err)
	})
	table := newTable(tableConfig{Idle: cfg.Idle, MaxIdle: cfg.MaxIdle, IdleMemory: cfg.IdleMemory, Catalog: catalog, Now: cfg.Now, Log: cfg.Log})
	return &Backend{
		cfg: cfg, opening: apierr.Opening{Dir: cfg.Dir, Log: cfg.Log}, roster: roster,
		founder: founder,
		assembler: &assembler{
			cfg: cfg, roster: roster, models: modelset.New(cfg.Profiles, cfg.NewModel), vault: secrets, plugins: plugins, delegation: tasks, schemas: new(tool.Schemas),
			hookAgents: hookagent.Config{Vault: secrets, Options: cfg.storeOptions(), Now: cfg.Now, NewID: cfg.NewID},
		},
		table: table, library: library.New(library.Config{Dir: cfg.Dir, Open: table, Catalog: catalog, Logs: store.NewLogs(cfg.Dir, cfg.Now), Options: cfg.storeOptions(), Log: cfg.Log}),
		sessions: session.Config{Dir: cfg.Dir, Vault: secrets, Seal: cfg.Seal, HTTP: cfg.HTTP, Now: cfg.Now, NewID: cfg.NewID, Log: cfg.Log},
		vault:    secrets, plugins: plugins, delegation: tasks,
	}
}

// Status reports that the engine is there: it is in this process.
func (b *Backend) Status(context.Context) agentapi.Status {
	s := agentapi.Status{Name: "embedded", Version: b.cfg.Version, SharesFiles: true}
	if b.table.ended() {
		s.Err = errClosed
	}
	return s
}

// Profiles lists the profiles and the agents as they are now.
func (b *Backend) Profiles(ctx context.Context) ([]agentapi.Profile, error) {
	return b.roster.list(ctx)
}

// Pause ends the run of an open conversation after the step in flight.
func (b *Backend) Pause(ctx context.Context, id string) error {
	now := b.table.current(id)
	if now == nil {
		return nil // nothing runs
	}
	return now.conv.Pause(ctx)
}

// Close interrupts all runs and closes all conversations.
func (b *Backend) Close() error { return errors.Join(b.table.close(), b.cfg.journal.Close()) }

// openJournal opens the journal of the conversations; nil: the system has none.
func (cfg *Config) openJournal() *journal.Journal {
	if !store.Journals {
		return nil
	}
	opts := cfg.storeOptions()
	var disk store.Files = store.Disk{}
	if opts.Files != nil {
		disk = opts.Files
	}
	return journal.Open(journal.Config{Dir: cfg.Dir, Disk: disk, Now: cfg.Now, Restore: store.Restorer(cfg.Dir, opts), Log: cfg.Log})
}
