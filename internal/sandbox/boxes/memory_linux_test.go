package boxes_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// BenchmarkIdleShells is the memory of boxes with a shell each that waits. Pages
// that several processes have count as a part in each of them.
func BenchmarkIdleShells(b *testing.B) {
	const boxes = 20
	var helper, shell int
	for b.Loop() {
		helper, shell = 0, 0
		worlds := make([]*world, boxes)
		pids := make([]int, boxes)
		for i := range worlds {
			worlds[i] = newWorld(b)
			p, master := worlds[i].terminal()
			defer master.Close()
			if _, err := master.WriteString("stty -echo; echo rea''dy\n"); err != nil {
				b.Fatal(err)
			}
			for text := ""; !strings.Contains(text, "ready"); {
				buffer := make([]byte, 1<<10)
				n, err := master.Read(buffer)
				if err != nil {
					b.Fatal(err)
				}
				text += string(buffer[:n])
			}
			pids[i] = p.PID()
		}
		for _, pid := range pids {
			helper += share(b, parent(b, pid))
			shell += share(b, pid)
		}
		for _, w := range worlds {
			_ = w.box.Close()
		}
	}
	b.ReportMetric(float64(helper)/boxes, "helper-kB")
	b.ReportMetric(float64(shell)/boxes, "shell-kB")
}

// share is the proportional part of the memory of a process, in kilobytes.
func share(t testing.TB, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		kilobytes := 0
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kilobytes); n == 1 {
			return kilobytes
		}
	}
	t.Fatalf("no Pss in %s", data)
	return 0
}

// parent is the number of the process that started another one.
func parent(t testing.TB, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	var number, above int
	var name, state string
	if _, err := fmt.Sscan(string(status), &number, &name, &state, &above); err != nil {
		t.Fatal(err)
	}
	return above
}
