package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/fault"
)

// workspaceTable is the table of the config file whose tables are for single
// workspaces.
const workspaceTable = "sandbox.workspace"

// WorkspaceField is a setting that the config file has for one workspace.
type WorkspaceField struct {
	Workspace string // as it is in the file
	Field
}

// Name is the key of the setting as the config file would have it in one line.
func (f WorkspaceField) Name() string {
	return workspacePrefix(f.Workspace) + strings.TrimPrefix(f.Key, sandboxPrefix)
}

// In is a Config in which the field has its value for the workspace.
func (f WorkspaceField) In(s *Settings) Config { return Config{Sandbox: s.Workspaces[f.Workspace]} }

// WorkspaceFields are the settings that the config file has for single workspaces,
// by workspace and then as in [Fields].
func (s *Settings) WorkspaceFields() []WorkspaceField { return slices.Clone(s.inside) }

func workspacePrefix(workspace string) string {
	return workspaceTable + "." + strconv.Quote(workspace) + "."
}

// cutWorkspaces takes the tables of workspaces out of the tree, whose other tables
// have known keys.
func cutWorkspaces(path string, tree map[string]any) (map[string]map[string]any, error) {
	sandbox, ok := tree["sandbox"].(map[string]any)
	if !ok || sandbox["workspace"] == nil {
		return nil, nil
	}
	tables, ok := sandbox["workspace"].(map[string]any)
	if !ok {
		return nil, usage("invalid setting: "+workspaceTable+" in "+path, `write a table for each workspace, such as [sandbox.workspace."~/src/app"]`)
	}
	delete(sandbox, "workspace")
	found := map[string]map[string]any{}
	for _, at := range slices.Sorted(maps.Keys(tables)) {
		table, isTable := tables[at].(map[string]any)
		if !isTable || !filepath.IsAbs(at) && at != "~" && !strings.HasPrefix(at, "~/") {
			return nil, usage(fmt.Sprintf("invalid setting: %s.%s in %s", workspaceTable, at, path),
				`write a table with the path of the workspace, absolute or with ~/, such as [sandbox.workspace."~/src/app"]`)
		}
		values := map[string]any{}
		flatten("", table, values)
		if err := checkKeys(path, workspacePrefix(at), values, workspaceFields()); err != nil {
			return nil, err
		}
		found[at] = values
	}
	return found, nil
}

// workspaceFields are the settings of a workspace, with their keys there.
func workspaceFields() []Field {
	fields := sandboxFields()
	for i := range fields {
		fields[i].Key = strings.TrimPrefix(fields[i].Key, sandboxPrefix)
	}
	return fields
}

// takeWorkspaces gives the workspaces their settings.
func (s *Settings) takeWorkspaces(tables map[string]map[string]any) error {
	for _, at := range slices.Sorted(maps.Keys(tables)) {
		var c Config
		for _, f := range sandboxFields() {
			v, ok := tables[at][strings.TrimPrefix(f.Key, sandboxPrefix)]
			if !ok {
				continue
			}
			set := WorkspaceField{Workspace: at, Field: f}
			if f.whole {
				return usage("invalid setting: "+set.Name()+" in "+s.File, "it is the same for all workspaces: set "+f.Key)
			}
			texts, err := f.texts(v)
			if err == nil {
				err = f.put(&c, Origin{FromFile, s.File}, texts)
			}
			if err != nil {
				return invalid(set.Name()+" in "+s.File, fmt.Sprintf("%v", v), err)
			}
			s.inside = append(s.inside, set)
		}
		if s.Workspaces == nil {
			s.Workspaces = map[string]Sandbox{}
		}
		s.Workspaces[at] = c.Sandbox
	}
	return nil
}

// usage returns the error for a file or a command line that says what cannot be.
func usage(msg, hint string) error {
	return &fault.Error{Msg: msg, Hint: hint, Code: fault.Usage}
}
