package boxfiles

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ohgw/ohgw/internal/sandbox"
)

// fakeBox runs a function in place of the program inside.
type fakeBox struct {
	sandbox.Box

	program func(in, out *os.File)

	mu     sync.Mutex
	starts int
	ended  chan struct{} // the last program
}

type fakeProcess struct {
	in    *os.File
	ended chan struct{}
}

func (p *fakeProcess) PID() int           { return 1 }
func (p *fakeProcess) Wait() (int, error) { <-p.ended; return 0, nil }
func (p *fakeProcess) Kill() error        { return nil } // The client closes its input.

func (b *fakeBox) Start(_ context.Context, p sandbox.Program) (sandbox.Process, error) {
	in, err := duplicate(p.Files[0])
	if err != nil {
		return nil, err
	}
	out, err := duplicate(p.Files[1])
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.starts++
	b.ended = make(chan struct{})
	process := &fakeProcess{in, b.ended}
	go func() {
		b.program(in, out)
		_, _ = in.Close(), out.Close()
		close(process.ended)
	}()
	return process, nil
}

func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return os.NewFile(uintptr(fd), f.Name()), err
}

func honest(in, out *os.File) { _ = serve(in, out) }

func newClient(t *testing.T, box sandbox.Box, dir string) *client {
	t.Helper()
	files, err := New(box, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files.(*client)
}

func TestProgramEndsWhenIdle(t *testing.T) {
	t.Parallel()
	box := &fakeBox{program: honest}
	dir := t.TempDir()
	c := newClient(t, box, dir)
	c.idle = time.Millisecond
	for want := range 2 {
		if _, err := c.Stat(dir); err != nil {
			t.Fatal(err)
		}
		if box.starts != want+1 {
			t.Errorf("%d programs", box.starts)
		}
		<-box.ended
	}
}

// What the program inside says may be from a program of the agent.
func TestAnswersAreNotTrusted(t *testing.T) {
	t.Parallel()
	info := `"info":{"name":"Zg==","size":3,"mode":420,"changed":"2026-11-01T00:00:00Z"}`
	for name, said := range map[string]string{
		"not JSON": "{", "nothing": "", "another type": `{"size":"x"}`, "negative": `{"size":-1}`,
		"more than asked for": `{` + info + `,"size":11}`, "less than said": `{` + info + `,"size":3}`,
		"no attributes": `{}`, "a path as a name": `{"info":{"name":"Li4vZg=="}}`, "an empty name": `{"info":{"name":""}}`,
		"a relative path": `{"real":"Zg=="}`, "not clean": `{"real":"L2YvLi4="}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, &fakeBox{program: says(said)}, "/w")
			if real, err := c.Real("/f"); err == nil {
				t.Errorf("real: %q", real)
			}
			if info, err := c.Stat("/f"); err == nil && info.Name() != "f" {
				t.Errorf("stat: %v", info)
			}
			if data, _, err := c.Read("/f", 10); err == nil {
				t.Errorf("read: %q", data)
			}
			if list, err := c.List("/f"); err == nil {
				t.Errorf("list: %v", list)
			}
		})
	}
}

// says is a program that opens files and says the same thing to all requests.
func says(header string) func(in, out *os.File) {
	return func(in, out *os.File) {
		var asked request
		for receive(in, &asked) == nil {
			if asked.Op == opOpen {
				_ = send(out, answer{}, nil)
				continue
			}
			size := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
			_, _ = out.Write(append(size, header...))
			return
		}
	}
}

func TestLongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	c := newClient(t, &fakeBox{program: func(in, out *os.File) {
		_, _ = out.Write(binary.BigEndian.AppendUint32(nil, 1<<31))
		_, _ = in.Read(make([]byte, 1<<10))
	}}, "/w")
	if _, err := c.Stat("/f"); err == nil || !strings.Contains(err.Error(), "a message of") {
		t.Error(err)
	}
}

func TestErrorsKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, want := range []error{
		sandbox.ErrDangling, sandbox.ErrNotRegular, sandbox.ErrOutside, fs.ErrNotExist, fs.ErrExist,
		unix.EROFS, unix.EACCES, unix.ENOSPC, unix.EPERM, errors.Join(fs.ErrExist, &fs.PathError{Op: "remove", Err: unix.EIO}),
	} {
		got := failureOf(&fs.PathError{Op: "open", Path: "/f", Err: want}).err("read", "/f")
		if joined, ok := want.(interface{ Unwrap() []error }); ok {
			want = joined.Unwrap()[0]
		}
		if !errors.Is(got, want) {
			t.Errorf("the names %v became %v", want, got)
		}
	}
	if size, ok := errors.AsType[*sandbox.SizeError](failureOf(&sandbox.SizeError{Size: 5, Limit: 3}).err("read", "/f")); !ok || size.Size != 5 || size.Limit != 3 {
		t.Error(size)
	}
	if got := failureOf(errors.New("a\x1b[31m\n"+strings.Repeat("b", 1000))).err("read", "/f").Error(); len(got) > 600 || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("error = %q", got)
	}
}

func TestNamesThatAreNotText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := filepath.Join(dir, "a\xff\nb")
	c := newClient(t, &fakeBox{program: honest}, dir)
	if err := c.Create(at, []byte("x")); err != nil {
		t.Fatal(err)
	}
	list, err := c.List(dir)
	if err != nil || len(list) != 1 || list[0].Name() != filepath.Base(at) {
		t.Error(list, err)
	}
	if real, err := c.Real(at); real != at || err != nil {
		t.Errorf("real path = %q, error %v", real, err)
	}
}

// FuzzAnswer reads answers as a program of the agent could give them.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"real":"L2Y="}`, `{"info":{"name":"Zg==","size":3,"mode":420},"size":3}`, `{"failure":{"errno":2}}`, `[{"name":"Zg=="}]`} {
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(seed))), seed+"abc"...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		var said answer
		if receive(r, &said) != nil {
			return
		}
		if said.Failure != nil && said.Failure.err(opRead, "/f") == nil {
			t.Error("a failure without an error")
		}
		if said.Info != nil && said.Info.valid() && filepath.Base(said.Info.Name()) != said.Info.Name() {
			t.Errorf("the name %q", said.Info.Name())
		}
		const limit = 1 << 10
		if content, err := receiveData(r, said.Size, limit); err == nil && int64(len(content)) != min(said.Size, limit) {
			t.Errorf("%d bytes instead of %d", len(content), said.Size)
		}
		_, _ = entriesOf(data)
	})
}
