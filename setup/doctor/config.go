package doctor

import (
	"context"
	"path/filepath"
)

// checkConfig reads the settings as serve would.
func checkConfig(_ context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		r := failed(err)
		r.Findings[0].Repair = joinHints(r.Findings[0].Repair, `${EDITOR:-vi} "$(ohgw config path)"`)
		return r
	}
	r := fine("the settings are valid; there is no config file")
	if s.Found {
		r = fine("%s is valid", s.File)
		if info, err := w.Stat(s.File); err == nil && w.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			r = r.fail("other users can change "+s.File, "other users could change where your agents work and who may call them", "chmod go-w "+s.File)
		}
	}
	switch dir := filepath.Clean(s.Workspace); {
	case s.Workspace == "":
	case dir == filepath.Dir(dir): // a root
		r = r.fail("the workspace is "+dir+": every file on this machine", s.Origin("workspace").String(), "choose a directory for the agents' work: ohgw serve --workspace DIR")
	default:
		if info, err := w.Stat(dir); err == nil && !info.IsDir() {
			r = r.fail("the workspace "+dir+" is not a directory", s.Origin("workspace").String(), "choose an existing directory: ohgw serve --workspace DIR")
		}
	}
	if s.NoAuth {
		r = r.warn("no API key is required: every program on this machine can run commands as you", s.Origin("no_auth").String(), "remove --no-auth, and create a key for each client: ohgw tokens create NAME")
	}
	return r
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
