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
		r.Findings[0].Repair = joinHints(r.Findings[0].Repair, "ohgw config path names the file")
		return r
	}
	r := fine("the settings are valid; there is no config file")
	if s.Found {
		r = fine("%s is valid", s.File)
		if info, err := w.Stat(s.File); err == nil && w.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
			r = r.fail("others can change "+s.File, "they could choose where your agents work and who may call them", "chmod go-w "+s.File)
		}
	}
	switch dir := filepath.Clean(s.Workspace); {
	case s.Workspace == "":
	case dir == filepath.Dir(dir): // a root
		r = r.fail("the workspace is "+dir+": all files of this machine", s.Origin("workspace").String(), "name a directory for the agents' work: ohgw serve --workspace DIR")
	default:
		if info, err := w.Stat(dir); err == nil && !info.IsDir() {
			r = r.fail("the workspace "+dir+" is no directory", s.Origin("workspace").String(), "name a directory: ohgw serve --workspace DIR")
		}
	}
	if s.NoAuth {
		r = r.warn("no key is asked for: every program of this machine can run commands as you", s.Origin("no_auth").String(), "leave out --no-auth; ohgw tokens create NAME makes a key for a client")
	}
	return r
}

func joinHints(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
