package manager

import (
	"cmp"
	"slices"
)

// Of adds the settings for a workspace, which has no symbolic links, to the general
// ones.
func (s Settings) Of(workspace string) Settings {
	more, ok := s.For[workspace]
	if !ok {
		return s
	}
	all := s
	all.Write, all.Read = slices.Concat(s.Write, more.Write), slices.Concat(s.Read, more.Read)
	all.Hide, all.Protect = slices.Concat(s.Hide, more.Hide), slices.Concat(s.Protect, more.Protect)
	all.Allow, all.Deny = slices.Concat(s.Allow, more.Allow), slices.Concat(s.Deny, more.Deny)
	all.Local, all.Sockets = slices.Concat(s.Local, more.Local), slices.Concat(s.Sockets, more.Sockets)
	all.Pass = slices.Concat(s.Pass, more.Pass)
	all.OnBlock, all.Network = cmp.Or(more.OnBlock, s.OnBlock), cmp.Or(more.Network, s.Network)
	all.Processes = cmp.Or(more.Processes, s.Processes)
	all.GitOpen, all.Strict = s.GitOpen || more.GitOpen, s.Strict || more.Strict
	return all
}
