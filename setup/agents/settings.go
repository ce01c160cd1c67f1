package agents

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
)

// engineSettings gives the engine OpenHands' settings as they are at each new
// conversation. What is wrong with them without being an error is logged when
// it is new.
type engineSettings struct {
	store   *profile.Store
	log     *slog.Logger
	browser bool // agents with the standard tools have a browser

	mu   sync.Mutex
	told string // the last warnings
}

// newEngineSettings looks at the settings, so that whoever starts the daemon
// is told at once what is wrong with them.
func newEngineSettings(files *profile.Store, browser bool, log *slog.Logger) *engineSettings {
	e := &engineSettings{store: files, browser: browser, log: log}
	_, _ = e.read(context.Background()) // it never fails
	return e
}

// chosenConfirm returns the confirmation that the user has chosen in ohgw;
// empty if OpenHands' settings decide.
func chosenConfirm(s *config.Settings) agentapi.Confirmation {
	if s.Origin("confirm").Kind == config.FromDefault {
		return ""
	}
	return agentapi.Confirmation(s.Confirm)
}

// read implements [engine.Config.Settings]. Settings that cannot be used count as
// OpenHands' defaults, as in OpenHands and in its API here, but each action waits for a
// confirmation.
func (e *engineSettings) read(context.Context) (engine.Settings, error) {
	found, err := e.store.ConversationSettings()
	e.warn(found, err)
	s := engine.Settings{MaxIterations: int(found.MaxIterations), Analyzer: found.Analyzer, Browser: e.browser}
	if text := found.Agent.Reveal(); text != "" {
		s.Agent = json.RawMessage(text)
	}
	switch {
	case err != nil: // whether the user wants to be asked is not known
		s.Confirm = agentapi.ConfirmAlways
	case found.Confirmation && found.Analyzer:
		s.Confirm = agentapi.ConfirmRisky
	case found.Confirmation:
		s.Confirm = agentapi.ConfirmAlways
	}
	return s, nil
}

func (e *engineSettings) warn(s profile.ConversationSettings, err error) {
	var notes []string
	if err != nil {
		notes = append(notes, fmt.Sprintf("%v; new conversations have OpenHands' defaults, and each action waits for a confirmation unless --confirm is set; "+
			"repair the file, or move it away: ohgw profiles check shows the problem", err))
	}
	if s.Legacy {
		notes = append(notes, "OpenHands' settings are those of its first version and are not used; start a current OpenHands once; it imports the file")
	}
	if s.Newer != "" {
		notes = append(notes, "a newer OpenHands wrote the settings: "+s.Newer+"; what ohgw does not know in them has no effect; install a newer ohgw")
	}
	if s.ACP {
		notes = append(notes, "OpenHands' settings are for an ACP agent, which needs an agent-server; the embedded agent uses only their MCP servers")
	}
	if lost := s.LostText(); lost != "" {
		notes = append(notes, "secrets in OpenHands' settings cannot be read and are not used: "+lost+"; set OH_SECRET_KEY to the key of the agent-server, or enter them again")
	}
	now := fmt.Sprint(notes)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now == e.told {
		return
	}
	e.told = now
	for _, note := range notes {
		e.log.Warn("some of OpenHands' settings have no effect here", "why", note)
	}
}

// sealer encrypts the secrets in the directories of conversations with
// OH_SECRET_KEY, as an agent-server does, and decrypts them with whatever key
// fits. Without that variable they are not stored.
func sealer(env *setup.Env, ciphers *profile.Ciphers) (seal, unseal func(string) (string, error)) {
	unseal = func(stored string) (string, error) {
		value, _, err := ciphers.Decrypt(stored)
		return value.Reveal(), err
	}
	key, found := ciphers.From("OH_SECRET_KEY")
	if !found {
		return nil, unseal
	}
	return func(value string) (string, error) {
		return key.Encrypt([]byte(value), env.Now().Truncate(time.Second), rand.Reader)
	}, unseal
}
