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
// boot, the same build of ohgw, and a process that may do the same; only the best level
// is kept, so a machine that gets better is noticed at once.
type known struct {
	Of       string    `json:"of"`
	At       time.Time `json:"at"`
	Landlock int       `json:"landlock"`
}

// believed is a level that another process has found and tested.
func (m *Manager) believed() (probe.Result, bool) {
	of := m.identity()
	if of == "" {
		return probe.Result{}, false
	}
	var k known
	data, err := os.ReadFile(m.knownFile())
	if err != nil || json.Unmarshal(data, &k) != nil || k.Of != of {
		return probe.Result{}, false
	}
	age := m.cfg.Now().Sub(k.At)
	return probe.Result{Level: sandbox.Full, Landlock: k.Landlock}, age >= 0 && age < knownFor
}

// find makes a box, which shows the level that this process can have.
func (m *Manager) find(ctx context.Context) probe.Result {
	if m.cfg.Ask != nil {
		return m.cfg.Ask(ctx)
	}
	var prober probe.Prober
	return prober.Ask(ctx)
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

// forget removes what was found, if it is about processes like this one.
func (m *Manager) forget() {
	if _, ok := m.believed(); !ok {
		return
	}
	if err := os.Remove(m.knownFile()); err != nil {
		m.cfg.Log.Debug("the level of the sandbox that was found before cannot be removed", "err", err)
	}
}

func (m *Manager) knownFile() string {
	return filepath.Join(m.cfg.User.State, "sandbox", "known.json")
}

// identity joins all that the level depends on; "" if a part of it cannot be read.
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
		"/proc/sys/kernel/apparmor_restrict_unprivileged_unconfined", "/proc/sys/kernel/unprivileged_userns_clone",
		"/proc/sys/user/max_user_namespaces", "/proc/sys/user/max_pid_namespaces", "/proc/sys/user/max_mnt_namespaces", "/proc/sys/user/max_net_namespaces",
		"/proc/self/attr/current", // AppArmor's profile, or SELinux' context
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
	own, err := ownLimits(os.ReadFile)
	if err != nil {
		return ""
	}
	return strings.Join(append(append(parts, namespace), own...), "|")
}

// ownLimits reads what a service manager, a container or another sandbox takes from
// this process alone: capabilities and system calls, and mounts that cover parts of
// /proc or stand in the place of the root directory.
func ownLimits(read func(string) ([]byte, error)) (limits []string, err error) {
	status, err := read("/proc/self/status")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Seccomp_filters":
			limits = append(limits, name+"="+strings.TrimSpace(value))
		}
	}
	mounts, err := read("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		// The fourth and fifth fields are what is mounted, and where.
		fields := strings.Fields(line)
		if len(fields) > 5 && (fields[4] == "/" || fields[4] == "/proc" || strings.HasPrefix(fields[4], "/proc/")) {
			limits = append(limits, strings.Join(fields[2:6], " "))
		}
	}
	return limits, nil
}
