package boxes

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ohgw/ohgw/internal/sandbox/policy"
	"github.com/ohgw/ohgw/internal/subpath"
)

// always is hidden on every machine: other users' files, what only root reads, and
// what is plugged in.
var always = []string{
	"/home", "/root", "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d",
	"/var/lib/docker", "/var/lib/containers", "/var/lib/containerd", "/var/spool/cron", "/var/mail", "/var/spool/mail",
	"/media", "/mnt", "/lost+found",
}

// rootAlso is hidden if the user is root, who reads what no other user can.
var rootAlso = []string{
	"/boot", "/etc/ssl/private", "/etc/NetworkManager/system-connections", "/etc/wireguard",
	"/var/log", "/var/lib/kubelet", "/var/lib/ohgw", "/var/backups", "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing",
	"/sys/kernel/slab", "/proc/kcore", "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/slabinfo", "/proc/vmallocinfo",
}

// ordinaryUser is the first number of users who are people.
const ordinaryUser = 1000

// withHidden is a policy that also hides what every box on this machine does. Home is
// the user's home directory, whose place the box's own has.
func withHidden(p policy.Policy, home string) policy.Policy {
	p.Hide = append(slices.Clone(p.Hide), hidden(home, os.Geteuid() == 0)...)
	return p
}

// hidden lists the paths that a box on this machine does not show.
func hidden(home string, root bool) []string {
	paths := slices.Clone(always)
	if root {
		paths = append(paths, rootAlso...)
		looked := 0
		for _, tree := range privateTrees {
			paths = append(paths, private(tree.at, tree.depth, &looked)...)
		}
	}
	if passwd, err := os.ReadFile("/etc/passwd"); err == nil {
		paths = append(paths, homes(string(passwd))...)
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil {
		paths = append(paths, drives(string(mounts))...)
	}
	var resolved []string
	for _, at := range paths {
		real, err := filepath.EvalSymlinks(at)
		if err != nil || !hideable(home, real) {
			continue
		}
		resolved = append(resolved, real)
	}
	slices.Sort(resolved)
	return slices.Compact(resolved)
}

// hideable says that nothing of the system, and not the place of the box's own home
// directory, is hidden with it.
func hideable(home, at string) bool {
	if at == home || at == "/" {
		return false
	}
	for _, keep := range []string{"/usr", "/etc", "/bin", "/lib", "/run", "/dev", "/proc", "/tmp", "/var/tmp", "/var/lib"} {
		if subpath.Within(at, keep) {
			return false
		}
	}
	return true
}

// homes are the home directories of the people that passwd(5) names.
func homes(passwd string) []string {
	var found []string
	for line := range strings.Lines(passwd) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 6 {
			continue
		}
		if uid, err := strconv.Atoi(fields[2]); err == nil && uid >= ordinaryUser && filepath.IsAbs(fields[5]) {
			found = append(found, filepath.Clean(fields[5]))
		}
	}
	return found
}

// drives are the places of Windows' drives in WSL2, which its settings may have
// anywhere: each has all files of the user in Windows.
func drives(mounts string) []string {
	var found []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !slices.Contains([]string{"9p", "drvfs", "virtiofs"}, fields[2]) {
			continue
		}
		if fields[2] == "drvfs" || strings.HasPrefix(fields[0], "drvfs") || strings.Contains(fields[3], "aname=drvfs") {
			found = append(found, unescapeMount(fields[1]))
		}
	}
	return found
}

// unescapeMount is a path of proc_pid_mounts(5), where blanks are octal numbers.
func unescapeMount(at string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(at)
}
