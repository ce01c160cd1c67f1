package run

import "github.com/ohgw/ohgw/internal/rescue"

// guard calls f for a conversation. A panic of it is logged and goes no
// further: nothing that waits for the job waits for f.
func (c Config) guard(id string, f func()) {
	c.broken(id, rescue.Do(func() error { f(); return nil }))
}

// broken logs err if it is a panic. Everything else is told by whoever has it.
func (c Config) broken(id string, err error) {
	if p := rescue.Of(err); p != nil {
		c.Logger.Error("panic", "conversation_id", id, "panic", p.Error(), "stack", p.Stack())
	}
}
