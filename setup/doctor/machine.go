package doctor

import (
	"context"
	"strings"
	"time"
)

// clockSlack is how far before its own making a program may seem to run: the
// commit was made on another machine.
const clockSlack = 24 * time.Hour

// checkMachine looks at what no setting of ohgw says.
func checkMachine(_ context.Context, w *World) Result {
	r := fine("ohgw %s on %s", w.Version, w.GOOS)
	now := w.Now()
	if !w.Built.IsZero() && now.Before(w.Built.Add(-clockSlack)) {
		r = r.fail("the clock shows "+now.UTC().Format("2 January 2006")+", which is before this ohgw was built",
			"certificates look not yet valid, and tokens expire too late", setClock(w.GOOS))
	}
	if w.Root {
		r = r.warn("ohgw runs as root: agents outside of the sandbox can change everything on this machine", "", "run ohgw as an ordinary user: sudo -iu NAME ohgw serve")
	}
	if name, value, ok := noUTF8(w); ok {
		r = r.warn("the locale is not UTF-8, so answers may look garbled", name+"="+value, "export LC_ALL=C.UTF-8")
	}
	return r
}

func setClock(goos string) string {
	switch goos {
	case "linux":
		return "sudo timedatectl set-ntp true"
	case "darwin":
		return "sudo sntp -sS time.apple.com"
	case "windows":
		return "w32tm /resync"
	}
	return "set the clock"
}

// noUTF8 finds the variable that makes the locale one without UTF-8. The first
// that is set counts; with none the locale is "C", but no terminal of today is.
func noUTF8(w *World) (name, value string, found bool) {
	if w.GOOS == "windows" {
		return "", "", false
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := w.Getenv(name); value != "" {
			normal := strings.ToLower(strings.ReplaceAll(value, "-", ""))
			return name, value, !strings.HasSuffix(normal, "utf8") && !strings.Contains(normal, "utf8@")
		}
	}
	return "", "", false
}
