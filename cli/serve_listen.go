package cli

import (
	"github.com/ohgw/ohgw/internal/systemd"
)

// tellManager tells the service manager something. That it does not hear it is
// no reason to stop.
func (a *App) tellManager(states ...string) {
	if err := systemd.Notify(a.Getenv, states...); err != nil {
		a.Note("warning: %v", err)
	}
}
