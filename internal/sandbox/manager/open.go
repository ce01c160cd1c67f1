package manager

import "strings"

// Open lists what new boxes have beyond the workspace and a home directory of their
// own, each for people; nil where nothing is kept from the programs.
func (m *Manager) Open() []string {
	s := m.cfg.Settings
	if s.Mode != On {
		return nil
	}
	var open []string
	switch s.Network {
	case NoNetwork:
	case AllNetwork:
		open = append(open, "network: every public host")
	case AllowList, "":
		if len(s.Allow) > 0 {
			open = append(open, "network: "+strings.Join(s.Allow, " "))
		}
	}
	for _, list := range []struct {
		name  string
		items []string
	}{{"ports of this machine", s.Local}, {"write", s.Write}, {"read", s.Read}, {"sockets", s.Sockets}, {"variables", s.Pass}} {
		if len(list.items) > 0 {
			open = append(open, list.name+": "+strings.Join(list.items, " "))
		}
	}
	if s.GitOpen {
		open = append(open, "git: not guarded")
	}
	return open
}
