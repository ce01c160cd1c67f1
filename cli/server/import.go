package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ohgw/ohgw/cli/kit"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/secret"
	"github.com/ohgw/ohgw/internal/servers"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// importOptions is what the command takes.
type importOptions struct {
	options

	Replace bool
}

func newImport(a *kit.App, flags kit.SettingFlags) *cobra.Command {
	opts := importOptions{options: options{App: a, flags: flags}}
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Take over the servers of ohc and of OpenHands' CLI",
		Long: kit.Long(`
Stores the servers that two other programs have, with their keys: those of ohc
(ohc/config.json in the config directory), and that of OpenHands' CLI
(~/.openhands/cloud/api_key.txt), which is for OpenHands Cloud or the server of
OPENHANDS_CLOUD_URL. Their files are only read. No server is asked. A server
that is stored already is kept unless --replace is given.

In a pipe, each server is one line with tabs between the columns. With --json,
servers is a list of objects with name, url, from and action (stored, kept or
failed).`, 0, fault.Failed, fault.Usage, fault.Partly, fault.Credential, fault.Conflict),
		Example:           kit.Examples("ohgw server import", "ohgw server import --replace --json"),
		Args:              kit.None(),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runImport(cmd.Context(), &opts) },
	}
	cmd.Flags().BoolVar(&opts.Replace, "replace", false, "replace servers that are stored already")
	return cmd
}

// foreign is a server of another program.
type foreign struct {
	Name   string `json:"name"`
	URL    string `json:"url"`
	From   string `json:"from"` // the file
	Action string `json:"action"`

	key   string
	first bool // it is the default one there
}

// runImport runs the command.
func runImport(ctx context.Context, o *importOptions) error {
	stored, err := o.open()
	if err != nil {
		return err
	}
	found, err := o.find()
	if err != nil {
		return err
	}
	failed := 0
	for i := range found {
		if err := o.take(ctx, stored, &found[i]); err != nil {
			o.Note("%s: %s", found[i].Name, kit.Sentence(err))
			found[i].Action = "failed"
			failed++
		}
	}
	if err := o.print(found); err != nil {
		return err
	}
	if failed > 0 {
		return &fault.Error{Msg: fmt.Sprintf("%d of %d servers were not stored", failed, len(found)), Code: fault.Partly}
	}
	return nil
}

// find reads the files of the other programs.
func (o *importOptions) find() ([]foreign, error) {
	dirs, err := o.Setup().Dirs()
	if err != nil {
		return nil, err
	}
	base := o.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(dirs.Home, ".config")
	}
	places, err := o.Setup().Places()
	if err != nil {
		return nil, err
	}
	found, err := o.readOHC(filepath.Join(base, "ohc", "config.json"))
	if err != nil {
		return nil, err
	}
	own, err := o.readCLI(filepath.Join(places.CLI, "cloud", "api_key.txt"))
	return append(found, own...), err
}

// readOHC reads the servers of ohc.
func (o *importOptions) readOHC(path string) ([]foreign, error) {
	text, there, err := kit.ReadIfThere(path)
	if err != nil || !there {
		return nil, unreadable(path, err)
	}
	var config struct {
		Servers map[string]struct {
			URL     string `json:"url"`
			APIKey  string `json:"api_key"`
			Default bool   `json:"default"`
		} `json:"servers"`
		Default string `json:"default_server"`
	}
	if json.Unmarshal([]byte(text), &config) != nil {
		// The error of encoding/json can quote what it read.
		return nil, fault.New("the file is not a config of ohc: "+path, "repair it, or move it away", nil)
	}
	o.warnExposed(path)
	var found []foreign
	for _, name := range slices.Sorted(maps.Keys(config.Servers)) {
		s := config.Servers[name]
		found = append(found, foreign{Name: usable(name), URL: s.URL, From: path, key: s.APIKey, first: s.Default || name == config.Default})
	}
	return found, nil
}

// usable is a name of ohc as ohgw takes it.
func usable(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if servers.CheckName("a"+string(r)) == nil {
			return r
		}
		return '-'
	}, name), "-._")
}

// readCLI reads the key of OpenHands' CLI, which has one for all servers.
func (o *importOptions) readCLI(path string) ([]foreign, error) {
	text, there, err := kit.ReadIfThere(path)
	if err != nil || !there || strings.TrimSpace(text) == "" {
		return nil, unreadable(path, err)
	}
	o.warnExposed(path)
	f := foreign{Name: servers.HostedName, URL: o.Getenv("OPENHANDS_CLOUD_URL"), From: path, key: strings.TrimSpace(text)}
	root, err := servers.Root(f.URL)
	switch {
	case f.URL == "":
		f.URL = servers.HostedURL
	case err == nil && root != servers.HostedURL:
		f.Name = "openhands-cli"
	}
	return []foreign{f}, nil
}

func unreadable(path string, err error) error {
	if err == nil {
		return nil
	}
	return fault.New("the file cannot be read: "+path, "check its permissions: ls -l "+shellword.Of(path), err)
}

// warnExposed warns of keys that others can read.
func (o *importOptions) warnExposed(path string) {
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		o.Note("warning: other users can read the keys in %s; make it private: chmod 600 %s", path, shellword.Of(path))
	}
}

// take stores one of the servers.
func (o *importOptions) take(ctx context.Context, stored setup.Servers, f *foreign) error {
	root, err := servers.Root(f.URL)
	if err != nil {
		return err
	}
	f.URL = root
	if err := servers.CheckName(f.Name); err != nil {
		return err
	}
	key, err := secret.Parse(f.key)
	if err != nil {
		return kit.InputFault(err)
	}
	list, err := stored.Store.List()
	if err != nil {
		return err
	}
	if _, err := list.Get(f.Name); err == nil && !o.Replace {
		f.Action = "kept"
		return nil
	}
	if err := keep(ctx, stored, servers.Server{Name: f.Name, URL: root, Kind: servers.Cloud}, key, o.Replace); err != nil {
		return err
	}
	f.Action = "stored"
	if f.first && list.Default == "" {
		return stored.Store.Use(ctx, f.Name)
	}
	return nil
}

func (o *importOptions) print(found []foreign) error {
	if o.JSON {
		if found == nil {
			found = []foreign{}
		}
		return o.PrintJSON(map[string]any{"servers": found})
	}
	t := kit.Table{Header: []string{"NAME", "URL", "ACTION", "FROM"}}
	for _, f := range found {
		t.Add(f.Name, f.URL, f.Action, f.From)
	}
	if len(found) == 0 {
		o.Hint("Neither ohc nor OpenHands' CLI has stored a server here.")
	}
	return t.Write(o.Stdout)
}
