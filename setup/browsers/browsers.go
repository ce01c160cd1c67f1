// Package browsers gives agents in this process the browser of this machine, with the
// network of their sandboxes. It starts none before an agent uses it.
package browsers

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
	"github.com/ohgw/ohgw/setup"
)

// Find returns the path of the browser that agents would use with these settings.
func Find(env *setup.Env, s *config.Settings) (string, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return "", err
	}
	return browser.Find(s.Browser, env.Environ(), dirs.Home)
}

// Open makes what starts the browser. conversations is the directory of all conversations,
// which is in the mark of the browser's processes.
func Open(env *setup.Env, s *config.Settings, dirs paths.Set, conversations string, log *slog.Logger) *browser.Pool {
	cfg := browser.Config{
		Find: func() (string, error) { return browser.Find(s.Browser, env.Environ(), dirs.Home) },
		Dir:  filepath.Join(dirs.State, "browser"),
		Mark: sandbox.Mark{State: conversations, Conversation: "browser"},
		Log:  log,
	}
	if s.BrowserHeaded {
		cfg.Window = func() (*browser.Window, error) { return browser.FindWindow(env.Environ(), dirs.Home) }
	}
	return browser.NewPool(cfg)
}

// Asked checks what a person has asked for on the command line: a browser, or its window.
func Asked(env *setup.Env, s *config.Settings) error {
	dirs, err := env.Dirs()
	if err != nil {
		return err
	}
	wanted := func(on bool, key string) bool { return on && s.Origin(key).Kind == config.FromFlag }
	if wanted(s.BrowserTools, "browser_tools") {
		if _, err := Find(env, s); err != nil {
			return err
		}
	}
	if wanted(s.BrowserHeaded, "browser_headed") {
		_, err = browser.FindWindow(env.Environ(), dirs.Home)
	}
	return err
}

// Of opens the browsers of conversations, whose network is that of their boxes.
func Of(pool *browser.Pool, m *manager.Manager) func(context.Context, engine.ToolEnv, toolset.BrowserFiles) (tools.Browser, error) {
	return func(_ context.Context, e engine.ToolEnv, files toolset.BrowserFiles) (tools.Browser, error) {
		if err := pool.Check(); err != nil {
			return nil, err
		}
		return pool.Open(browser.SessionConfig{
			Save: files.Save, Load: files.Load,
			Proxy: func(uid int) (string, func() error, error) {
				return m.Proxy(manager.Env{
					Conversation: e.Conversation, Dir: e.Dir, Workspace: e.Workspace, Profile: e.Profile, Blocked: e.Host.Blocked,
				}, uid)
			},
		}), nil
	}
}
