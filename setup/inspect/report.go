package inspect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/pattern"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/doctor"
)

// SettingState is a setting in the report, with the place it comes from.
type SettingState struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// ProfileState is a profile in the report, without its key.
type ProfileState struct {
	Name    string `json:"name"`
	Model   string `json:"model"`
	BaseURL string `json:"base_url"`
	Active  bool   `json:"active"`
	Key     string `json:"key"`  // how one is written in the file
	Auth    string `json:"auth"` // api_key or subscription
	Problem string `json:"problem,omitempty"`
}

// FileState is a file or directory in the report.
type FileState struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Size int64  `json:"size"`
}

// secretName is a variable that holds a secret, or may.
var secretName = pattern.Of(`(?i)(key|token|secret|passw|credential|auth)`)

// told are the variables whose names are worth telling, by their beginnings.
var told = []string{"OHGW_", "OH_", "OPENHANDS_", "LLM_", "SESSION_API_KEY", "OPENAI_", "ANTHROPIC_", "XDG_", "LANG", "LC_", "TERM", "NO_COLOR", "CLICOLOR", "DBUS_", "JOURNAL_", "LISTEN_", "NOTIFY_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// Variables are the names of variables that matter and are set.
func Variables(env *setup.Env) []string {
	names := []string{}
	for _, v := range env.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(told, func(begin string) bool { return strings.HasPrefix(strings.ToUpper(name), begin) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Hidden returns everything that this process knows and that must stay out of a report.
func Hidden(ctx context.Context, env *setup.Env) doctor.Hidden {
	h := doctor.Hidden{Names: map[string]string{}}
	for _, v := range env.Environ() {
		if name, value, _ := strings.Cut(v, "="); secretName().MatchString(name) && !isChoice(name, value) {
			h.Secrets = append(h.Secrets, value)
			for part := range strings.SplitSeq(value, ",") {
				h.Secrets = append(h.Secrets, strings.TrimSpace(part))
			}
		}
	}
	if dirs, err := env.Paths(); err == nil {
		h.Names[dirs.Home] = "~"
		if dir, user := filepath.Split(dirs.Home); slices.Contains([]string{"home", "Users"}, filepath.Base(dir)) {
			h.Names[user] = "USER" // who has files elsewhere, too
		}
	}
	if value, err := env.DefaultToken(ctx); err == nil {
		h.Secrets = append(h.Secrets, value.Reveal())
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		h.Names[env.Getenv(name)] = "USER"
	}
	if host, err := env.Hostname(); err == nil {
		h.Names[host] = "HOST"
	}
	return h
}

// isChoice reports whether a variable is a setting with one of the words that it
// may have: OHGW_KEY_STORE=keyring.
func isChoice(name, value string) bool {
	return slices.ContainsFunc(config.Fields(), func(f config.Field) bool { return f.Env == name && slices.Contains(f.Choices, value) })
}

// ProfilesIn lists the profiles without anything that is a secret.
func (p *Installation) ProfilesIn() []ProfileState {
	out := []ProfileState{}
	store, err := p.ProfileStore(0)
	if err != nil {
		return out
	}
	list, err := store.List(context.Background())
	if err != nil {
		return out
	}
	for _, s := range list {
		out = append(out, ProfileState{s.Name, s.Model, s.BaseURL, s.Active, string(s.Key), s.Auth, s.Problem})
	}
	return out
}

// Files lists the files of ohgw, by name, mode and size.
func Files(env *setup.Env) []FileState {
	out := []FileState{}
	dirs, err := env.Paths()
	if err != nil {
		return out
	}
	for _, dir := range []string{dirs.Config, dirs.State, dirs.Runtime} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				out = append(out, FileState{filepath.Join(dir, e.Name()), fmt.Sprintf("%v", info.Mode()), info.Size()})
			}
		}
	}
	return out
}
