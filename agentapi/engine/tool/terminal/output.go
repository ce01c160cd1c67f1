package terminal

import (
	"crypto/sha256"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/internal/truncate"
)

const (
	// keep is how many bytes of the beginning, and of the end, of a long
	// output stay in memory: enough for all that the model can be shown.
	keep = tool.LimitTerminal * utf8.UTFMax
	// maxSaved bounds the file for the whole output; a command that writes for
	// ever must not fill the disk.
	maxSaved = 256 << 20
)

// output collects the text of one observation, in bounded memory. What is too
// long for that goes to a file, if there is a directory for it.
type output struct {
	dir string

	head  []byte // all of it, until it is longer than 2*keep
	tail  []byte // then the end
	size  int64
	spool *spool
	err   error // why there is no file, or not all of it
}

// write appends text.
func (o *output) write(p []byte) {
	o.size += int64(len(p))
	if o.tail == nil {
		o.head = append(o.head, p...)
		if len(o.head) > 2*keep {
			o.divide()
		}
		return
	}
	if o.spool != nil {
		o.spool.write(p)
	}
	o.tail = append(o.tail, p...)
	if len(o.tail) > 2*keep {
		n := copy(o.tail, o.tail[len(o.tail)-keep:])
		o.tail = o.tail[:n]
	}
}

// divide begins to keep only the beginning and the end.
func (o *output) divide() {
	if o.dir != "" {
		o.spool, o.err = newSpool(o.dir)
	}
	if o.spool != nil {
		o.spool.write(o.head)
	}
	o.tail = append(make([]byte, 0, 2*keep+(64<<10)), o.head[len(o.head)-keep:]...)
	o.head = append(make([]byte, 0, keep), o.head[:keep]...)
}

// text returns the output cut to limit characters; truncated says that it was. It
// ends the collecting.
func (o *output) text(limit int) (text string, truncated bool, err error) {
	if o.tail == nil {
		whole := strings.TrimRight(string(o.head), " \t\r\n")
		short, err := tool.Truncate(whole, limit, o.dir, "terminal")
		return short, len(short) != len(whole), err
	}
	saved := ""
	if o.spool != nil {
		saved, err = o.spool.finish()
		o.spool = nil
	}
	if o.err != nil {
		err = o.err
	}
	room := limit - utf8.RuneCountInString(tool.CutNotice(saved, limit))
	head := truncate.Head(string(o.head), room-room/2)
	notice := tool.CutNotice(saved, strings.Count(head, "\n")+1)
	tail := truncate.Tail(strings.TrimRight(string(o.tail), " \t\r\n"), room/2)
	return head + notice + tail, true, err
}

// discard throws away what was collected.
func (o *output) discard() {
	if o.spool != nil {
		o.spool.discard()
		o.spool = nil
	}
	o.head, o.tail, o.size = nil, nil, 0
}

// spool is the file that a long output goes to while it comes.
type spool struct {
	file *os.File
	sum  hash.Hash
	size int64
	err  error
}

func newSpool(dir string) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, ".terminal_output_*.tmp")
	if err != nil {
		return nil, err
	}
	return &spool{file: f, sum: sha256.New()}, nil
}

func (s *spool) write(p []byte) {
	if s.err != nil || s.size >= maxSaved {
		return
	}
	if left := maxSaved - s.size; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := s.file.Write(p)
	s.sum.Write(p[:n])
	s.size += int64(n)
	s.err = err
}

// finish renames the file to its final name.
func (s *spool) finish() (string, error) {
	path := filepath.Join(filepath.Dir(s.file.Name()), tool.OutputName("terminal", s.sum.Sum(nil)))
	err := s.err
	if e := s.file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(s.file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(s.file.Name())
		return "", err
	}
	tool.PruneOutputs(filepath.Dir(path), tool.MaxOutputs)
	return path, nil
}

func (s *spool) discard() {
	_ = s.file.Close()
	_ = os.Remove(s.file.Name())
}
