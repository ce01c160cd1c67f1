package inside

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// FuzzMessage reads what the daemon and the helper say to each other: the helper
// must not crash, and a program gets no descriptor that did not come with it.
func FuzzMessage(f *testing.F) {
	for _, seed := range []any{
		Message{Kind: KindStart, ID: 1},
		Message{Kind: KindRefused, ID: 1, Error: "start x", Errno: unix.ENOENT},
		Start{Args: []string{"sh", "-c", "true"}, Env: []string{"PATH=/bin"}, Dir: "/", Files: []bool{true, false, true}, Terminal: true},
	} {
		data, err := json.Marshal(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte{})
	}
	f.Add([]byte(`{"args":["x"],"files":[true]}`), unix.UnixRights(5, 6))
	f.Fuzz(func(t *testing.T, data, oob []byte) {
		var m Message
		if json.Unmarshal(data, &m) == nil && m.Err() == nil && (m.Error != "" || m.Errno != 0) {
			t.Errorf("%+v is no error", m)
		}
		fds, err := descriptors(oob)
		if err != nil {
			return
		}
		s, err := parseStart(bytes.NewReader(data))
		if err != nil {
			return
		}
		const null = 1 << 40
		files, err := pick(s.Files, fds, null)
		if err != nil {
			return
		}
		for _, file := range files {
			if file != null && !slices.Contains(fds, int(file)) {
				t.Errorf("descriptor %d is not one of %v", file, fds)
			}
		}
		if at, err := look(s.Args, s.Env, "/"); err == nil && path.Base(at) != path.Base(s.Args[0]) {
			t.Errorf("%q is %s", s.Args[0], at)
		}
	})
}
