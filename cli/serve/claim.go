package serve

import (
	"errors"
	"fmt"

	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/instance"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/shellword"
	"github.com/ohgw/ohgw/setup"
)

// claimFault returns the error for a daemon that may not start.
func claimFault(err error, dirs paths.Set) error {
	running, ok := errors.AsType[*instance.RunningError](err)
	switch {
	case !ok:
		if foreign := setup.ForeignFault(dirs, err); foreign != nil {
			return foreign
		}
		return fault.New("the runtime directory or the state directory cannot be used", "make both directories private: chmod -R u+rwX,go-w "+shellword.Of(dirs.Runtime)+" "+shellword.Of(dirs.State), err)
	case running.Info.URL != "":
		return &fault.Error{
			Msg:  fmt.Sprintf("your ohgw is already running at %s (process %d)", running.Info.URL, running.Info.PID),
			Hint: "use it (ohgw status shows it), or stop it first: ohgw stop", Code: fault.Conflict,
		}
	case running.Dir == dirs.State:
		return &fault.Error{
			Msg:  fmt.Sprintf("your %s is already running with another runtime directory, and uses the state in %s", running.Holder, dirs.State),
			Hint: stopHolder(running.Holder.PID) + ", or give this one its own state directory with XDG_STATE_HOME", Code: fault.Conflict,
		}
	}
	return &fault.Error{Msg: "another ohgw of yours is starting or stopping", Hint: "try again in a moment", Code: fault.Conflict, Err: err}
}

// stopHolder is how to stop the process that holds a lock; 0: it is not known.
func stopHolder(pid int) string {
	if pid == 0 {
		return "stop it first"
	}
	return fmt.Sprintf("stop it first: kill %d", pid)
}
