package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/buildinfo"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/doctor"
	"github.com/ohgw/ohgw/internal/fault"
)

// bundleJSON is a report for an issue.
type bundleJSON struct {
	Made      time.Time       `json:"made"`
	Build     buildinfo.Info  `json:"build"`
	Doctor    doctorJSON      `json:"doctor"`
	Settings  []bundleSetting `json:"settings"`
	Variables []string        `json:"variables"` // that are set, by name
	Profiles  []bundleProfile `json:"profiles"`
	Files     []bundleFile    `json:"files"`
}

type bundleSetting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

type bundleProfile struct {
	Name    string `json:"name"`
	Model   string `json:"model"`
	BaseURL string `json:"base_url"`
	Active  bool   `json:"active"`
	Key     string `json:"key"`  // how one is written in the file
	Auth    string `json:"auth"` // api_key or subscription
	Problem string `json:"problem,omitempty"`
}

type bundleFile struct {
	Path string `json:"path"`
	Mode string `json:"mode"`
	Size int64  `json:"size"`
}

// checkBundle looks at the name before the checks take their time.
func (a *app) checkBundle(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return &fault.Error{Msg: path + " is there already", Hint: "name a new file", Code: fault.Conflict}
	}
	return nil
}

// writeBundle writes the report, for the user only.
func (a *app) writeBundle(ctx context.Context, path string, report doctorJSON, p *patient) error {
	doc := bundleJSON{
		Made: a.Now().UTC().Truncate(time.Second), Build: buildinfo.Get(), Doctor: report, Settings: []bundleSetting{},
		Variables: a.variablesSet(), Profiles: p.bundleProfiles(), Files: a.bundleFiles(),
	}
	if s, err := p.settings(); err == nil {
		for _, f := range config.Fields() {
			doc.Settings = append(doc.Settings, bundleSetting{f.Key, f.Value(s.Config), s.Origin(f.Key).String()})
		}
	}
	text, err := doctor.Bundle(doc, a.hidden(ctx))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &fault.Error{Msg: path + " is there already", Hint: "name a new file", Code: fault.Conflict}
	}
	if err == nil {
		_, err = f.Write(text)
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(path)) // half a report says wrong things
		}
	}
	if err != nil {
		return fault.New("the report cannot be written to "+path, "name a file in a directory of yours with room", err)
	}
	a.note("The report is in %s. Keys, user and host names were taken out; read it before you publish it.", path)
	return nil
}

// secretName is a variable that holds a secret, or may.
var secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|credential|auth)`)

// told are the variables whose names are worth telling, by their beginnings.
var told = []string{"OHGW_", "OH_", "OPENHANDS_", "LLM_", "SESSION_API_KEY", "OPENAI_", "ANTHROPIC_", "XDG_", "LANG", "LC_", "TERM", "NO_COLOR", "CLICOLOR", "DBUS_", "JOURNAL_", "LISTEN_", "NOTIFY_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}

// variablesSet are the names of variables that matter and are set.
func (a *app) variablesSet() []string {
	names := []string{}
	for _, v := range a.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if slices.ContainsFunc(told, func(begin string) bool { return strings.HasPrefix(strings.ToUpper(name), begin) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// hidden is everything that this process knows and nobody else should.
func (a *app) hidden(ctx context.Context) doctor.Hidden {
	h := doctor.Hidden{Names: map[string]string{}}
	for _, v := range a.Environ() {
		if name, value, _ := strings.Cut(v, "="); secretName.MatchString(name) && !isChoice(name, value) {
			h.Secrets = append(h.Secrets, value)
			for part := range strings.SplitSeq(value, ",") {
				h.Secrets = append(h.Secrets, strings.TrimSpace(part))
			}
		}
	}
	if dirs, err := a.Paths(); err == nil {
		h.Names[dirs.Home] = "~"
		if dir, user := filepath.Split(dirs.Home); slices.Contains([]string{"home", "Users"}, filepath.Base(dir)) {
			h.Names[user] = "USER" // who has files elsewhere, too
		}
	}
	if value, err := a.defaultToken(ctx); err == nil {
		h.Secrets = append(h.Secrets, value.Reveal())
	}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		h.Names[a.Getenv(name)] = "USER"
	}
	if host, err := os.Hostname(); err == nil {
		h.Names[host] = "HOST"
	}
	return h
}

// isChoice tells whether a variable is a setting with one of the words that it
// may have: OHGW_KEY_STORE=keyring.
func isChoice(name, value string) bool {
	return slices.ContainsFunc(config.Fields(), func(f config.Field) bool { return f.Env == name && slices.Contains(f.Choices, value) })
}

// bundleProfiles are the profiles without anything that is a secret.
func (p *patient) bundleProfiles() []bundleProfile {
	out := []bundleProfile{}
	store, err := p.profileStore(&profilesInput{})
	if err != nil {
		return out
	}
	list, err := store.List(context.Background())
	if err != nil {
		return out
	}
	for _, s := range list {
		out = append(out, bundleProfile{s.Name, s.Model, s.BaseURL, s.Active, string(s.Key), s.Auth, s.Problem})
	}
	return out
}

// bundleFiles are the files of ohgw, by name, mode and size.
func (a *app) bundleFiles() []bundleFile {
	out := []bundleFile{}
	dirs, err := a.Paths()
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
				out = append(out, bundleFile{filepath.Join(dir, e.Name()), fmt.Sprintf("%v", info.Mode()), info.Size()})
			}
		}
	}
	return out
}
