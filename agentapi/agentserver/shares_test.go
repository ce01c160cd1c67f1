package agentserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
)

func TestStatusTellsWhetherTheServerSharesOurFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts    fakeserver.Options
		scratch func(t *testing.T) string
		want    bool
	}{
		"the same files":          {scratch: func(t *testing.T) string { return t.TempDir() }, want: true},
		"a server elsewhere":      {opts: fakeserver.Options{Elsewhere: true}, scratch: func(t *testing.T) string { return t.TempDir() }},
		"nobody wants to know":    {scratch: func(*testing.T) string { return "" }},
		"no place to find it out": {scratch: func(t *testing.T) string { return filepath.Join(t.TempDir(), "none") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, dir, now := fakeserver.New(t, tt.opts), tt.scratch(t), time.Unix(0, 0)
			b, err := agentserver.New(agentserver.Config{URL: server.URL, Scratch: dir, Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for range 3 { // found out once, and again after a while
				if st := b.Status(t.Context()); st.Err != nil || st.SharesFiles != tt.want {
					t.Errorf("SharesFiles = %t, %v; want %t", st.SharesFiles, st.Err, tt.want)
				}
			}
			now = now.Add(time.Hour)
			if st := b.Status(t.Context()); st.SharesFiles != tt.want {
				t.Errorf("after an hour: SharesFiles = %t", st.SharesFiles)
			}
			asked := len(server.Calls(http.MethodGet, "/api/file/download"))
			if files, _ := os.ReadDir(dir); asked > 2 || len(files) > 0 {
				t.Errorf("asked %d times, %d files left", asked, len(files))
			}
		})
	}
}
