package openhands

import "encoding/json"

// Extension is a plugin or a skill that is installed.
type Extension struct {
	Name         string  `json:"name"`
	Version      string  `json:"version"`
	Description  string  `json:"description"`
	Enabled      bool    `json:"enabled"`
	Source       string  `json:"source"`
	RequestedRef *string `json:"requested_ref"` // nil: none was asked for
	ResolvedRef  *string `json:"resolved_ref"`  // the commit; nil: a directory was copied
	RepoPath     *string `json:"repo_path"`
	InstalledAt  string  `json:"installed_at"`
	Path         string  `json:"install_path"`
}

// PluginSkill is a skill of a plugin, or a command of it.
type PluginSkill struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

// PluginInfo is a plugin that is there.
type PluginInfo struct {
	Name        string        `json:"name"`
	Version     string        `json:"version"`
	Description string        `json:"description"`
	Path        string        `json:"path"`
	Skills      []PluginSkill `json:"skills"`
	Files       []string      `json:"files"`
}

// FetchedPlugin is a plugin whose files are on this machine.
type FetchedPlugin struct {
	Path        string          `json:"path"`
	ResolvedRef *string         `json:"resolved_ref"`
	Source      string          `json:"source"`
	RepoPath    *string         `json:"repo_path"`
	Manifest    json.RawMessage `json:"manifest"`
	Skills      []string        `json:"skills"`
	Commands    []string        `json:"commands"`
}
