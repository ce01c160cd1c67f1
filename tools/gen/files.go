package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// file is a place on disk that commands read or write.
type file struct {
	path, meaning string
	commands      []string // the first words of those that use it; nil: all
}

// fileTable says where everything is, by default. docs/configuration.md has
// the same, with the variables that move it.
func fileTable() []file {
	daemon := []string{"serve", "status", "models", "chat", "conversations", "doctor", "connect", "service"}
	return []file{
		{"~/.config/ohgw/config.toml", "the settings; --config and OHGW_CONFIG name another file", nil},
		{
			"~/.local/state/ohgw/", "hashes of tokens, the value of the token default, records of idempotency keys, workspaces and conversations of the embedded agent",
			[]string{"serve", "chat", "tokens", "doctor"},
		},
		{"~/.local/state/ohgw/key-names.json", "the names of the keys in the keyring", []string{"keys", "profiles", "serve", "chat", "doctor"}},
		{"~/.local/state/ohgw/keys.json", "the keys themselves, with --key-store file only", []string{"keys", "profiles", "serve", "chat", "doctor"}},
		{"$XDG_RUNTIME_DIR/ohgw/", "address and lock of the running daemon; without that variable, in /run/user/UID, else in run/ in the state directory", daemon},
		{"~/.openhands/", "OpenHands' own profiles and settings", []string{"profiles", "keys", "serve", "chat", "doctor"}},
	}
}

// files lists the files of a command.
func files(r *roff, cmd *cobra.Command) {
	r.section("Files")
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	for _, f := range fileTable() {
		if f.commands == nil || !cmd.HasParent() || slices.Contains(f.commands, top.Name()) {
			r.item(italic(f.path), prose(upperFirst(f.meaning))+".")
		}
	}
}
