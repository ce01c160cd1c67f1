package doctor

import (
	"context"
	"strings"
)

// checkEngine tries what the embedded agent works with.
func checkEngine(ctx context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		return failed(err)
	}
	needed := s.Backend != "agent-server"
	if b, err := w.Backend(ctx); err == nil && !b.embedded() {
		needed = false
	}
	r := fine("bash, a pseudo-terminal and git are available")
	bad := func(text, cause, repair string) {
		if needed {
			r = r.fail(text, cause, repair)
		} else {
			r = r.warn(text+"; the embedded agent cannot run commands here", cause, repair)
		}
	}
	if w.GOOS == "windows" {
		return skip("the embedded agent's shell needs a Unix system")
	}
	if path, err := w.LookPath("bash"); err != nil {
		bad("bash, which runs the agent's commands, is not installed", err.Error(), install(w.GOOS, "bash"))
	} else if out, err := w.Output(ctx, path, "--norc", "--noprofile", "-c", "echo $BASH_VERSION"); ctx.Err() != nil {
		r = r.warn(path+" was not checked: it did not start in time", "this machine is busy", "ohgw doctor")
	} else if err != nil || strings.TrimSpace(out) == "" {
		text := "no output"
		if err != nil {
			text = err.Error()
		}
		bad(path+" does not work", text, reinstall(w.GOOS, "bash"))
	}
	if err := w.PTY(); err != nil {
		bad("the agent's shell cannot open a pseudo-terminal", err.Error(), "mount /dev/pts (in a container: docker run --tty, or an image with /dev/ptmx)")
	}
	if _, err := w.LookPath("git"); err != nil {
		r = r.warn("git, which agents use for repositories, is not installed", err.Error(), install(w.GOOS, "git"))
	}
	return r
}

// checkBrowser looks for the browser of agents with browser_tool_set, which most agents do
// not have.
func checkBrowser(ctx context.Context, w *World) Result {
	s, err := w.Settings()
	if err != nil {
		return failed(err)
	}
	if b, err := w.Backend(ctx); err == nil && !b.embedded() {
		return skip("the backend has the browser of its agents")
	}
	path, err := w.Browser()
	if err != nil {
		f := finding(err)
		if s.Browser == "" { // most installations need none
			return skip("%s, which only agents with browser_tool_set need; %s", f.Text, f.Repair)
		}
		return Result{}.warn(f.Text, f.Cause, f.Repair)
	}
	out, err := w.Output(ctx, path, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	switch {
	case ctx.Err() != nil:
		return fine("%s; its version is not known: it did not start in time", path)
	case err != nil || version == "":
		cause := "it printed no version"
		if err != nil {
			cause = err.Error()
		}
		return Result{}.warn(path+", the browser of agents, does not work", cause, "start it by hand to see why: "+path+" --version")
	}
	return fine("%s, %s", version, path)
}

func install(goos, name string) string {
	if goos == "darwin" {
		return "brew install " + name
	}
	return "sudo apt-get install -y " + name + ", or use your system's package manager"
}

// reinstall repairs a program that is there and does not run.
func reinstall(goos, name string) string {
	if goos == "darwin" {
		return "brew reinstall " + name
	}
	return "sudo apt-get install --reinstall -y " + name + ", or use your system's package manager"
}
