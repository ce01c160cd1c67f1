package boxes

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatOnlyRootMayReadIsHidden(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"public": 0o644, "key": 0o600, "group": 0o640, "a/b/key": 0o600, "a/public": 0o644, "closed/public": 0o644, "a/b/c/deep": 0o600,
	} {
		at := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tree, "closed"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("key", filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	names := func(paths []string) []string {
		for i, at := range paths {
			paths[i], _ = filepath.Rel(tree, at)
		}
		slices.Sort(paths)
		return paths
	}
	looked := 0
	if got, want := names(private(tree, 3, &looked)), []string{"a/b/key", "closed", "group", "key"}; !slices.Equal(got, want) {
		t.Errorf("names = %q, want %q", got, want)
	}
	looked = maxPrivate
	if got, want := names(private(tree, 3, &looked)), []string{"a", "closed", "group", "key"}; !slices.Equal(got, want) {
		t.Errorf("beyond the limit: %q, want %q", got, want)
	}
}

// The look at the system is a part of each box's start.
func BenchmarkPrivate(b *testing.B) {
	for b.Loop() {
		looked := 0
		for _, tree := range privateTrees {
			private(tree.at, tree.depth, &looked)
		}
	}
}

// The lines are those of WSL2 with its three ways to show a drive.
func TestDrivesOfWindowsAreHidden(t *testing.T) {
	t.Parallel()
	mounts := `/dev/sdc / ext4 rw,relatime 0 0
none /usr/lib/wsl/drivers 9p ro,nosuid,aname=drivers;fmask=222;dmask=222 0 0
C:\134 /mnt/c 9p rw,noatime,aname=drvfs;path=C:\;uid=1000,access=client 0 0
drvfs /my\040disks/d 9p rw,noatime,aname=drvfs;path=D:\ 0 0
drvfsa /e virtiofs rw,noatime 0 0
F: /f drvfs rw,noatime 0 0
share /srv/share 9p rw,trans=virtio 0 0
`
	if got, want := drives(mounts), []string{"/mnt/c", "/my disks/d", "/e", "/f"}; !slices.Equal(got, want) {
		t.Errorf("drives = %q, want %q", got, want)
	}
}
