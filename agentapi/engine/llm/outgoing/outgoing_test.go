package outgoing

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
)

// sink is a connection that keeps what is written, up to a limit.
type sink struct {
	net.Conn

	got   bytes.Buffer
	limit int
}

var errFull = errors.New("full")

func (s *sink) Write(p []byte) (int, error) {
	if s.got.Len()+len(p) > s.limit {
		return 0, errFull
	}
	return s.got.Write(p)
}

func TestABodyIsSentThroughABufferOfThePool(t *testing.T) {
	t.Parallel()
	body := bytes.Repeat([]byte("0123456789"), 20_000)
	for range 3 {
		s := &sink{limit: 1 << 20}
		n, err := conn{s}.ReadFrom(io.LimitReader(bytes.NewReader(body), int64(len(body))))
		if err != nil || n != int64(len(body)) || !bytes.Equal(s.got.Bytes(), body) {
			t.Errorf("sent %d of %d bytes, error %v", n, len(body), err)
		}
	}
	s := &sink{limit: 50_000}
	if n, err := (conn{s}).ReadFrom(bytes.NewReader(body)); !errors.Is(err, errFull) || n > 50_000 {
		t.Errorf("sent %d bytes, error %v", n, err)
	}
}
