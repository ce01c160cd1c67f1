package buildinfo

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFrom(t *testing.T) {
	t.Parallel()
	here := Info{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	with := func(change func(*Info)) Info {
		info := here
		change(&info)
		return info
	}
	settings := []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-01T00:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}
	tests := []struct {
		name    string
		build   *debug.BuildInfo
		version string
		want    Info
	}{
		{"nothing is known", nil, "", with(func(i *Info) { i.Version = "devel" })},
		{"a working copy", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings}, "", with(func(i *Info) {
			i.Version, i.Revision, i.Time, i.Modified = "devel", "abc", "2026-11-01T00:00:00Z", true
		})},
		{"go install of a version", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "", with(func(i *Info) { i.Version = "1.2.3" })},
		{"the linker's word counts", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.1"}}, "1.2.3", with(func(i *Info) { i.Version = "1.2.3" })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, from(tt.build, tt.version)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestGetKnowsTheToolchain(t *testing.T) {
	t.Parallel()
	if got := Get(); got.Go != runtime.Version() || got.Version == "" {
		t.Errorf("Get() = %+v", got)
	}
}
