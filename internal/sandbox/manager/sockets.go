package manager

import (
	"path/filepath"
	"slices"
	"strings"
)

// services are the sockets that have names, with the variable that says where each is.
var services = map[string]string{"ssh-agent": "SSH_AUTH_SOCK", "docker": "DOCKER_HOST"}

// sockets are the paths of sockets, by name or by path; those that are not there are
// left out.
func (m *Manager) sockets(names []string) []string {
	var found []string
	for _, name := range names {
		at := m.socket(name)
		if real, err := filepath.EvalSymlinks(at); err == nil && filepath.IsAbs(real) { // "" would be the current directory
			found = append(found, real)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (m *Manager) socket(name string) string {
	switch name {
	case "ssh-agent":
		return m.cfg.Getenv("SSH_AUTH_SOCK")
	case "docker":
		if at, ok := strings.CutPrefix(m.cfg.Getenv("DOCKER_HOST"), "unix://"); ok {
			return at
		}
		return "/var/run/docker.sock"
	case "gpg-agent":
		return filepath.Join(m.cfg.User.Home, ".gnupg", "S.gpg-agent")
	}
	return name
}

// socketVariables returns the variables by which programs find the sockets that the
// user allows; their paths are the same inside.
func (m *Manager) socketVariables(names []string) []string {
	var env []string
	for _, name := range names {
		variable, ok := services[name]
		if !ok {
			continue
		}
		switch value := m.cfg.Getenv(variable); {
		case value == "":
		case name == "ssh-agent":
			if real, err := filepath.EvalSymlinks(value); err == nil {
				env = append(env, variable+"="+real)
			}
		default:
			env = append(env, variable+"="+value)
		}
	}
	return env
}
