package secret

import (
	"os"
	"path/filepath"
)

// busError reports whether there is a D-Bus session to ask for the keyring.
// Without this check, the library would start dbus-launch where that is
// installed, and leave a daemon behind that has no keyring either.
func busError(cfg KeyringConfig) error {
	if _, real := cfg.Backend.(system); !real || !usesDBus() || cfg.LookupEnv == nil {
		return nil
	}
	if address, _ := cfg.LookupEnv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return nil
	}
	// The address that systemd gives the session of every user.
	if dir, _ := cfg.LookupEnv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return &UnavailableError{Reason: NoBus}
}
