package filelock

import "testing"

func TestFlockHolderReadsTheKernelsTable(t *testing.T) {
	t.Parallel()
	const table = `1: POSIX  ADVISORY  WRITE 100 fd:01:42 0 EOF
2: FLOCK  ADVISORY  WRITE 200 fd:01:42 0 EOF
2: -> FLOCK  ADVISORY  WRITE 201 fd:01:42 0 EOF
3: FLOCK  ADVISORY  WRITE 300 fd:01:43 0 EOF
4: FLOCK  ADVISORY  READ  400 08:10:43 0 EOF
5: FLOCK  ADVISORY  WRITE 0 fd:01:44 0 EOF
6: FLOCK  ADVISORY  WRITE 600 00:2b:45 0 EOF
`
	const disk, other = 0xfd<<8 | 1, 0x77 << 8
	for _, tt := range []struct {
		name     string
		dev, ino uint64
		want     int
	}{
		{"the flock, not the record lock and not the waiter", disk, 42, 200},
		{"the device decides between equal inodes", disk, 43, 300},
		{"equal inodes on unknown devices are ambiguous", other, 43, 0},
		{"a holder in another process namespace is unknown", disk, 44, 0},
		{"one inode on an unknown device is enough", other, 45, 600},
		{"nobody", disk, 99, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := flockHolder([]byte(table), tt.dev, tt.ino); got != tt.want {
				t.Errorf("flockHolder = %d, want %d", got, tt.want)
			}
		})
	}
}
