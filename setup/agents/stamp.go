package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/setup"
)

// fileStamp reports when OpenHands' files on this machine change, or the stored
// keys. A new key shows in no list that an agent-server gives, and a key is
// what a user changes before trying again. Files of a server elsewhere cannot
// be seen.
func fileStamp(env *setup.Env, address string) func() string {
	dirs, err := env.Paths()
	if err != nil || dirs.Home == "" || !setup.OnThisMachine(address) {
		return nil
	}
	places, err := env.Places()
	if err != nil {
		return nil
	}
	var stores []*profile.Store
	for _, place := range places.Stores {
		stores = append(stores, profile.Open(profile.Config{Base: place.Base}))
	}
	return func() string {
		var stamps strings.Builder
		for _, s := range stores {
			stamp, err := s.Stamp()
			fmt.Fprint(&stamps, stamp, err)
		}
		return stamps.String() + keyStamp(dirs.State)
	}
}

// keyStamp changes when a key is stored, replaced or removed: both stores of
// keys then have a file with another time in the state directory.
func keyStamp(state string) string {
	var stamp strings.Builder
	for _, name := range []string{setup.KeysFile, setup.KeyNamesFile} {
		if info, err := os.Stat(filepath.Join(state, name)); err == nil {
			fmt.Fprint(&stamp, " ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}
