package manager

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/atomicfile"
	"github.com/ohgw/ohgw/internal/paths"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/internal/sandbox/probe"
)

// knownFor is how long a level counts that was found and tested.
const knownFor = 24 * time.Hour

// known is a level that was found and tested. It holds for the same kernel, the same
// boot and the same build of ohgw; only the best level is kept, so a machine that
// gets better is noticed at once.
type known struct {
	Of       string    `json:"of"`
	At       time.Time `json:"at"`
	Landlock int       `json:"landlock"`
}

// find is the level of this machine. known says that it was tested, too.
func (m *Manager) find(ctx context.Context) (found probe.Result, tested bool) {
	if of := m.identity(); of != "" {
		var k known
		data, err := os.ReadFile(m.knownFile())
		if err == nil && json.Unmarshal(data, &k) == nil && k.Of == of {
			age := m.cfg.Now().Sub(k.At)
			if age >= 0 && age < knownFor {
				return probe.Result{Level: sandbox.Full, Landlock: k.Landlock}, true
			}
		}
	}
	if m.cfg.Ask != nil {
		return m.cfg.Ask(ctx), false
	}
	var prober probe.Prober
	return prober.Ask(ctx), false
}

// remember keeps what was found and tested. That it cannot be kept costs time only.
func (m *Manager) remember(found probe.Result) {
	of := m.identity()
	if of == "" || found.Level != sandbox.Full || found.Reason != "" {
		return
	}
	data, err := json.Marshal(known{Of: of, At: m.cfg.Now(), Landlock: found.Landlock})
	if err == nil {
		err = paths.MakePrivate(filepath.Dir(m.knownFile()))
	}
	if err == nil {
		err = atomicfile.Write(m.knownFile(), data, atomicfile.Options{})
	}
	if err != nil {
		m.cfg.Log.Debug("the level of the sandbox cannot be kept", "err", err)
	}
}

func (m *Manager) knownFile() string {
	return filepath.Join(m.cfg.User.State, "sandbox", "known.json")
}

// identity is all that the level depends on; "" if that cannot be told.
func (m *Manager) identity() string {
	if m.cfg.Executable == nil {
		return ""
	}
	program, err := m.cfg.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	parts := []string{
		program, strconv.FormatInt(info.Size(), 10), strconv.FormatInt(info.ModTime().UnixNano(), 10), strconv.Itoa(os.Geteuid()),
	}
	for _, file := range []string{
		"/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		"/proc/sys/kernel/unprivileged_userns_clone", "/proc/sys/user/max_user_namespaces",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			data = nil // It is a switch that this kernel does not have.
		}
		parts = append(parts, strings.TrimSpace(string(data)))
	}
	namespace, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return ""
	}
	return strings.Join(append(parts, namespace), "|")
}
