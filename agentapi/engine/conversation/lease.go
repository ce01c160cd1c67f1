package conversation

import (
	"errors"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/store"
)

// lease is the hold that this process has on the directory of the conversation.
type lease struct {
	cfg    *Config
	dir    *store.Dir
	door   *door
	ticker *time.Ticker
}

// hold has the lease renewed until stop is called.
func (l *lease) hold() (stop func()) {
	l.ticker = time.NewTicker(store.LeaseRenewal)
	return l.ticker.Stop
}

// due receives when the lease is to be renewed.
func (l *lease) due() <-chan time.Time { return l.ticker.C }

// renew renews the lease. When another process has taken the conversation, it reports that
// it is lost, and nothing more is written to it.
func (l *lease) renew() (lost bool) {
	err := l.dir.KeepLease()
	if err == nil {
		return false
	}
	if _, held := errors.AsType[*store.HeldError](err); !held {
		l.cfg.Log.Warn("renew lease", "conversation", l.dir.State.ID, "err", err)
		return false
	}
	l.door.lose(err)
	return true
}

// rest lets the lock of the log go until the next event.
func (l *lease) rest() { l.dir.Rest() }

// close lets the directory go.
func (l *lease) close() error { return l.dir.Close() }

// remove lets the directory go, and deletes it.
func (l *lease) remove() error { return l.dir.Remove() }
