package manager

import (
	"slices"
	"strings"
	"testing"
)

// A level that was found does not hold for a process that may do less.
func TestLimitsOfAProcess(t *testing.T) {
	t.Parallel()
	const status = "Name:\tohgw\nState:\tR (running)\nPid:\t12\nCapEff:\t0\nCapBnd:\t1ff\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\nvoluntary_ctxt_switches:\t5\n"
	const mounts = "22 27 0:21 / /proc rw,relatime - proc proc rw\n23 27 0:22 / /sys rw - sysfs sysfs rw\n27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	of := func(status, mounts string) string {
		t.Helper()
		limits, err := ownLimits(func(file string) ([]byte, error) {
			return []byte(map[string]string{"/proc/self/status": status, "/proc/self/mountinfo": mounts}[file]), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(limits, "|")
	}
	plain := of(status, mounts)
	other := []string{
		of(strings.Replace(status, "Seccomp:\t0", "Seccomp:\t2", 1), mounts),
		of(strings.Replace(status, "Seccomp_filters:\t0", "Seccomp_filters:\t3", 1), mounts),
		of(strings.Replace(status, "NoNewPrivs:\t0", "NoNewPrivs:\t1", 1), mounts),
		of(strings.Replace(status, "CapBnd:\t1ff", "CapBnd:\t0ff", 1), mounts),
		of(status, mounts+"90 22 0:21 /sys /proc/sys ro,relatime - proc proc rw\n"),
		of(status, mounts+"91 22 0:50 / /proc/kcore rw,nosuid - tmpfs tmpfs rw\n"),
		of(status, strings.Replace(mounts, "254:0 / / rw", "254:0 /srv/jail / rw", 1)),
	}
	if len(slices.Compact(slices.Sorted(slices.Values(append(other, plain))))) != 8 {
		t.Errorf("some are the same: %q and %q", plain, other)
	}
	same := of(strings.Replace(strings.Replace(status, "12", "77", 1), "switches:\t5", "switches:\t9", 1), mounts+"99 27 0:60 / /mnt/usb rw - vfat /dev/sdb1 rw\n")
	if same != plain {
		t.Errorf("text = %q, want %q", same, plain)
	}
}
