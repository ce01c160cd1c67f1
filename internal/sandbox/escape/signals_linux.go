package escape

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// signals notices the signal that an attempt sends.
type signals struct{ got chan os.Signal }

func newSignals() *signals {
	s := &signals{got: make(chan os.Signal, 1)}
	signal.Notify(s.got, unix.SIGWINCH)
	return s
}

func (s *signals) stop() { signal.Stop(s.got) }

func (s *signals) came() bool {
	select {
	case <-s.got:
		return true
	default:
		return false
	}
}
