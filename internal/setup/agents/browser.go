package agents

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/agentapi/engine/browser"
	tools "github.com/ohgw/ohgw/agentapi/engine/tool/browser"
	"github.com/ohgw/ohgw/agentapi/engine/toolset"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/manager"
	"github.com/ohgw/ohgw/internal/setup"
)

// FindBrowser gives the path of the browser that agents would use with these settings.
func FindBrowser(env *setup.Env, s *config.Settings) (string, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return "", err
	}
	return browser.Find(s.Browser, env.Environ(), dirs.Home)
}

// openBrowsers makes what starts Chromium. It starts nothing.
func openBrowsers(env *setup.Env, chosen string, dirs paths.Set, conversations string, log *slog.Logger) *browser.Pool {
	return browser.NewPool(browser.Config{
		Find: func() (string, error) { return browser.Find(chosen, env.Environ(), dirs.Home) },
		Dir:  filepath.Join(dirs.State, "browser"),
		Mark: sandbox.Mark{State: conversations, Conversation: "browser"},
		Log:  log,
	})
}

// browserOf opens the browsers of conversations, whose network is that of their boxes.
func browserOf(pool *browser.Pool, m *manager.Manager) func(context.Context, engine.ToolEnv, toolset.SaveFunc) (tools.Browser, error) {
	return func(_ context.Context, e engine.ToolEnv, save toolset.SaveFunc) (tools.Browser, error) {
		if _, err := pool.Find(); err != nil {
			return nil, err
		}
		return pool.Open(browser.SessionConfig{
			Conversation: e.Conversation, Save: save,
			Proxy: func() (string, func() error, error) {
				return m.Proxy(manager.Env{
					Conversation: e.Conversation, Dir: e.Dir, Workspace: e.Workspace, Profile: e.Profile, Blocked: e.Host.Blocked,
				})
			},
		}), nil
	}
}
