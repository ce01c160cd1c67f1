package setup

import (
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/keyfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/storage"
)

// ForeignFault says that the runtime directory or the state directory could not be used
// because files in it belong to another user; nil if they do not.
func ForeignFault(dirs paths.Set, err error) error {
	foreign := storage.Foreign([]string{dirs.Runtime, dirs.State}, keyfile.Mine)
	if len(foreign) == 0 {
		return nil
	}
	return fault.New("files of ohgw belong to another user", "make them yours: "+storage.Reclaim(foreign), err)
}
